"""Cards drawn as Block Kit, checked by the embedded workspace's own strict rules."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.adapters.slack.blocks import render, share
from bot.core.cards import Button, Buttons, Card, Divider, Part, Small, StageLine, Stages, Table, Text, escape, say
from bot.core.mrkdwn import units
from bot.workspace.content import Rules, read_content
from tests.unit.texts import any_text

RULES = Rules(known_file=lambda _: False, refused_types=frozenset())
PLAIN_RULES = Rules(
    known_file=lambda _: False, refused_types=frozenset({"plan", "table", "task_card", "rich_text", "header"})
)


def check(card: Card) -> Any:
    """Draw and let the workspace judge what would be sent, as a post and as an edit."""
    drawn = render(card)
    read_content({"text": drawn.text, "blocks": drawn.blocks}, RULES, update=True)
    read_content({"text": drawn.text, "blocks": drawn.fallback_blocks}, PLAIN_RULES, update=True)
    for blocks in (drawn.blocks, drawn.fallback_blocks):
        assert len(json.dumps(blocks, ensure_ascii=False)) <= 13_000
    return drawn


def seen(blocks: list[dict[str, Any]]) -> str:
    """All words that a reader sees."""

    def walk(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [s for k, v in value.items() if k not in ("value", "action_id", "type") for s in walk(v)]
        if isinstance(value, list):
            return [s for v in value for s in walk(v)]
        return [value] if isinstance(value, str) else []

    return "\n".join(walk(blocks))


GATE = Card(
    title="r12 · extract finished",
    fallback="extract finished 16:37, waiting for an operator",
    mentions=("U0ADA", "S0MLOPS"),
    parts=(
        Stages(
            title="r12 · kimi-k2.5-eagle3",
            lines=(
                StageLine(id="synth", title="synth", mark="complete", detail="1 h 2 m"),
                StageLine(
                    id="extract", title="extract", mark="in_progress", detail="ETA <!date^1764547200^{time}|16:40>"
                ),
                StageLine(id="train", title="train", mark="pending"),
            ),
        ),
        Text(text="*Checked*: exit 0 · 10,000/10,000 samples"),
        Table(header=("check", "found"), rows=(("samples", "8,512 &lt; 9,000"), ("tokens", ""))),
        Divider(),
        Small(text="log 3 s ago"),
        Buttons(
            buttons=(
                Button(action="advance", label="Start training", value='["r12",3,""]', style="primary"),
                Button(action="cancel", label="Cancel", value='["r12",3,""]', style="danger", confirm="Stop r12?"),
                Button(action="advance", label="Start on box2", value='["r12",3,"box2"]'),
            )
        ),
    ),
)


def test_a_gate_card_keeps_its_order_and_its_kinds() -> None:
    drawn = check(GATE)
    kinds = [block["type"] for block in drawn.blocks]
    assert kinds == ["header", "plan", "section", "table", "divider", "context", "actions"]
    plain = [block["type"] for block in drawn.fallback_blocks]
    assert plain == ["section", "section", "section", "section", "divider", "context", "actions"]


def test_the_fallback_says_all_that_the_blocks_say() -> None:
    words = seen(check(GATE).fallback_blocks)
    for expected in (
        "extract finished",
        "✔ synth · 1 h 2 m",
        "▶ extract",
        "○ train",
        "8,512 &lt; 9,000",
        "Start training",
    ):
        assert expected in words


def test_task_status_is_what_slack_calls_it() -> None:
    plan = next(b for b in check(GATE).blocks if b["type"] == "plan")
    assert [t["status"] for t in plan["tasks"]] == ["complete", "in_progress", "pending"]
    date = plan["tasks"][1]["details"]["elements"][0]["elements"][1]
    assert date == {"type": "date", "timestamp": 1764547200, "format": "{time}", "fallback": "16:40"}


def test_escapes_are_taken_back_where_slack_reads_no_mark_up() -> None:
    drawn = check(GATE)
    table = next(b for b in drawn.blocks if b["type"] == "table")
    assert table["rows"][1][1] == {"type": "raw_text", "text": "8,512 < 9,000"}


def test_mentions_are_visible_once_and_in_the_notification() -> None:
    drawn = check(GATE)
    for words in (seen(drawn.blocks), seen(drawn.fallback_blocks), drawn.text):
        assert words.count("<@U0ADA> <!subteam^S0MLOPS>") == 1


def test_a_mention_already_in_the_text_is_not_repeated() -> None:
    drawn = check(say("<@U0ADA> may pass it", mentions=("U0ADA",)))
    assert seen(drawn.blocks).count("U0ADA") == 1 and drawn.text.count("U0ADA") == 1


def test_a_mention_must_be_an_id() -> None:
    assert "channel" not in seen(check(say("x", mentions=("!channel",))).blocks)


def test_a_second_button_of_an_action_has_an_id_of_its_own() -> None:
    actions = check(GATE).blocks[-1]["elements"]
    assert [e["action_id"] for e in actions] == ["advance", "cancel", "advance:2"]
    assert actions[1]["confirm"]["text"]["text"] == "Stop r12?" and actions[1]["style"] == "danger"
    assert "style" not in actions[2]


def test_a_second_table_is_text() -> None:
    table = Table(header=("a", "b"), rows=(("1", "2"),))
    kinds = [b["type"] for b in check(Card(fallback="x", parts=(table, table))).blocks]
    assert kinds == ["table", "section"]


def test_forty_thousand_characters_are_cut_and_say_so() -> None:
    buttons = Buttons(buttons=(Button(action="hold", label="Hold", value="[]"),))
    drawn = check(say("head " + "word " * 8_000, Text(text="Reply `continue`."), buttons))
    words = seen(drawn.blocks)
    assert "characters left out" in words and "Reply `continue`." in words and "head word" in words
    assert drawn.blocks[-1]["type"] == "actions"
    assert units(words) > 8_000


def test_a_text_that_fits_is_whole_across_its_sections() -> None:
    text = "\n".join(f"line {n} of the log" for n in range(400))
    blocks = check(say(text)).blocks
    assert len(blocks) > 2
    assert "\n".join(b["text"]["text"] for b in blocks) == text


def test_a_fence_cut_in_two_stays_a_fence() -> None:
    blocks = check(say("```\n" + "x = 1\n" * 800 + "```")).blocks
    assert len(blocks) > 1
    assert all(b["text"]["text"].count("```") == 2 for b in blocks if b["type"] == "section")


def test_no_token_is_cut() -> None:
    blocks = check(say(("a" * 37 + "<@U0ADA> &amp; ") * 200)).blocks
    for block in blocks:
        text = block.get("text", {}).get("text", "")
        assert text.count("<") == text.count(">") == text.count("<@U0ADA>")
        assert text.count("&") == text.count("&amp;")


def test_sixty_parts_fit_into_fifty_blocks_with_the_buttons() -> None:
    many: tuple[Part, ...] = tuple(Small(text=f"line {n}") for n in range(60))
    drawn = check(Card(fallback="x", parts=(*many, *GATE.parts[-1:])))
    assert len(drawn.blocks) == 50 and drawn.blocks[-1]["type"] == "actions"
    assert drawn.blocks[-2]["elements"][0]["text"].startswith("… This is not all")


def test_a_button_that_slack_would_refuse_is_named_instead() -> None:
    row = Buttons(
        buttons=(Button(action="a", label="Big", value="x" * 2_001), Button(action="b", label="L" * 99, value=""))
    )
    drawn = check(Card(fallback="x", parts=(row,)))
    assert [len(e["text"]["text"]) for e in drawn.blocks[0]["elements"]] == [75]
    assert "No button for Big" in seen(drawn.blocks)


@pytest.mark.parametrize("bad", ["\ud83d", "a\x00b", "\x1b[31mred", "x\u202egnp.exe", "\x85"])
def test_broken_and_unseen_characters_never_leave(bad: str) -> None:
    stages = Stages(title=bad, lines=(StageLine(id=bad, title=bad, mark="error", detail=bad),))
    card = Card(
        fallback=bad, title=bad, parts=(Text(text=bad), Small(text=bad), stages, Table(header=(bad,), rows=((bad,),)))
    )
    drawn = check(card)
    for words in (drawn.text, seen(drawn.blocks), seen(drawn.fallback_blocks)):
        words.encode()
        assert not set(words) & set("\x00\x1b\u202e\x85")


def test_room_is_taken_from_the_longest() -> None:
    assert share([10, 5_000, 20, 9_000], 6_000) == [10, 2_985, 20, 2_985]
    assert share([1, 2, 3], 100) == [1, 2, 3]
    assert share([], 10) == []


words = any_text(max_size=80) | st.sampled_from(
    ["word " * 700, "😀" * 3_100, "&amp;" * 900, "<@U0ADA>" * 500, "```", "e\u0301" * 900]
)
buttons = st.builds(Button, action=st.sampled_from(["a", "b"]), label=words, value=any_text(max_size=20), confirm=words)
stage = st.builds(StageLine, id=words, title=words, mark=st.sampled_from(["pending", "complete"]), detail=words)
parts = st.one_of(
    st.builds(Text, text=words),
    st.builds(Small, text=words),
    st.builds(Divider),
    st.builds(Stages, title=words, lines=st.lists(stage, max_size=4).map(tuple)),
    st.builds(Table, header=st.tuples(words, words), rows=st.lists(st.tuples(words, words), max_size=4).map(tuple)),
    st.builds(Buttons, buttons=st.lists(buttons, max_size=30).map(tuple)),
)


@given(
    st.builds(
        Card, fallback=words, title=words, mentions=st.just(("U0ADA",)), parts=st.lists(parts, max_size=12).map(tuple)
    )
)
def test_any_card_is_accepted(card: Card) -> None:
    drawn = check(card)
    seen(drawn.blocks).encode()


@given(any_text(max_size=200))
def test_escaped_text_never_mentions(text: str) -> None:
    for blocks in render(say(escape(text)))[1:]:
        assert "<" not in seen(blocks)
