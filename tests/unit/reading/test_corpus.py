"""The labelled corpora: nothing unsafe, nearly all right, hardly a needless question."""

import pytest

from bot.core.reading.fixtures import FIXTURES
from bot.core.reading.score import Score, score
from tests.unit.reading.corpora import codes, labelled

CORPORA = [
    pytest.param(("messages.tsv", 1), id="messages.tsv"),
    pytest.param(("unseen.tsv", 10), id="a part of unseen.tsv"),
    pytest.param(("unseen.tsv", 1), id="unseen.tsv", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=CORPORA)
def result(request: pytest.FixtureRequest) -> Score:
    name, step = request.param
    return score(labelled(name)[::step], FIXTURES)


def test_no_line_is_read_as_an_action_it_does_not_allow(result: Score) -> None:
    assert [verdict.labelled for verdict in result.verdicts if verdict.unsafe] == []


def test_at_least_97_percent_are_right(result: Score) -> None:
    assert result.as_json()["right_share"] >= 0.97


def test_needless_asks_stay_under_3_percent_of_the_action_labels(result: Score) -> None:
    assert result.as_json()["needless_ask_share"] < 0.03


def test_no_hold_or_question_is_met_with_silence(result: Score) -> None:
    assert [verdict.labelled for verdict in result.verdicts if verdict.mute] == []


def test_every_code_has_a_context() -> None:
    assert set(codes().values()) == set(FIXTURES)
