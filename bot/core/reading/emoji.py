"""What an emoji says when it stands alone, or weighs against an order. All others are ornament."""

from __future__ import annotations

from bot.core.reading.tags import Tag

_CLASSES: dict[Tag, str] = {
    Tag.ACK: """
        +1 thumbsup thumbs_up 👍 white_check_mark ✅ heavy_check_mark ✔ ballot_box_with_check ☑ ok_hand 👌
         ok 🆗 check arrow_forward ▶ green_heart 💚 large_green_circle 🟢 saluting_face 🫡 handshake 🤝 100 💯
         thumbsup_all heavy_plus_sign ➕ yes approved ship fast_forward ⏩ traffic_light 🚦 white_tick
    """,
    Tag.HYPE: "rocket 🚀 lfg shipit steam_locomotive 🚂 checkered_flag 🏁 racing_car 🏎 muscle 💪 zap ⚡ ship_it",
    Tag.HOLD: """
        x ❌ octagonal_sign stop_sign 🛑 no_entry ⛔ no_entry_sign 🚫 -1 thumbsdown thumbs_down 👎
         raised_hand hand ✋ raised_hand_with_fingers_splayed 🖐 double_vertical_bar pause_button ⏸
         hourglass ⌛ hourglass_flowing_sand ⏳ negative_squared_cross_mark ❎ black_square_for_stop ⏹
         no_good 🙅 red_circle 🔴 construction 🚧 stop heavy_multiplication_x ✖ no
    """,
    Tag.DOUBT: """
        thinking_face thinking 🤔 question ❓ grey_question ❔ upside_down_face 🙃 shrug 🤷
         rolling_eyes face_with_rolling_eyes 🙄 clown_face clown 🤡 trollface troll melting_face 🫠 smirk 😏 unamused 😒
         facepalm face_palm 🤦 zany_face 🤪 lying_face 🤥 woozy_face 🥴
         joy 😂 rolling_on_the_floor_laughing 🤣 laughing satisfied 😆 joy_cat 😹 stuck_out_tongue 😛
         stuck_out_tongue_winking_eye 😜 stuck_out_tongue_closed_eyes 😝 wink 😉 hankey poop 💩
         face_with_raised_eyebrow 🤨 ⁉ interrobang :( :-( :/ :-/ :| :-| :\\ ;) ;-) :p
    """,
}
BY_NAME: dict[str, Tag] = {name: tag for tag, names in _CLASSES.items() for name in names.split()}


def classify(name: str) -> Tag:
    """The class of an emoji given by Slack name (without colons) or character."""
    return BY_NAME.get(name, Tag.LOOK)
