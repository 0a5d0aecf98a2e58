"""A context for each code of the labelled corpus: r12 is qwen3-8b, r14 is llama-8b."""

from __future__ import annotations

from dataclasses import replace

from bot.core.reading.context import (
    Context,
    EditedOrder,
    Event,
    ParamSpec,
    PendingQuestion,
    Phase,
    PipelineView,
    Place,
    QuestionKind,
    RunView,
    StageView,
)

SPEAKER, COLLEAGUE, BOT_USER = "U1", "U2", "U0BOT"
STAGES = (
    StageView(id="extraction", aliases=("extract", "extr"), verbs=("extract",)),
    StageView(id="training", aliases=("train",), verbs=("train",)),
    StageView(id="benchmark", aliases=("bench",), verbs=("bench", "benchmark", "rebench"), role="bench"),
)
HOSTS = ParamSpec(name="host", type="host", choices=("box1", "box2"))
GPUS = ParamSpec(name="gpus", type="gpus", low=0, high=7, aliases=("gpu",))
TRAINING = (
    ParamSpec(
        name="lr", type="float", low=1e-6, high=1e-2, aliases=("learning rate", "learning-rate"), stage="training"
    ),
    ParamSpec(name="epochs", type="int", low=1, high=100, aliases=("epoch",), stage="training"),
    ParamSpec(name="batch_size", type="int", low=1, high=1024, aliases=("batch size", "bs"), stage="training"),
    ParamSpec(name="ttt_length", type="int", low=1, high=16, aliases=("ttt length", "ttt"), stage="training"),
)
BENCH = (ParamSpec(name="concurrency", type="int", low=1, high=1024, stage="benchmark"),)
EXTRACTION = (ParamSpec(name="max_samples", type="int", low=1, high=10_000_000, stage="extraction"),)
SUITES = ("gsm8k", "mt_bench", "humaneval")
PIPELINE = PipelineView(
    name="eagle3",
    stages=STAGES,
    params=(*EXTRACTION, *TRAINING, *BENCH, HOSTS, GPUS),
    models=("qwen3-8b", "llama-8b", "kimi-k2.5", "deepseek-v3"),
)

_R12 = RunView(
    id="r12",
    names=("qwen3-8b", "qwen", "qwen3"),
    phase=Phase.WAITING,
    stages=STAGES,
    stage="extraction",
    gate_to="training",
    done=9000,
    total=9000,
    percent=100.0,
    params=(*TRAINING, *BENCH, HOSTS, GPUS),
    suites=SUITES,
)
_R14 = replace(_R12, id="r14", names=("llama-8b", "llama"))
_TRAINING = replace(
    _R12, phase=Phase.RUNNING, stage="training", gate_to=None, done=62, total=100, percent=62.0,
    started_by=COLLEAGUE, started_ago_s=3 * 3600.0,
)  # fmt: skip
_EXTRACTING = replace(
    _R12, phase=Phase.RUNNING, gate_to=None, done=3330, total=9000, percent=37.0,
    started_by=COLLEAGUE, started_ago_s=2 * 3600.0,
)  # fmt: skip
_G1 = Context(
    runs=(_R12,), thread_run="r12", card_is_last=True, speaker=SPEAKER, bot_user=BOT_USER, pipelines=(PIPELINE,)
)  # fmt: skip
_TOP = replace(_G1, place=Place.CHANNEL, thread_run=None, mentioned=True, card_is_last=False)


def _thread(run: RunView) -> Context:
    return replace(_G1, runs=(run,), card_is_last=False)


FIXTURES: dict[str, Context] = {
    "G1": _G1,
    "G1m": _TOP,
    "G1c": replace(_TOP, mentioned=False),
    "G1x": replace(_G1, card_is_last=False),
    "G1d": replace(_TOP, place=Place.DIRECT, mentioned=False),
    "V": replace(_G1, runs=(replace(_R12, phase=Phase.BLOCKED, done=7912, percent=87.9, evidence="7912/9000"),)),
    "R37": _thread(_EXTRACTING),
    "R100": _thread(replace(_EXTRACTING, phase=Phase.SETTLING, done=9000, percent=100.0)),
    "U": _thread(replace(_EXTRACTING, phase=Phase.UNKNOWN)),
    "F": replace(_thread(replace(_EXTRACTING, phase=Phase.FAILED, done=7290, percent=81.0)), card_is_last=True),
    "T62": _thread(_TRAINING),
    "S": _thread(replace(_TRAINING, phase=Phase.STALLED)),
    "GT": replace(_G1, runs=(replace(_R12, stage="training", gate_to="benchmark"),)),
    "B": _thread(replace(_R12, phase=Phase.DONE, stage="benchmark", gate_to=None)),
    "H": _thread(replace(_R12, phase=Phase.HELD, held_by=SPEAKER, held_ago_s=2 * 3600.0)),
    "K": replace(
        _thread(_TRAINING),
        card_is_last=True,
        question=PendingQuestion(kind=QuestionKind.CANCEL_CONFIRM, proposed="CANCEL", run="r12"),
    ),
    "J": _thread(replace(_TRAINING, done=0, percent=0.0, started_by=SPEAKER, started_ago_s=20.0)),
    "D": _thread(replace(_TRAINING, done=1, percent=1.0, started_ago_s=120.0)),
    "G2": replace(_TOP, runs=(_R12, _R14)),
    "G2t": replace(_G1, runs=(_R12, _R14)),
    "GR": replace(_TOP, runs=(_R12, replace(_TRAINING, id="r14", names=_R14.names))),
    "Q": replace(
        _TOP,
        runs=(_R12, _R14),
        card_is_last=True,
        question=PendingQuestion(kind=QuestionKind.WHICH_RUN, proposed="ADVANCE", candidates=("r12", "r14")),
    ),
    "N0": replace(_TOP, runs=()),
    "N0c": replace(_TOP, runs=(), mentioned=False),
    "P": replace(_G1, speaker="U9", speaker_allowed=False),
    "BOT": replace(_G1, speaker="B1", speaker_is_bot=True),
    "O7": replace(_G1, age_s=7 * 3600.0),
    "O3": replace(_G1, age_s=3 * 60.0),
    "RX": replace(_G1, event=Event.REACTION),
    "ED": replace(
        _thread(replace(_TRAINING, done=0, percent=0.0, started_by=SPEAKER, started_ago_s=40.0)),
        event=Event.EDIT,
        edited=EditedOrder(text="continue", acted=True, kind="ADVANCE"),
    ),
    "ED2": replace(_G1, event=Event.EDIT, edited=EditedOrder(text="contin", acted=False, kind="ASK")),
}
