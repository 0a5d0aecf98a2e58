"""Slack's mark-up: cleaned, cut and read out; and cards on a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.adapters.slack.richtext import rich_text
from bot.cli.render import render
from bot.core.cards import Button, Buttons, Card, Small, StageLine, Stages, Table, Text, escape, say
from bot.core.columns import align, width
from bot.core.mrkdwn import clean, clip, plain, split, units
from tests.unit.texts import any_text


@pytest.mark.parametrize(
    ("marked", "spoken"),
    [
        ("*bold* _it_ ~no~ `code`", "bold it no code"),
        ("snake_case_name 2*3*4", "snake_case_name 2*3*4"),
        ("`a_b` and _a_", "a_b and a"),
        ("&lt;!channel&gt; &amp;lt;", "<!channel> &lt;"),
        ("<@U0ADA|ada> <@U0BEN> <#C1|runs>", "@ada @U0BEN #runs"),
        ("<!subteam^S1|@ml-ops> <!here>", "@ml-ops @here"),
        ("at <!date^1764547200^{time}|16:40>", "at 16:40"),
        ("<https://a.b/c|the log> <https://a.b>", "the log (https://a.b/c) https://a.b"),
        ("```x *y* &lt;```", "x *y* <"),
    ],
)
def test_read_out(marked: str, spoken: str) -> None:
    assert plain(marked) == spoken


@given(any_text(max_size=80))
def test_what_was_escaped_reads_as_it_was(text: str) -> None:
    quiet = "".join(c for c in clean(text) if c not in "*_~`")
    assert plain(escape(quiet)) == quiet


def test_length_is_counted_as_slack_does() -> None:
    assert [units(t) for t in ("abc", "é", "😀", "👩‍💻")] == [3, 1, 2, 5]


@pytest.mark.parametrize(
    ("text", "limit", "short"),
    [
        ("short", 5, "short"),
        ("a word too long", 9, "a word t…"),
        ("go <@U0ADA> now", 8, "go…"),
        ("a &amp; b", 6, "a…"),
        ("😀😀😀", 5, "😀😀…"),
        ("ae\u0301e", 3, "a…"),
    ],
)
def test_cut(text: str, limit: int, short: str) -> None:
    assert clip(text, limit) == short


@given(
    st.lists(st.sampled_from(["word ", "line\n", "😀", "<@U0ADA>", "&amp;", "```", "x" * 60]), max_size=60).map("".join)
)
def test_split_keeps_every_word_within_the_limit(text: str) -> None:
    pieces = list(split(text, 100))
    assert all(0 < units(piece) <= 100 for piece in pieces)
    bare = "".join("".join(pieces).replace("```", "").split())
    assert bare == "".join(text.replace("```", "").split())


def test_rich_text_keeps_mentions_and_links_alive() -> None:
    leaves = rich_text("by <@U0ADA> in <!subteam^S1> &lt;b&gt; <https://x.y|log>", 200)["elements"][0]["elements"]
    assert [leaf["type"] for leaf in leaves] == ["text", "user", "text", "usergroup", "text", "link"]
    assert leaves[4]["text"] == " <b> " and leaves[5] == {"type": "link", "url": "https://x.y", "text": "log"}


def test_columns_of_wide_letters_stand_in_line() -> None:
    lines = align(("名前", "n"), (("ab", "1"), ("抽出", "22")))
    assert lines == ["名前  n", "────  ──", "ab    1", "抽出  22"]
    assert [width(t) for t in ("ab", "名前", "e\u0301")] == [2, 4, 1]


CARD = Card(
    title="r1 · extract &amp; vocab",
    fallback="r1 waits",
    mentions=("U0ADA",),
    parts=(
        Stages(title="*stages*", lines=(StageLine(id="a", title="synth", mark="complete", detail="9,000"),)),
        Text(text="Reply `continue` &lt;now&gt;, <@U0ADA|ada>"),
        Table(header=("check", "ok"), rows=(("samples", "✔"), ("名前", ""))),
        Small(text="log 3 s ago"),
        Buttons(buttons=(Button(action="a", label="Start", value=""), Button(action="b", label="Hold", value=""))),
    ),
)


def test_a_card_on_a_terminal() -> None:
    assert render(CARD) == (
        "r1 · extract & vocab\n"
        "════════════════════\n"
        "@U0ADA\n"
        "stages\n"
        "  ✔ synth  9,000\n"
        "Reply continue <now>, @ada\n"
        "┌─────────┬────┐\n"
        "│ check   │ ok │\n"
        "├─────────┼────┤\n"
        "│ samples │ ✔  │\n"
        "│ 名前    │    │\n"
        "└─────────┴────┘\n"
        "  log 3 s ago\n"
        "[Start] [Hold]"
    )


def test_no_escape_sequence_reaches_a_terminal() -> None:
    assert "\x1b" not in render(say(escape("\x1b]0;owned\x07\x9b31m")))


def test_long_lines_wrap_and_code_does_not() -> None:
    lines = render(say("word " * 50 + "\n```\n" + "x " * 100 + "\n```"), 60).split("\n")
    assert max(map(len, lines[:-1])) <= 60 and len(lines[-1]) > 150


def test_a_card_without_parts_shows_its_fallback() -> None:
    assert render(Card(fallback="r1 waits")) == "r1 waits"
