"""The short orders of other languages. Only a plain "continue" acts; asking is always acceptable here, and so
what starts, stops, cancels or repeats is doubted as well: HEDGE stands beside its class.

A word that English also has ("no", "para") is listed only where both readings are safe. Chinese and
Japanese are written without spaces: a stretch of them is cut by the longest known words, and one
unknown letter in it makes an unknown word, which never acts.
"""

from __future__ import annotations

from bot.core.reading.tags import Tag

GERMAN = {
    Tag.PROCEED: """
        weiter|weiter geht's|weiter gehts|weitermachen|mach weiter|machen wir weiter|fortfahren|fahr fort
        |fortsetzen
    """,
    Tag.FILLER: "ja|passt|gut|in ordnung|jawohl|klar|genau|jo|gerne",
    Tag.NO: "nein|nee|nö",
    Tag.NOT: "nicht|nie|niemals|kein|keine|keinen",
    Tag.HOLD: """
        noch nicht|warte|warten|moment|momentchen|noch warten|jetzt nicht|nicht jetzt|bitte warten|warte mal
        |warte kurz|warte noch|abwarten|lieber nicht
    """,
    Tag.STOP: "stopp|anhalten|halt an|aufhören",
    Tag.RETRY: """
        nochmal|noch mal|noch einmal|nochmal versuchen|noch einmal versuchen|erneut versuchen|wiederholen
        |neu starten|neustart|nochmal probieren|versuch's nochmal|versuch es nochmal
    """,
    Tag.CANCEL: "abbrechen|abbruch|brich ab|brich es ab|abbrechen bitte",
    Tag.BEGIN: "starten|starte|anfangen",
    Tag.LATER: "später|morgen|gleich|nachher",
    Tag.CONDITION: "wenn|falls|sobald|erst|nach|bis|bevor",
    Tag.DONE: "fertig|erledigt|abgeschlossen",
    Tag.POLITE: "danke|bitte|vielen dank|danke schön|danke dir|besten dank|herzlichen dank|viele grüße|mfg",
    Tag.PRAISE: "super|toll|weiter so",
    Tag.HEDGE: "vielleicht|glaube|los|los geht's|los gehts|soll|sollen",
    Tag.WH: "wie|wann|warum|wieso|wieviel|wie viel|wie viele|welche|welcher|welches|wer",
    Tag.FILL: "ist|sind|mit|dem|der|die|das|und|jetzt|es|ich|wir",
}
_ES_WE = (
    "continúo|seguimos|continuamos|sigo|procedo|procedemos|sigamos|continuemos"  # said of oneself: asked, or doubted
)
SPANISH = {
    Tag.PROCEED: f"continúa|continua|continuar|continúe|sigue|seguir|siga|adelante|procede|{_ES_WE}",
    Tag.FILLER: "vale|sí|dale|bueno|bien|claro|de acuerdo|listo",
    Tag.HOLD: """
        espera|espere|esperen|todavía no|todavia no|aún no|aun no|ahora no|no sigas
        |no continúes|no continues|no continuar|un momento|espera un poco|un segundo|no empieces
    """,
    Tag.STOP: "para|pare|alto|detente|detener|detén|páralo",
    Tag.RETRY: """
        reintentar|reintenta|reintente|otra vez|de nuevo|intenta de nuevo|inténtalo de nuevo|reinicia|reiniciar
    """,
    Tag.CANCEL: "cancela|cancelar|cancélalo|aborta|abortar",
    Tag.BEGIN: "empieza|empezar|iniciar|inicia|arranca|arrancar|comienza|comenzar",
    Tag.NOT: "nunca|jamás|tampoco",
    Tag.LATER: "luego|mañana|después|más tarde",
    Tag.CONDITION: "si|cuando",
    Tag.DONE: "terminado|terminó|acabado",
    Tag.POLITE: "gracias|por favor|muchas gracias|mil gracias|saludos",
    Tag.HEDGE: f"quizás|quizá|tal vez|creo|{_ES_WE}",
    Tag.WH: "qué|cómo|cuándo|cuánto|cuánta|cuántos|cuántas|por qué|dónde|cuál|quién",
    Tag.FILL: "con|el|la|y|que|ya",
}
FRENCH = {
    Tag.PROCEED: "continuez|continuer|vas y|allez y|poursuis|poursuivez|poursuivre",
    Tag.FILLER: "oui|d'accord|c'est bon|ça marche|ouais|bien|on y va|go ahead alors",
    Tag.NO: "non",
    Tag.NOT: "ne|n'|pas|jamais|n'y|aucun|ne pas",
    Tag.HOLD: """
        attends|attendez|attendre|pas encore|pas maintenant|un instant|une minute|une seconde|patiente|patientez
    """,
    Tag.STOP: "arrête|arrêtez|arrete|arrêter|stoppe|stoppez",
    Tag.RETRY: """
        relance|relancer|relancez|reprends|reprendre|reprenez|réessaie|réessayer|réessayez|recommence
        |recommencer|encore une fois
    """,
    Tag.CANCEL: "annule|annuler|annulez|annule tout",
    Tag.BEGIN: "lance|lancer|lancez|démarre|démarrer|démarrez",
    Tag.LATER: "demain|plus tard|après|tout à l'heure",
    Tag.CONDITION: "quand|dès que|lorsque",
    Tag.DONE: "fini|terminé|terminée|prêt",
    Tag.POLITE: "merci|s'il te plaît|s'il te plait|s'il vous plaît|stp|svp|merci beaucoup|merci bien",
    Tag.HEDGE: "peut être|je pense",
    Tag.WH: "pourquoi|combien|quel|quelle|quels|quelles|où|qui",
    Tag.FILL: "est|sont|avec|le|les|et|à|je|tu|on|maintenant|c'est",
}
RUSSIAN = {
    Tag.PROCEED: "продолжай|продолжайте|продолжить|продолжать|продолжаем|поехали|давай дальше|вперёд|вперед",
    Tag.FILLER: "да|давай|ок|хорошо|ладно|дальше|ага|отлично|окей",
    Tag.NO: "нет|неа",
    Tag.NOT: "не|ни|никогда|нельзя|без",
    Tag.HOLD: """
        подожди|подождите|погоди|погодите|жди|ждем|ждём|не надо|пока не|ещё не|еще не|рано
        |пока рано|пауза|пока нет|ещё нет|еще нет|не сейчас|подожди пока|погоди пока
    """,
    Tag.STOP: "стой|стоп|остановись|останови|остановите|остановить|стопни",
    Tag.RETRY: """
        перезапусти|перезапустить|перезапуск|повтори|повторить|ещё раз|еще раз|заново|попробуй ещё раз
        |попробуй еще раз|попробуй снова|снова
    """,
    Tag.CANCEL: "отмена|отмени|отменить|отменяй|убей|убить|прерви|прервать",
    Tag.BEGIN: "запускай|запусти|запустить|начинай|начни|начать|стартуй",
    Tag.LATER: "потом|позже|завтра|попозже",
    Tag.CONDITION: "если|когда|после|пока",
    Tag.DONE: "готово|готов|закончено|завершено|сделано",
    Tag.POLITE: "спасибо|пожалуйста|пж|большое спасибо|спасибо большое|спасибо огромное",
    Tag.PRAISE: "круто|класс|молодец|супер",
    Tag.HEDGE: "может|наверное|думаю|можно",
    Tag.WH: "как|что|почему|сколько|кто",
    Tag.FILL: "это|и|с|уже|я|мы|экстракция|обучение",
}
CHINESE = {
    Tag.PROCEED: "继续|請繼續|繼續|继续吧|继续进行",
    Tag.FILLER: "好|好的|可以|行|没问题|是|是的|对|嗯|同意|开始|训练|开始训练|确认",
    Tag.NO: "不行|否|不是",
    Tag.NOT: "不|别|不要|先别|不能|没|没有|勿|不可以|不许|不可|别再",
    Tag.HOLD: """
        等|等等|等一下|等下|稍等|先等一下|先等|再等等|等会|等会儿|暂停|先等等|先不要|还没|还没有|还不行|慢着
        |还不能|还不|先不|还早
    """,
    Tag.STOP: "停|停下|停止|停掉|先停|停一下",
    Tag.RETRY: "重试|再试一次|再来一次|重新开始|重跑|重启|重新运行",
    Tag.CANCEL: "取消|终止|中止|杀掉",
    Tag.LATER: "明天|以后|待会|一会儿|稍后|晚点",
    Tag.CONDITION: "如果|要是|之后|以后再|才|再",
    Tag.DONE: "完成|完成了|好了|做完了|结束",
    Tag.POLITE: "请|谢谢|吧|了|啊|呀",
    Tag.HEDGE: "也许|可能|应该",
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
        待って|待ってください|待って下さい|ちょっと待って|少し待って|お待ちください|少々お待ちください
        |お待ち下さい|まだ|続けないで|続けないでください|進めないで|保留
    """,
    Tag.STOP: "止めて|止めてください|やめて|やめてください|ストップ|停止|停止して|停止してください|止まれ",
    Tag.RETRY: "再試行|再試行して|もう一度|もう一回|リトライ|再実行|再実行して|やり直して|再開|再開して",
    Tag.CANCEL: "中止|中止して|中止してください|キャンセル|キャンセルして|取り消して",
    Tag.LATER: "後で|あとで|明日",
    Tag.CONDITION: "なら|たら|まで|から",
    Tag.DONE: "終わった|終わりました|完了|完了しました|できた",
    Tag.POLITE: "ありがとう|ありがとうございます|ください|ね|よ",
    Tag.MODAL: "か|ですか|ますか|の",
}
KOREAN = {
    Tag.PROCEED: "계속|계속해|계속해줘|계속해요|계속하세요|계속 진행|진행해|진행해줘|진행하세요|계속 해",
    Tag.FILLER: "좋아|좋아요|네|예|응|그래|오케이|시작|시작해|진행",
    Tag.STOP: "멈춰|중지|정지|스톱|중지해|멈춰줘",
    Tag.RETRY: "재시도|다시|다시 해|다시 시도|다시 해줘|재시작",
    Tag.CANCEL: "취소|취소해|취소해줘|중단|중단해",
    Tag.NO: "아니|아니요|아니오|안돼|안 돼",
    Tag.NOT: "하지|하지마|하지 마|말고|마|마세요|안",
    Tag.HOLD: "잠깐|잠깐만|기다려|기다려줘|아직|잠시만|대기",
    Tag.LATER: "나중에|내일|이따가",
    Tag.DONE: "완료|끝|끝났어|다 됐어",
    Tag.POLITE: "감사합니다|고마워|제발|주세요",
    Tag.MODAL: "돼|돼요|되나요|될까|될까요|되니|할까|할까요|가능해|가능할까요|가능한가요",
}
LISTED = (GERMAN, SPANISH, FRENCH, RUSSIAN, CHINESE, JAPANESE, KOREAN)
_DOUBTED = (Tag.STOP, Tag.RETRY, Tag.CANCEL, Tag.BEGIN)
DOUBTED = {Tag.HEDGE: "|".join(words for one in LISTED for tag, words in one.items() if tag in _DOUBTED)}
ALL = (*LISTED, DOUBTED)
_ASKING = ("까", "까요", "나요", "니", "냐", "돼", "됩니까")
_REFUSING = ("지마", "지 마", "지말", "지않")


def korean_ending(stem: frozenset[Tag], ending: str) -> frozenset[Tag]:
    """The classes of a Korean order word with another ending than those listed: refused, asked, or doubted."""
    if ending.startswith(_REFUSING) or ending[1:].startswith(_REFUSING):
        return frozenset({Tag.HOLD})
    if not ending.endswith(_ASKING):
        return stem | {Tag.HEDGE}
    return stem | {Tag.MODAL, Tag.PROCEED} if Tag.FILLER in stem else stem | {Tag.MODAL}


VIEWS = {
    "summary": """
        статус|状态|进度|進捗|状況|ステータス|상태|zustand|estado|statut|прогресс|was läuft|wie weit
        |wie läuft's|wie läufts
        |wie läuft es|wie sieht's aus|wie siehts aus|läuft es noch|läuft's noch|cómo va|como va|qué tal va
        |cómo vamos|où en est on|où en sommes nous
        |ça avance|как дела|как там|как идёт|как идет|что там|怎么样|怎么样了|进度如何|到哪了|跑完了吗|どうですか
        |どうなってる|進捗どう|進捗は|어때|어떻게 돼가|come va|como está
    """,
    "eta": """
        wie lange noch|wie lange|wie lange dauert's noch|wie lange dauert es noch|wann fertig|wann ist es fertig
        |wann ist das fertig|cuánto falta|cuanto falta|cuánto queda|cuanto queda|cuánto tiempo falta
        |cuánto falta para|cuanto falta para|cuánto tiempo falta para|cuándo termina
        |combien de temps|combien de temps encore|il reste combien|quand est ce que ça finit|сколько осталось
        |сколько ещё|сколько еще|когда закончится|когда будет готово|когда готово|还要多久|还有多久|多久|什么时候完成
        |什么时候好|あとどれくらい|あとどのくらい|いつ終わる|いつ終わりますか|얼마나 남았어|얼마나 남았
        |언제 끝나|언제 끝나요
        |quanto manca|quanto falta|falta muito
    """,
}
