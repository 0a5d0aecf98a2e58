"""One message, from what was said to what is stored."""

import hashlib
import logging
import secrets
from dataclasses import dataclass, field, replace
from typing import Any

from bot.core import events
from bot.core.cards import Card, say
from bot.core.clicks import parse_click
from bot.core.effects import Effect, Post, React, Whisper
from bot.core.errors import WrongState
from bot.core.inbound import InboundEvent
from bot.core.machine import plan_run
from bot.core.model import Phase, Run
from bot.core.orders import Order
from bot.core.reading.context import Context, EditedOrder
from bot.core.reading.intent import Intent, Kind
from bot.core.reading.reader import read
from bot.core.summary import answers, words
from bot.service import context, views
from bot.service.desk import Desk
from bot.service.polls import Polls
from bot.service.roles import may_pass, who_may

log = logging.getLogger(__name__)
DONE_MARK, ASK_MARK, NO_MARK, SEEN_MARK = "white_check_mark", "question", "no_entry_sign", "eyes"


@dataclass
class Outcome:
    """What one event leads to: the audit's word for it, a reaction, answers; how many orders it has carried out."""

    event: InboundEvent
    intents: tuple[Intent, ...] = ()
    text: str = ""
    mark: str = ""
    cards: list[Card] = field(default_factory=list)
    carried: int = 0


