"""What holds for any text: quoted, negated and questioned orders don't act, and looks don't matter."""

import itertools
import json
from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.reading import ACTIONS, Context, Intent, Kind, read
from bot.core.reading.fixtures import FIXTURES
from bot.core.reading.score import Labelled
from tests.unit.reading.corpora import labelled
from tests.unit.texts import any_text

GATES = ["G1", "GT", "H", "G1d", "O3", "ED2"]
ALL = sorted(FIXTURES)
ORDERS = [
    "continue",
    "go ahead",
    "start training",
    "kill it",
    "retry",
    "bench",
    "lr 2e-4",
    "yes",
    "r12 go",
    "extraction done",
]
CORPUS = [*labelled("messages.tsv"), *labelled("unseen.tsv")[::20]]

EVERY = [*labelled("messages.tsv"), *labelled("unseen.tsv")]
ACTION_NAMES = frozenset(kind.value for kind in ACTIONS)

# The quick run takes a part of the lines for each form, the slow one all of them.
PARTS = [pytest.param(25, id="part"), pytest.param(1, id="all", marks=pytest.mark.slow)]
depth = pytest.mark.parametrize("step", PARTS)
T = TypeVar("T")


def part(lines: Sequence[T], step: int, forms: Sequence[str], form: str) -> Sequence[T]:
    """Every `step`-th line, other ones for each form."""
    return lines[forms.index(form) % step :: step]


contexts = st.sampled_from(ALL).map(FIXTURES.__getitem__)
orders = st.lists(st.sampled_from(ORDERS), min_size=1, max_size=4)


READINGS = {(line.text, line.code): read(line.text, FIXTURES[line.code]) for line in CORPUS}


def as_it_is(line: Labelled) -> tuple[Intent, ...]:
    return READINGS[line.text, line.code]


def acts(text: str, context: Context) -> bool:
    return any(intent.acts for intent in read(text, context))


@given(orders, contexts, st.sampled_from([">", "> ", "&gt; ", "&gt;", " > ", ">>> "]))
def test_block_quoted_orders_never_act(said: list[str], context: Context, mark: str) -> None:
    assert not acts("\n".join(mark + line for line in said), context)


@given(orders, contexts, st.sampled_from(["```{}```", "```\n{}\n```", "```{}", "```bash\n{}```"]))
def test_fenced_orders_never_act(said: list[str], context: Context, fence: str) -> None:
    assert not acts(fence.format("\n".join(said)), context)


@given(
    orders, contexts, st.sampled_from(["don't {}", "do not {}", "never {}", "don’t {}", "dont {}", "please don't {}"])
)
def test_negated_orders_never_act(said: list[str], context: Context, negation: str) -> None:
    assert not acts(", ".join(negation.format(order) for order in said), context)


@given(orders, contexts, st.sampled_from(["{}?", "{} ?", "{}??", "should I {}", "can we {}", "shall we {}?", "{}？"]))
def test_questioned_orders_never_act(said: list[str], context: Context, question: str) -> None:
    assert not acts(", ".join(question.format(order) for order in said), context)


@given(any_text(max_size=80), contexts)
def test_any_text_is_read_and_unknown_text_never_acts(text: str, context: Context) -> None:
    readings = read(text, context)
    assert readings
    assert not any(intent.acts for intent in readings)


@given(st.lists(st.sampled_from("qzxjv"), min_size=3, max_size=9).map("".join), st.sampled_from(ORDERS[:6]), contexts)
def test_an_order_beside_an_unknown_word_never_acts(word: str, order: str, context: Context) -> None:
    assert not acts(f"{order} {word}", context)
    assert not acts(f"{word} {order}", context)


AGAINST = ["don't", "do not", "never", "?"]


