"""The short orders of other languages. Only a plain "continue" acts; asking is always acceptable here.

A word that English also has ("no", "para") is listed only where both readings are safe. Chinese and
Japanese are written without spaces: a stretch of them is cut by the longest known words, and one
unknown letter in it makes an unknown word, which never acts.
"""

from __future__ import annotations

from bot.core.reading.tags import Tag

GERMAN = {
    Tag.PROCEED: "weiter|weitermachen|mach weiter|machen wir weiter|fortfahren|fahr fort|fortsetzen",
    Tag.FILLER: "ja|passt|gut|in ordnung|jawohl|klar|genau|jo|gerne",
    Tag.NO: "nein|nee|nö",
    Tag.NOT: "nicht|nie|niemals|kein|keine|keinen",
    Tag.HOLD: """
        noch nicht|warte|warten|moment|momentchen|stopp|anhalten|noch warten|jetzt nicht|nicht jetzt
        |bitte warten
    """,
    Tag.LATER: "später|morgen|gleich|nachher",
    Tag.CONDITION: "wenn|falls|sobald|erst|nach|bis|bevor",
    Tag.DONE: "fertig|erledigt|abgeschlossen",
    Tag.POLITE: "danke|bitte",
    Tag.PRAISE: "super|toll|weiter so",
    Tag.HEDGE: "vielleicht|glaube|los|los geht's|los gehts|starten|starte|abbrechen|abbruch|soll|sollen",
    Tag.FILL: "mit|dem|der|die|das|und|jetzt|es|ich|wir",
}
SPANISH = {
    Tag.PROCEED: "continúa|continua|continuar|continúe|sigue|seguir|siga|adelante|procede",
    Tag.FILLER: "vale|sí|dale|bueno|bien|claro|de acuerdo|listo",
    Tag.HOLD: """
        espera|espere|para|pare|esperen|alto|detente|detener|todavía no|todavia no|aún no|aun no|ahora no|no sigas
        |no continúes|no continues|no continuar|un momento
    """,
    Tag.NOT: "nunca|jamás|tampoco",
    Tag.LATER: "luego|mañana|después|más tarde",
    Tag.CONDITION: "si|cuando",
    Tag.DONE: "terminado|terminó|acabado",
    Tag.POLITE: "gracias|por favor",
    Tag.HEDGE: "quizás|quizá|tal vez|creo|cancela|cancelar|empieza|empezar|iniciar",
    Tag.FILL: "con|el|la|y|que|ya",
}
FRENCH = {
    Tag.PROCEED: "continuez|continuer|vas y|allez y|poursuis|poursuivez|poursuivre",
    Tag.FILLER: "oui|d'accord|c'est bon|ça marche|ouais|bien|on y va|go ahead alors",
    Tag.NO: "non",
    Tag.NOT: "ne|n'|pas|jamais|n'y|aucun|ne pas",
    Tag.HOLD: """
        attends|attendez|attendre|arrête|arrêtez|arrete|pas encore|pas maintenant|un instant|une minute
    """,
    Tag.LATER: "demain|plus tard|après|tout à l'heure",
    Tag.CONDITION: "quand|dès que|lorsque",
    Tag.DONE: "fini|terminé|terminée|prêt",
    Tag.POLITE: "merci|s'il te plaît|s'il te plait|s'il vous plaît|stp|svp",
    Tag.HEDGE: "peut être|je pense|annule|annuler|lance|lancer|démarre",
    Tag.FILL: "avec|le|les|et|à|je|tu|on|maintenant|c'est",
}
RUSSIAN = {
    Tag.PROCEED: "продолжай|продолжайте|продолжить|продолжаем|поехали|давай дальше|вперёд|вперед",
    Tag.FILLER: "да|давай|ок|хорошо|ладно|дальше|ага|отлично|окей",
    Tag.NO: "нет|неа",
    Tag.NOT: "не|ни|никогда|нельзя|без",
    Tag.HOLD: """
        стой|стоп|подожди|подождите|погоди|погодите|жди|ждем|ждём|не надо|пока не|ещё не|еще не|рано
        |пока рано|пауза|пока нет|ещё нет|еще нет|не сейчас|остановись
    """,
    Tag.LATER: "потом|позже|завтра|попозже",
    Tag.CONDITION: "если|когда|после|пока",
    Tag.DONE: "готово|готов|закончено|завершено|сделано",
    Tag.POLITE: "спасибо|пожалуйста|пж",
    Tag.PRAISE: "круто|класс|молодец|супер",
    Tag.HEDGE: "может|наверное|думаю|можно|отмена|отмени|запускай|запусти|запустить|начинай|убей",
    Tag.WH: "как|что|почему|сколько|кто",
    Tag.FILL: "это|и|с|уже|я|мы|экстракция|обучение",
}
CHINESE = {
    Tag.PROCEED: "继续|請繼續|繼續|继续吧|继续进行",
    Tag.FILLER: "好|好的|可以|行|没问题|是|是的|对|嗯|同意|开始|训练|开始训练|确认",
    Tag.NO: "不行|否|不是",
    Tag.NOT: "不|别|不要|先别|不能|没|没有|勿|不可以|不许|不可|别再",
    Tag.HOLD: "等|等等|等一下|等下|稍等|停|停下|停止|暂停|先等等|先不要|还没|还没有|还不行|慢着|先停",
    Tag.LATER: "明天|以后|待会|一会儿|稍后|晚点",
    Tag.CONDITION: "如果|要是|之后|以后再|才|再",
    Tag.DONE: "完成|完成了|好了|做完了|结束",
    Tag.POLITE: "请|谢谢|吧|了|啊|呀",
    Tag.HEDGE: "取消|也许|可能|应该|重试",
    Tag.MODAL: "吗|么|能不能|可不可以|是否|要不要",
}
JAPANESE = {
    Tag.PROCEED: """
        続けて|続けてください|続けて下さい|続行|続行して|続行してください|進めて|進めてください|進めて下さい
        |進んで
    """,
    Tag.FILLER: "はい|うん|了解|大丈夫|いいよ|いいです|お願いします|お願い|オーケー|わかりました|では|開始|開始して",
    Tag.NO: "いいえ|いや|だめ|ダメ|駄目",
    Tag.HOLD: """
        待って|待ってください|待って下さい|ちょっと待って|まだ|止めて|止めてください|やめて|やめてください
        |ストップ|停止|続けないで|続けないでください|進めないで|中止|保留|止まれ
    """,
    Tag.LATER: "後で|あとで|明日",
    Tag.CONDITION: "なら|たら|まで|から",
    Tag.DONE: "終わった|終わりました|完了|完了しました|できた",
    Tag.POLITE: "ありがとう|ありがとうございます|ください|ね|よ",
    Tag.MODAL: "か|ですか|ますか|の",
}
KOREAN = {
    Tag.PROCEED: "계속|계속해|계속해줘|계속해요|계속하세요|계속 진행|진행해|진행해줘|진행하세요|계속 해",
    Tag.FILLER: "좋아|좋아요|네|예|응|그래|오케이|시작|시작해|진행",
    Tag.NO: "아니|아니요|아니오|안돼|안 돼",
    Tag.NOT: "하지|하지마|하지 마|말고|마|마세요|안",
    Tag.HOLD: "잠깐|잠깐만|기다려|기다려줘|멈춰|중지|정지|아직|스톱|잠시만",
    Tag.LATER: "나중에|내일|이따가",
    Tag.DONE: "완료|끝|끝났어|다 됐어",
    Tag.POLITE: "감사합니다|고마워|제발|주세요",
}
ALL = (GERMAN, SPANISH, FRENCH, RUSSIAN, CHINESE, JAPANESE, KOREAN)
STATUS_WORDS = "статус|状态|进度|進捗|状況|ステータス|상태|zustand|estado|statut|прогресс|was läuft|wie weit"