class Orders:
    """Handles stored events, one after the other for one thread."""

    def __init__(self, desk: Desk, polls: Polls) -> None:
        self._desk = desk
        self._polls = polls

    def handle(self, event_id: int, event: InboundEvent) -> None:
        """Read, check, act, answer; whatever happens, the event is marked as handled."""
        carried = self._carried_before(event)
        if carried:
            self._note(event_id, carried[0].get("run"), _interrupted(event, carried))
        elif event.kind == "click":
            self._click(event_id, event)
        elif event.kind == "deletion":
            self._note(event_id, None, Outcome(event, text="deleted: nothing is changed by that"))
        elif event.kind in ("message", "edit", "reaction") and not self._own(event):
            self._message(event_id, event)
        else:
            self._desk.store.handled(event_id, self._desk.clock.now(), "nothing to do")

    def _carried_before(self, event: InboundEvent) -> list[dict[str, Any]]:
        """The orders of this event in the audit log: there are some if the bot was killed before it could answer.

        Then the event must not be read again: the run has moved on, and the same words mean something else now.
        """
        claims = f"{event.claim_key}#"
        return [order for order in self._desk.store.orders() if str(order["claim"]).startswith(claims)]

    def _own(self, event: InboundEvent) -> bool:
        return bool(self._desk.bot_user) and event.user == self._desk.bot_user

    # reading

    def _context(self, event: InboundEvent, thread_run: str | None) -> Context:
        desk, now = self._desk, self._desk.clock.now()
        runs = [run for run in desk.store.all_runs() if run.phase is not Phase.CANCELLED or run.id == thread_run]
        return context.build(
            event,
            runs=[run for run in runs if event.channel_type == "im" or run.channel == event.channel],
            pipelines=desk.pipelines,
            hosts=desk.host_names(),
            thread_run=thread_run,
            bot_user=desk.bot_user,
            allowed=desk.role_of(event.user) != "viewer",
            card_is_last=self._card_is_last(event, thread_run),
            edited=self._edited(event, thread_run) if event.kind == "edit" else None,
            now=now,
        )

    def _card_is_last(self, event: InboundEvent, run_id: str | None) -> bool:
        if run_id is None:
            return False
        posts = [p for p in self._desk.store.thread_posts(run_id) if float(p.ts) < float(event.ts)]
        if not posts or not any(mark in posts[-1].key for mark in ("/gate/", "/cancel/")):
            return False
        last = self._desk.store.cursor(f"spoken/{run_id}")
        return last is None or float(last) < float(posts[-1].ts)

    def _edited(self, event: InboundEvent, run_id: str | None) -> EditedOrder:
        for order in reversed(self._desk.store.orders(run_id)):
            if order.get("ts") == event.ts:
                kinds = [str(i.get("kind")) for i in order.get("intents", [])]
                acted = str(order.get("outcome", "")).startswith("done")
                return EditedOrder(text=str(order["text"]), acted=acted, kind=kinds[0] if kinds else None)
        return EditedOrder(text=event.previous_text)

    def _message(self, event_id: int, event: InboundEvent) -> None:
        thread_run = self._desk.store.run_at(event.channel, event.thread_ts or event.ts) or None
        text = event.reaction if event.kind == "reaction" else event.text
        seen = self._context(event, thread_run)
        intents = read(text, seen)
        if self._refresh(intents, thread_run):
            seen = self._context(event, thread_run)
            intents = read(text, seen)
        outcome = Outcome(event, intents)
        for intent in intents:
            self._act(intent, thread_run, outcome)
        if thread_run and event.kind == "message":
            self._desk.store.set_cursor(f"spoken/{thread_run}", event.ts)
        self._note(event_id, _run_of(intents, thread_run), outcome)

    def _refresh(self, intents: tuple[Intent, ...], thread_run: str | None) -> bool:
        """An order or a claim is checked against the machine now, not at the next poll."""
        asked = False
        for intent in intents:
            if intent.kind in (Kind.STATUS, Kind.IGNORE, Kind.HOLD, Kind.START):
                continue
            run_id = _run_of((intent,), thread_run)
            if run_id is not None and (run := self._find(run_id)) is not None and run.live:
                self._polls.refresh(run)
                asked = True
        return asked

    def _find(self, run_id: str) -> Run | None:
        try:
            return self._desk.store.run(run_id)
        except KeyError:
            return None

    # acting

    def _act(self, intent: Intent, thread_run: str | None, out: Outcome) -> None:
        if intent.kind is Kind.IGNORE:
            self._ignored(intent, thread_run, out)
            return
        if intent.kind is Kind.STATUS:
            out.cards.append(views.answer(self._desk, self._polls, intent, thread_run))
            out.text = "shown"
            return
        if intent.kind is Kind.START or intent.proposed == "START":
            self._start(intent, out)
            return
        if intent.kind is Kind.ASK:
            self._ask(intent, thread_run, out)
            return
        names = intent.run if isinstance(intent.run, tuple) else (intent.run or thread_run,)
        for run_id in [name for name in names if name]:
            self._order(intent, run_id, out)

    def _order(self, intent: Intent, run_id: str, out: Outcome) -> None:
        run = self._find(run_id)
        if run is None:
            out.cards.append(say(f"There is no run {run_id}."))
            return
        self._carry_out(self._event(intent, run, out.event.user), run, out)

    def _carry_out(self, order: events.Ordered, run: Run, out: Outcome) -> None:
        """Step the run and record the order in one transaction, or say why not."""
        try:
            if isinstance(order, events.Advance | events.Waive | events.Bench) and not self._may(order, run, out):
                return
            name = type(order).__name__.lower()
            after = self._desk.apply(run.id, order, order=lambda before: _entry(out, before, f"done: {name}"))
        except self._desk.store.duplicate:
            out.text, out.mark = "done before", DONE_MARK
            return
        except WrongState as error:
            pipeline = self._desk.pipeline(run)
            now_run = self._desk.store.run(run.id)
            found = answers.found_line(now_run, pipeline, self._desk.clock.now())
            out.cards.append(say(f"{error}.\n{found}"))
            out.text, out.mark = f"refused: {error}", NO_MARK
            return
        out.text = f"done: {name}, now {after.phase.value}"
        out.carried += 1
        out.mark = out.mark or DONE_MARK
        self._polls.hurry(self._desk.pipeline(run).stage(after.at).host)

    def _may(self, order: events.Ordered, run: Run, out: Outcome) -> bool:
        role = self._desk.role_of(order.by)
        if may_pass(role, order, run, bool(self._desk.config.roles.admins)):
            return True
        out.text, out.mark = "refused: not allowed", NO_MARK
        out.cards.append(say(f"<@{order.by}> may not do that; {who_may(run, order, self._desk.config.roles)} may."))
        return False

    def _event(self, intent: Intent, run: Run, by: str) -> events.Ordered:
        at, undo_s, values = self._desk.clock.now(), self._desk.config.undo_s, dict(intent.set)
        settings = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
        match intent.kind:
            case Kind.ADVANCE:
                return events.Advance(at=at, by=by, undo_s=undo_s, set=settings)
            case Kind.HOLD if intent.more.get("declines") and run.question is not None:
                return events.Decline(at=at, by=by)
            case Kind.HOLD:
                return events.Hold(at=at, by=by)
            case Kind.OVERRIDE:
                return events.Override(at=at, by=by, set=settings)
            case Kind.RETRY:
                return events.Retry(at=at, by=by, undo_s=undo_s)
            case Kind.BENCH:
                return events.Bench(at=at, by=by, undo_s=undo_s, set=settings)
            case Kind.CANCEL if run.phase is Phase.STARTING or context.question_of(run, by, at) is not None:
                return events.Cancel(at=at, by=by)
            case Kind.CANCEL:
                return events.AskCancel(at=at, by=by)
        raise ValueError(f"no order: {intent.kind}")

    def _ask(self, intent: Intent, thread_run: str | None, out: Outcome) -> None:
        run_id = _run_of((intent,), thread_run)
        run = self._find(run_id) if run_id else None
        pipeline = self._desk.pipeline(run) if run else None
        out.cards.append(answers.ask_card(intent, run, pipeline, self._desk.clock.now(), out.event.text))
        out.text, out.mark = f"asked: {intent.why}", ASK_MARK

    def _ignored(self, intent: Intent, thread_run: str | None, out: Outcome) -> None:
        out.text = f"ignored: {intent.why or 'no order'}"
        run = self._find(thread_run) if thread_run else None
        if intent.why == "not_authorized":
            out.mark = NO_MARK
            text = f"Only {who_may(run, None, self._desk.config.roles)} may do that here. Nothing was changed."
            self._whisper(out.event, say(text))
        elif intent.why == "already_advanced" and run is not None and run.started is not None:
            found = answers.found_line(run, self._desk.pipeline(run), self._desk.clock.now())
            out.cards.append(say(f"Already started by {words.person(run.started.by)}. {found}"))

    def _start(self, intent: Intent, out: Outcome) -> None:
        """A new run: its plan, waiting for `go`."""
        desk, event = self._desk, out.event
        named = [p for p in desk.pipelines.values() if p.name.lower() in event.text.lower()]
        found = named or list(desk.pipelines.values())
        if desk.role_of(event.user) == "viewer":
            self._whisper(event, say(f"Only {who_may(None, None, desk.config.roles)} may start a run."))
            out.text, out.mark = "refused: not allowed", NO_MARK
            return
        if len(found) != 1:
            names = ", ".join(f"`start {p.name}`" for p in found)
            out.cards.append(say(f"Which pipeline? {names}"))
            out.text, out.mark = "asked: which pipeline", ASK_MARK
            return
        values = {k: tuple(v) if isinstance(v, list) else v for k, v in intent.set.items()}
        try:
            run = self.plan(found[0].name, event.channel, event.user, values, out)
        except desk.store.duplicate:
            out.text, out.mark = "done before", DONE_MARK
            return
        out.text, out.mark = f"done: planned {run.id}", DONE_MARK
        out.carried += 1

    def plan(
        self, pipeline_name: str, channel: str, owner: str, values: dict[str, Any], out: Outcome | None = None
    ) -> Run:
        """Plan a run and show it. Raises KeyError for an unknown pipeline, `store.duplicate`."""
        desk, at = self._desk, self._desk.clock.now()
        pipeline = desk.pipelines[pipeline_name]
        for _ in range(20):
            number = desk.store.next_run_number()
            run, effects = plan_run(
                id_=f"r{number}",
                seed=secrets.token_hex(8),
                pipeline=pipeline,
                channel=channel,
                owner=owner,
                at=at,
                overrides=values,
            )
            try:
                entry = _entry(out, run, f"done: planned {run.id}") if out else None
                desk.store.add_run(run, number, effects, at, order=entry)
            except desk.store.conflict:
                continue
            desk.kick()
            return run
        raise RuntimeError("no free run number")

    # buttons

    def _click(self, event_id: int, event: InboundEvent) -> None:
        click = parse_click(event.action, event.value)
        out = Outcome(replace(event, text=f"[{event.action}]"))
        run = self._find(click.run) if click else None
        if click is None or run is None:
            self._desk.store.handled(event_id, self._desk.clock.now(), "no button of ours")
            return
        if self._desk.role_of(event.user) == "viewer" and click.action != "status":
            self._whisper(event, say(f"Only {who_may(run, None, self._desk.config.roles)} may do that here."))
            out.text = "refused: not allowed"
        elif click.action == "status":
            out.cards.append(views.status(self._desk, run))
            out.text = "shown"
        elif not _current(run, click.action, click.version, click.argument):
            self._whisper(event, say(self._old(run)))
            out.text = "refused: an old button"
        else:
            if run.live:
                self._polls.refresh(run)
            run = self._desk.store.run(run.id)
            self._carry_out(self._clicked(click.action, click.argument, run, event.user), run, out)
        self._note(event_id, run.id, out)

    def _old(self, run: Run) -> str:
        started = run.started
        done = f"{words.person(started.by)} started {started.stage} at {words.moment(started.at)}. " if started else ""
        found = answers.found_line(run, self._desk.pipeline(run), self._desk.clock.now())
        return f"That button is of an earlier moment. {done}{found}"

    def _clicked(self, action: str, argument: str, run: Run, by: str) -> events.Ordered:
        at, undo_s = self._desk.clock.now(), self._desk.config.undo_s
        match action:
            case "advance":
                return events.Advance(at=at, by=by, undo_s=undo_s, set={})
            case "hold" | "undo":
                return events.Hold(at=at, by=by)
            case "arm":
                return events.Arm(at=at, by=by, undo_s=undo_s)
            case "retry":
                return events.Retry(at=at, by=by, undo_s=undo_s)
            case "bench":
                return events.Bench(at=at, by=by, undo_s=undo_s, set={})
            case "waive":
                return events.Waive(at=at, by=by, undo_s=undo_s, reason=argument.partition("\n")[2] or "by button")
            case "cancel":
                return events.AskCancel(at=at, by=by)
            case "cancel_yes":
                return events.Cancel(at=at, by=by)
            case _:
                return events.Decline(at=at, by=by)

    # answering

    def _whisper(self, event: InboundEvent, card: Card) -> None:
        key = f"whisper/{_digest(event)}"
        effect = Whisper(key=key, user=event.user, card=card, channel=event.channel, thread_ts=event.thread_ts or "")
        self._desk.store.add_effects("", (effect,), self._desk.clock.now())

    def apologise(self, event_id: int, event: InboundEvent, error: Exception) -> None:
        """A fault of ours: said in the thread, never a traceback; the order was not carried out."""
        run_id = self._desk.store.run_at(event.channel, event.thread)
        card = say(
            f"⚠ An internal error kept me from handling that ({type(error).__name__}). Nothing was started by it."
        )
        out = Outcome(event, text=f"internal error: {error!r}", mark=NO_MARK, cards=[card])
        self._note(event_id, run_id, out)

    def _note(self, event_id: int, run_id: str | None, out: Outcome) -> None:
        """Mark the event as handled, with its answers. What no order was made of is recorded here; chatter is not."""
        at, event = self._desk.clock.now(), out.event
        run = self._find(run_id) if run_id else None
        chatter = not out.cards and not out.mark and all(i.kind is Kind.IGNORE for i in out.intents)
        recorded = out.carried or out.text == "done before" or (chatter and event.kind != "deletion")
        order = None if recorded else _entry(out, run, out.text)
        wanted = self._answers(event, run, out)
        self._desk.store.note_order(event_id, run.id if run else "", order, wanted, at, out.text or "ignored")
        self._desk.kick()

    def _answers(self, event: InboundEvent, run: Run | None, out: Outcome) -> tuple[Effect, ...]:
        effects: list[Effect] = []
        in_thread = run is not None and self._desk.store.run_at(event.channel, event.thread) == run.id
        for i, card in enumerate(out.cards):
            key = f"{answer_key(event)}{i}"
            if in_thread:
                effects.append(Post(key=key, card=card))
            else:
                thread_ts = "" if event.team == TERMINAL else event.thread
                effects.append(Post(key=key, card=card, channel=event.channel, thread_ts=thread_ts))
        if out.mark and event.kind in ("message", "edit") and event.team != TERMINAL:
            effects.append(React(key=f"mark/{_digest(event)}", channel=event.channel, ts=event.ts, name=out.mark))
        return tuple(effects)