@depth
@pytest.mark.parametrize("word", AGAINST)
def test_a_word_against_it_never_makes_an_action_of_what_was_none(word: str, step: int) -> None:
    for line in part(CORPUS, step, AGAINST, word):
        context = FIXTURES[line.code]
        if any(intent.acts for intent in as_it_is(line)):
            continue
        words = line.text.split(" ")
        for at in {0, len(words) // 2, len(words)}:
            changed = " ".join([*words[:at], word, *words[at:]])
            assert not acts(changed, context), changed


def _worded(line: Labelled) -> bool:
    return not line.text.startswith(":") and any(letter.isalpha() for letter in line.text) and "```" not in line.text


LOOKS: dict[str, Callable[[str], str]] = {
    "upper case": lambda text: text if any(c in text for c in "<&:") else text.upper(),
    "lower case": lambda text: text if "<" in text else text.lower(),
    "spaces": lambda text: f"  {text.replace(' ', '   ')} ",
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "curly apostrophe": lambda text: text.replace("'", "’"),
    "long dash": lambda text: text.replace(" - ", " — "),
    "non-breaking hyphen": lambda text: text.replace("-", "\u2011"),
    "trailing emoji": lambda text: f"{text} 🙏",
    "trailing thumb": lambda text: f"{text} 👍",
    "trailing Slack emoji": lambda text: f"{text} :rocket:",
    "zero-width space": lambda text: f"{text}\u200b",
}


@depth
@pytest.mark.parametrize("look", sorted(LOOKS))
def test_how_it_looks_does_not_change_what_is_read(look: str, step: int) -> None:
    for line in filter(_worded, part(CORPUS, step, sorted(LOOKS), look)):
        assert read(LOOKS[look](line.text), FIXTURES[line.code]) == as_it_is(line), line.text


def test_the_mention_of_the_bot_adds_nothing_where_it_is_addressed_already() -> None:
    for line in CORPUS:
        context = FIXTURES[line.code]
        if not context.addressed or "<@" in line.text or not _worded(line) or line.text.startswith((">", "&gt;")):
            continue
        assert read(f"<@U0BOT> {line.text}", context) == as_it_is(line), line.text


@pytest.mark.parametrize("code", GATES)
def test_inline_code_reads_as_plain_text(code: str) -> None:
    readings = read("`continue`", FIXTURES[code])
    assert readings == read("continue", FIXTURES[code])
    assert [intent.kind for intent in readings] == [Kind.ADVANCE]


def test_every_intent_is_plain_json() -> None:
    for line in CORPUS:
        for intent in as_it_is(line):
            assert isinstance(intent, Intent)
            assert intent.rule
            assert json.loads(json.dumps(intent.as_json()))["kind"] == intent.kind.value


FORMS = ["{hold}\n{go}", "{go}\n{hold}", "{hold}, {go}", "{go}, {hold}", "{go} {hold}", "{go}. {hold}."]


@depth
@pytest.mark.parametrize("form", FORMS)
def test_an_order_beside_a_word_that_holds_never_acts(form: str, step: int) -> None:
    context = FIXTURES["G1"]
    holds = [line.text for line in EVERY if line.code == "G1" and line.intents == ("HOLD",)]
    said = [form.format(hold=hold, go=go) for hold in holds for go in ("continue", "start training")]
    assert len(said) > 400
    assert [text for text in part(said, step, FORMS, form) if acts(text, context)] == []


MANNERS = [
    "{} please",
    "hey team, {}",
    "{}, thanks",
    "{} 🚀",
    "so {}",
    "{} now",
    "{}!!",
    "btw {}",
    "{} :)",
    "_{}_",
    "{}\nthanks",
    "thank you very much. {}",
    "thanks for letting me know, {}",
    "sorry for the delay, {}",
    "good morning! {}",
    "back now. {}",
    "be so kind and {}",
    "by all means {}",
    "i am happy with it. {}",
]
FAREWELLS = [
    "{}, thank you very much",
    "{}. have a nice day",
    "{}. best regards, tom",
    "{}, much appreciated",
    "{}. see you tomorrow",
    "{}\nthanks for your patience",
]


@depth
@pytest.mark.parametrize("manner", [*MANNERS, *FAREWELLS])
def test_manners_make_no_order_of_what_is_none(manner: str, step: int) -> None:
    harmless = [line for line in EVERY if not {*line.intents, *itertools.chain(*line.also)} & ACTION_NAMES]
    harmless = [line for line in harmless if not line.text.startswith((">", "&gt;"))]  # a quote begins its line
    assert len(harmless) > 1000
    for line in part(harmless, 4 * step, [*MANNERS, *FAREWELLS], manner):
        assert not acts(manner.format(line.text), FIXTURES[line.code]), (line.text, line.code)


@depth
@pytest.mark.parametrize("farewell", FAREWELLS)
def test_politeness_behind_an_order_leaves_it_as_it_is(farewell: str, step: int) -> None:
    acting = [line for line in CORPUS if any(intent.acts for intent in as_it_is(line))]
    acting = [
        line for line in acting if len(line.text) > 2 and line.text[0] not in '"“:' and "ent from" not in line.text
    ]
    assert len(acting) > 80
    for line in part(acting, step, FAREWELLS, farewell):
        found = read(farewell.format(line.text), FIXTURES[line.code])
        assert [(i.kind, i.run, i.set) for i in found] == [(i.kind, i.run, i.set) for i in as_it_is(line)], line.text
