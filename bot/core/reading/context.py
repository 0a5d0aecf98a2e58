"""What the reader is told about the moment a message was sent: frozen, pure data.

The service fills a `Context` from the stored run states; the reader never looks anything up.
Stage, model, host and parameter names are the pipeline's own, so nothing here knows EAGLE-3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

STALE_AFTER_S = 15 * 60.0


class Phase(StrEnum):
    """Where a run stands, as far as reading an order goes. Values are stable and stored."""

    PLANNED = "planned"  # the plan is shown, nothing was started yet: a gate with no stage before it
    WAITING = "waiting"  # a gate is open and its evidence is proven (or is checked when passed)
    HELD = "held"  # a gate is open and an operator said hold
    BLOCKED = "blocked"  # a gate is open and the evidence contradicts success
    CHECKING = "checking"  # the stage ended, evidence is being gathered; no gate card yet
    STARTING = "starting"  # an order was accepted; its launch waits for the undo window
    RUNNING = "running"
    STALLED = "stalled"  # alive, but no progress for longer than the pipeline allows
    SETTLING = "settling"  # the log says 100 %, the process lives or the last file is open
    UNKNOWN = "unknown"  # the host cannot be reached: nothing is known
    FAILED = "failed"
    CANCELLED = "cancelled"  # the stage was cancelled by an order; what it left is kept
    DONE = "done"  # all stages finished


GATES = frozenset({Phase.PLANNED, Phase.WAITING, Phase.HELD, Phase.BLOCKED})
ALIVE = frozenset({Phase.STARTING, Phase.RUNNING, Phase.STALLED, Phase.SETTLING, Phase.UNKNOWN})


class Event(StrEnum):
    """The kind of Slack event that carried the text."""

    MESSAGE = "message"
    EDIT = "edit"  # text is the new text; see Context.edited
    DELETION = "deletion"  # text is the deleted text, or empty
    REACTION = "reaction"  # text is the emoji name, as :+1: or bare


class Place(StrEnum):
    """Where it was said."""

    THREAD = "thread"  # a reply in a run's thread; see Context.thread_run
    CHANNEL = "channel"  # top level
    DIRECT = "direct"  # a direct message to the bot, outside any run's thread


@dataclass(frozen=True, kw_only=True)
class ParamSpec:
    """One value that chat may set.

    type: int, float, str, choice, gpus (list of device numbers), host, bool, or ints (list).
    low and high are inclusive bounds (for gpus and ints: of each element). choices bind choice
    and host; when empty, any plain word does. aliases are further spellings, lower case, may hold
    spaces ("learning rate"). stage is the stage the value belongs to, None for "whichever stage
    the order starts" (host, gpus).
    """

    name: str
    type: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    stage: str | None = None


@dataclass(frozen=True, kw_only=True)
class StageView:
    """A stage's id and the other names people use for it, lower case.

    A stage without a gate of its own (vocab after extract) is listed too: it can be named, not ordered.
    verbs: words that order the stage by themselves ("train", "bench"); they name it as well. When empty,
    the id is one, and for a bench stage its aliases too.
    `role` is "bench" for the stage that measures, so that "bench again" finds it; else "work".
    """

    id: str
    aliases: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    role: str = "work"


@dataclass(frozen=True, kw_only=True)
class PipelineView:
    """A pipeline that chat may start: its stages in order, what START may set, the models it knows."""

    name: str
    stages: tuple[StageView, ...]
    params: tuple[ParamSpec, ...] = ()
    models: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RunView:
    """One run that is not archived, as of now.

    names: words that may stand for it in text, whole and in parts ("qwen3-8b", "qwen").
    stage: the stage that runs, failed, is being checked, or just ended; None before the first.
    gate_to: the stage that passing the open gate starts, as people name it; None without a gate.
    params: what chat may set for the stages that are still to come (and, for FAILED, for a retry).
    suites: benchmark suites that can be named.
    evidence: short figure of what was found of what was expected ("7912/9000"), when known.
    started_*: the last launch of a stage by an order: user id and age of that order in seconds.
    held_by: who put it on hold, while HELD.
    armed: an armed rule exists ("continue when it's done"), which "hold" takes back.
    """

    id: str
    phase: Phase
    stages: tuple[StageView, ...]
    names: tuple[str, ...] = ()
    stage: str | None = None
    gate_to: str | None = None
    done: int | None = None
    total: int | None = None
    percent: float | None = None
    evidence: str | None = None
    started_by: str | None = None
    started_ago_s: float | None = None
    held_by: str | None = None
    held_ago_s: float | None = None
    armed: bool = False
    params: tuple[ParamSpec, ...] = ()
    suites: tuple[str, ...] = ()

    @property
    def at_gate(self) -> bool:
        """Whether an order could pass a gate of this run now (evidence permitting)."""
        return self.phase in GATES

    @property
    def alive(self) -> bool:
        """Whether a process of this run lives, is about to, or might."""
        return self.phase in ALIVE


class QuestionKind(StrEnum):
    """What the bot has just asked and still waits for an answer to."""

    CANCEL_CONFIRM = "cancel_confirm"  # "Cancel r12 training at 62 %? yes/no"
    WHICH_RUN = "which_run"  # "Start training for which run: 1) r12  2) r14 ?"


@dataclass(frozen=True, kw_only=True)
class PendingQuestion:
    """A question of the bot as the last message, unanswered.

    run: the run asked about (CANCEL_CONFIRM). candidates: run ids in the order they were numbered
    (WHICH_RUN). proposed: the action that an answer would carry out, with the values of `set`.
    to_speaker: the question was asked of this speaker; an answer of someone else is an ordinary message.
    """

    kind: QuestionKind
    proposed: str
    run: str | None = None
    candidates: tuple[str, ...] = ()
    to_speaker: bool = True
    set: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class EditedOrder:
    """What an edit replaces: the old text and what the bot did upon it.

    acted: the old text was carried out (an order passed a gate, cancelled, ...).
    kind: the intent kind that the old text had been read as, where known.
    """

    text: str = ""
    acted: bool = False
    kind: str | None = None


@dataclass(frozen=True, kw_only=True)
class Context:
    """Everything about the moment that a reading depends on.

    runs: all live runs that the speaker could mean here (this channel's; for a direct message,
    those the speaker owns or may order). thread_run: id when place is THREAD.
    mentioned: the text mentions the bot. bot_user: the bot's own user id, so that its mention can be
    told from a colleague's; None when unknown (then a leading mention is taken as the bot's if
    `mentioned`). speaker: user id. speaker_allowed: may give orders here (operator or admin).
    speaker_is_bot: bot_id is set on the message. age_s: age of the message when it is read.
    card_is_last: the open gate card (or the question) is the last message in the thread; nobody has
    written after it, other than this message. Bare approvals ("yes", "lgtm") depend on it.
    quiet: nobody else has written in the thread since the gate opened, whether its card is shown yet or not.
    """

    runs: tuple[RunView, ...] = ()
    place: Place = Place.THREAD
    thread_run: str | None = None
    mentioned: bool = False
    bot_user: str | None = None
    event: Event = Event.MESSAGE
    speaker: str = ""
    speaker_allowed: bool = True
    speaker_is_bot: bool = False
    age_s: float = 0.0
    card_is_last: bool = False
    quiet: bool = False
    question: PendingQuestion | None = None
    edited: EditedOrder | None = None
    pipelines: tuple[PipelineView, ...] = ()

    def find(self, run_id: str | None) -> RunView | None:
        """The run with exactly this id, if it is live."""
        return next((run for run in self.runs if run.id == run_id), None)

    @property
    def addressed(self) -> bool:
        """Whether the message is plainly said to the bot: in a run's thread, directly, by mention, or as an answer."""
        answers = self.question is not None and self.question.to_speaker
        return self.place is not Place.CHANNEL or self.mentioned or answers