TERMINAL = "terminal"  # the team of orders from `python -m bot say`


def _entry(out: Outcome, run: Run | None, outcome: str) -> Order:
    """The audit log's entry for the next order of this event."""
    event = out.event
    made = (run.stage(run.at).evidence or {}) if run else {}
    return Order(
        run=run.id if run else None,
        claim=f"{event.claim_key}#{out.carried}",
        ts=event.ts,
        who=event.user,
        at=event.at,
        text=event.text or event.reaction,
        intents=tuple(i.as_json() for i in out.intents),
        outcome=outcome,
        evidence=str(made.get("digest", "")),
    )


def _interrupted(event: InboundEvent, carried: list[dict[str, Any]]) -> Outcome:
    """The end of an event whose handling was cut short after these orders."""
    out = Outcome(event, text="done before", mark=DONE_MARK)
    orders = [i for i in carried[0]["intents"] if i["kind"] not in (Kind.STATUS, Kind.IGNORE, Kind.ASK)]
    if len(orders) > len(carried):
        text = "I was stopped in the middle of that. The first part is done, the rest is not: please say it again."
        out.cards.append(say(text))
    return out


def _digest(event: InboundEvent) -> str:
    return hashlib.sha256(event.claim_key.encode()).hexdigest()[:24]


def answer_key(event: InboundEvent) -> str:
    """What the keys of an event's answers start with."""
    return f"answer/{_digest(event)}/"


def _run_of(intents: tuple[Intent, ...], thread_run: str | None) -> str | None:
    named = next((i.run for i in intents if isinstance(i.run, str)), None)
    return named or thread_run


def _current(run: Run, action: str, version: int, argument: str) -> bool:
    """Whether the button is of this moment."""
    if action in ("advance", "hold"):
        return run.gate is not None and run.gate.version == version
    if action in ("cancel_yes", "cancel_no"):
        return run.question is not None and run.question.version == version
    if action == "undo":
        return run.starting is not None and run.starting.attempt == argument
    return run.current is not None and run.current.id == argument.partition("\n")[0]
