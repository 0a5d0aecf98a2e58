"""Lines with order words in them, which order nothing; and text made to deceive or to cost time."""

from collections.abc import Iterable

import pytest

from bot.core.reading import read
from bot.core.reading.fixtures import FIXTURES
from bot.core.reading.message import parse
from bot.core.reading.names import collect
from bot.core.reading.normalise import MAX_CHARS, normalise
from bot.core.reading.tokens import MAX_TOKENS
from tests.unit.reading.corpora import lines


def acting(texts: Iterable[str], code: str) -> list[str]:
    return [text for text in texts if any(intent.acts for intent in read(text, FIXTURES[code]))]


def test_talk_passes_no_gate() -> None:
    assert acting(lines("hostile_go.txt"), "G1") == []


def test_talk_ends_no_run() -> None:
    assert acting(lines("hostile_end.txt"), "T62") == []


def test_talk_sets_no_value() -> None:
    assert acting(lines("hostile_values.txt"), "G1") == []


DISGUISED = {
    "cyrillic o": "c\u043entinue",
    "greek letters": "\u03b3\u03bf",
    "full width": "\uff43\uff4f\uff4e\uff54\uff49\uff4e\uff55\uff45",
    "mathematical bold": "\U0001d41c\U0001d428\U0001d427\U0001d42d\U0001d422\U0001d427\U0001d42e\U0001d41e",
    "kelvin sign": "\u212aill it",
    "long s": "\u017ftart training",
    "zalgo": "c\u0337\u0338o\u0337n\u0338t\u0337i\u0338n\u0337u\u0338e\u0337",
    "right-to-left override": "\u202eeunitnoc",
    "override around an order": "\u202econtinue\u202c",
    "right-to-left mark": "continue\u200f",
    "isolates": "\u2066continue\u2069",
    "code block": "```continue```",
    "code block in the middle": "look:\n```\ncontinue\n```",
    "struck out": "~continue~",
    "struck negation": "~don't~ continue",
}


@pytest.mark.parametrize("code", ["G1", "T62", "F", "GT", "B", "K", "Q"])
def test_disguised_orders_never_act(code: str) -> None:
    assert acting(DISGUISED.values(), code) == []


ENDLESS = {
    "orders": "continue " * 4_500,
    "padding, then an order": "x " * 20_000 + "continue",
    "an order, then padding": "continue\n" + " " * 40_000 + "not",
    "one word": "continue" * 5_000,
    "unclosed fences": "```" * 13_000,
    "question marks": "?" * 40_000,
    "negations": "don't " * 6_700,
    "numbers": "1e9," * 10_000,
    "values": "lr 2e-4 " * 5_000,
    "mentions": "<@U0BOT>" * 5_000,
    "chinese": "继续" * 20_000,
    "combining marks": "\u0337" * 40_000,
    "direction marks": "\u202e" * 40_000,
    "emoji": "👍" * 40_000,
}


@pytest.mark.parametrize("name", sorted(ENDLESS))
def test_endless_text_never_acts_and_its_reading_depends_on_a_bounded_part(name: str) -> None:
    text = ENDLESS[name]
    context = FIXTURES["G1"]
    assert not any(intent.acts for intent in read(text, context))
    assert read(text, context) == read(text[: MAX_CHARS + 1], context)
    message = parse(normalise(text, context.bot_user, context.mentioned), collect(context))
    assert len(message.items) <= MAX_TOKENS
