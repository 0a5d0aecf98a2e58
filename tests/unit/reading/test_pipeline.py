"""The pipeline that ships: five stages, two of them without a gate, and the plan before the first."""

from dataclasses import replace

import pytest

from bot.core.reading import Context, Kind, Phase, PipelineView, Place, RunView, StageView, read

STAGES = (
    StageView(id="synth", aliases=("synthesis",)),
    StageView(id="extract", aliases=("extraction",)),
    StageView(id="vocab", aliases=("vocabulary",)),
    StageView(id="train", aliases=("training",)),
    StageView(id="bench", aliases=("benchmark",), role="bench"),
)
PLANNED = RunView(id="r3", phase=Phase.PLANNED, stages=STAGES, stage=None, gate_to="synth", names=("demo", "qwen"))
AFTER_EXTRACT = replace(PLANNED, phase=Phase.WAITING, stage="extract", gate_to="train")
FINISHED = replace(PLANNED, phase=Phase.DONE, stage="bench", gate_to=None)


def moment(run: RunView) -> Context:
    return Context(runs=(run,), thread_run=run.id, card_is_last=True, speaker="U1", bot_user="U0BOT")


@pytest.mark.parametrize("text", ["go", "start", "continue", "yes", "start synth", "ok go", "approved"])
def test_the_plan_is_passed_like_a_gate(text: str) -> None:
    (intent,) = read(text, moment(PLANNED))
    assert (intent.kind, intent.from_stage, intent.to) == (Kind.ADVANCE, None, "synth")
    assert intent.arguments() == {"run": "r3", "from": None, "to": "synth"}


@pytest.mark.parametrize(
    "text", ["extraction done, continue", "start training", "continue to vocab", "train", "train it"]
)
def test_one_order_leads_past_the_stage_without_a_gate(text: str) -> None:
    (intent,) = read(text, moment(AFTER_EXTRACT))
    assert (intent.kind, intent.from_stage, intent.to) == (Kind.ADVANCE, "extract", "train")


def test_the_claim_travels_with_the_order() -> None:
    (intent,) = read("extraction done, continue", moment(AFTER_EXTRACT))
    assert intent.claim is not None
    assert (intent.claim.stage, intent.claim.status) == ("extract", "done")


@pytest.mark.parametrize(
    ("text", "why"),
    [("synthesis done, continue", "wrong_stage"), ("start extraction", "stage_already_done"), ("bench", "not_ready")],
)
def test_other_stages_ask(text: str, why: str) -> None:
    (intent,) = read(text, moment(AFTER_EXTRACT))
    assert (intent.kind, intent.why) == (Kind.ASK, why)


@pytest.mark.parametrize("text", ["bench it", "bench again", "bench", "run the benchmark again"])
def test_a_finished_run_can_be_measured_again(text: str) -> None:
    assert read(text, moment(FINISHED))[0].kind is Kind.BENCH


def test_a_name_that_two_runs_share_names_neither() -> None:
    other = replace(AFTER_EXTRACT, id="r4")
    context = replace(
        moment(AFTER_EXTRACT), runs=(AFTER_EXTRACT, other), place=Place.CHANNEL, thread_run=None, mentioned=True
    )
    (intent,) = read("<@U0BOT> continue the qwen one", context)
    assert (intent.kind, intent.why) == (Kind.ASK, "which_run")


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize(
    "text", ["continue", "hold", "kill it", "retry", "bench", "status", "lr 2e-4", "yes", "?", "no", "done", "skip it"]
)
def test_every_phase_answers_every_order(phase: Phase, text: str) -> None:
    run = replace(AFTER_EXTRACT, phase=phase)
    for intent in read(text, moment(run)):
        assert intent.rule
        if intent.kind is Kind.ADVANCE:
            assert phase in (Phase.PLANNED, Phase.WAITING, Phase.HELD)
        if intent.kind is Kind.CANCEL:
            assert run.alive
        if intent.kind is Kind.RETRY:
            assert phase in (Phase.FAILED, Phase.CANCELLED)


PIPELINE = PipelineView(name="demo", stages=STAGES, models=("Qwen3-8B", "qwen"))


@pytest.mark.parametrize(
    "text", ["start demo", "start qwen3-8b please", "run synthesis for qwen3-8b", "start a demo run"]
)
@pytest.mark.parametrize("runs", [(), (AFTER_EXTRACT,), (AFTER_EXTRACT, replace(PLANNED, id="r4")), (FINISHED,)])
def test_starting_a_pipeline_shows_a_plan_and_passes_no_gate(text: str, runs: tuple[RunView, ...]) -> None:
    context = Context(
        runs=runs, place=Place.CHANNEL, mentioned=True, speaker="U1", bot_user="U0BOT", pipelines=(PIPELINE,)
    )
    (intent,) = read(f"<@U0BOT> {text}", context)
    assert (intent.kind, intent.proposed) == (Kind.ASK, "START")
    assert intent.set["model"] in ("demo", "Qwen3-8B")


def test_a_model_that_no_run_has_passes_no_gate() -> None:
    context = replace(moment(replace(AFTER_EXTRACT, names=("demo",))), pipelines=(PIPELINE,))
    assert read("continue the qwen one", context)[0].kind is Kind.ASK
    assert read("continue demo", context)[0].kind is Kind.ADVANCE
