"""Values in chat: typed, bounded, and by the run's own parameters."""

from dataclasses import replace
from typing import Any

import pytest

from bot.core.reading import Context, Kind, ParamSpec, read
from bot.core.reading.fixtures import FIXTURES
from bot.core.reading.settings import parse_number

G1 = FIXTURES["G1"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("9,000", 9000),
        ("12k", 12_000),
        ("1.5k", 1500),
        ("7.9k", 7900),
        ("2m", 2_000_000),
        ("2e-4", 0.0002),
        ("2e4", 20_000.0),
        (".5", 0.5),
        ("-1", -1),
        ("1,5", None),
        ("0,0002", None),
        ("1e999", None),
        ("2e", None),
        ("nan", None),
        ("1_000", None),
        ("１２", None),
    ],
)
def test_numbers(text: str, number: float | None) -> None:
    assert parse_number(text) == number


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("lr 2e-4", {"lr": 0.0002}),
        ("set the learning rate to 0.0002", {"lr": 0.0002}),
        ("LR=2E-4", {"lr": 0.0002}),
        ("3 epochs", {"epochs": 3}),
        ("epochs: 3, lr: 1e-4", {"epochs": 3, "lr": 0.0001}),
        ("gpus 0-3", {"gpus": [0, 1, 2, 3]}),
        ("gpus 0, 2 and 5", {"gpus": [0, 2, 5]}),
        ("gpus 0,1, 2 epochs", {"gpus": [0, 1], "epochs": 2}),
        ("on box2", {"host": "box2"}),
        ("lower the lr to 5e-5", {"lr": 0.00005}),
    ],
)
def test_a_value_alone_is_an_override_of_the_next_stage(text: str, values: dict[str, Any]) -> None:
    (intent,) = read(text, G1)
    assert (intent.kind, intent.stage, dict(intent.set)) == (Kind.OVERRIDE, "training", values)


@pytest.mark.parametrize("order", ["continue with {}", "{}, continue", "use {} and continue", "start training: {}"])
def test_a_value_with_an_order_goes_with_it(order: str) -> None:
    (intent,) = read(order.format("lr 2e-4"), G1)
    assert (intent.kind, intent.to, dict(intent.set)) == (Kind.ADVANCE, "training", {"lr": 0.0002})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("lr 2e4", "out_of_range"),
        ("lr 0", "out_of_range"),
        ("lr -1e-4", "out_of_range"),
        ("lr 1e999", "out_of_range"),
        ("epochs 2.5", "out_of_range"),
        ("epochs 99999999999999999999999999", "out_of_range"),
        ("gpus 0-8", "out_of_range"),
        ("gpus 3-1", "out_of_range"),
        ("gpus 0,0", "out_of_range"),
        ("gpus 0-999999999", "out_of_range"),
        ("frobnicate=3", "unknown_param"),
        ("set foo to 3", "unknown_param"),
        ("lower the lr", "no_value"),
        ("more epochs", "no_value"),
        ("lr 1e-4 lr 2e-4", "unclear"),
        ("concurrency 64", "unclear"),
    ],
)
@pytest.mark.parametrize("order", ["{}", "continue with {}"])
def test_a_value_that_cannot_be_taken_asks(text: str, why: str, order: str) -> None:
    (intent,) = read(order.format(text), G1)
    assert intent.kind is Kind.ASK
    if order == "{}":
        assert intent.why == why


def _with(*params: ParamSpec) -> Context:
    return replace(G1, runs=(replace(G1.runs[0], params=params),))


def test_of_two_stages_with_one_parameter_the_coming_one_is_meant() -> None:
    context = _with(
        ParamSpec(name="batch", type="int", low=1, high=4, stage="extraction"),
        ParamSpec(name="batch", type="int", low=1, high=64, stage="training"),
    )
    (intent,) = read("batch 32", context)
    assert (intent.kind, intent.stage, dict(intent.set)) == (Kind.OVERRIDE, "training", {"batch": 32})


def test_a_parameter_of_another_pipeline_is_unknown() -> None:
    (intent,) = read("continue with lr 2e-4", _with())
    assert (intent.kind, intent.why) == (Kind.ASK, "unknown_param")


def test_switches_choices_and_lists() -> None:
    context = _with(
        ParamSpec(name="compile", type="bool", stage="training"),
        ParamSpec(name="head", type="choice", choices=("head", "none"), stage="training"),
        ParamSpec(name="levels", type="ints", low=1, high=64, stage="training"),
    )
    assert dict(read("compile off", context)[0].set) == {"compile": False}
    assert dict(read("head none, continue", context)[0].set) == {"head": "none"}
    assert dict(read("levels 1,4,16", context)[0].set) == {"levels": [1, 4, 16]}
    assert read("levels 1,128", context)[0].why == "out_of_range"
