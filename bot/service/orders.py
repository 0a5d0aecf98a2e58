"""One event, from what was said to what is stored."""

import logging
from datetime import timedelta

from bot.core.cards import Card, escape, say
from bot.core.clicks import parse_click
from bot.core.effects import ASKED, DONE, REFUSED, Post
from bot.core.inbound import InboundEvent
from bot.core.model import Phase, Run
from bot.core.reading.intent import Intent, Kind
from bot.core.reading.reader import read
from bot.core.summary import asks, found
from bot.errors import OperatorError
from bot.service import views
from bot.service.acting import Acting
from bot.service.buttons import Buttons
from bot.service.desk import Desk
from bot.service.moments import moment_of, note_spoken, thread_of
from bot.service.outcome import TERMINAL, Outcome, seen_mark
from bot.service.polls import Polls
from bot.service.questions import note_which, settle_which
from bot.service.roles import who_may
from bot.service.upkeep import Upkeep

log = logging.getLogger(__name__)
_OPENING = timedelta(seconds=60)  # how long the answer to a post may take, with one more try
_UNASKED = (Kind.STATUS, Kind.IGNORE, Kind.HOLD, Kind.START)  # the machine is not asked for these


class Orders:
    """Handles stored events; those of one run come one after the other."""

    def __init__(self, desk: Desk, polls: Polls) -> None:
        self._desk, self._polls = desk, polls
        self._acting = Acting(desk, polls)
        self._upkeep = Upkeep(desk, self._acting)
        self._buttons = Buttons(desk, polls, self._acting, self._upkeep)

    def runs_of(self, event_id: int, event: InboundEvent) -> frozenset[str]:
        """Which runs' order this event belongs into; a key of its own when it is about none."""
        alone = frozenset({f"event {event_id}"})
        if event.kind == "click":
            click = parse_click(event.action, event.value)
            return frozenset({click.run}) if click else alone
        thread_run = thread_of(self._desk, event)
        if thread_run is not None or event.kind not in ("message", "edit"):
            return frozenset({thread_run}) if thread_run else alone
        intents = read(event.text, moment_of(self._desk, event, None, allowed=True))
        named = {run for i in intents for run in (i.run if isinstance(i.run, tuple) else (i.run,)) if run}
        return frozenset(named) or alone

    def opening(self, event: InboundEvent) -> frozenset[str]:
        """The runs whose threads the chat has opened just now, so that their ts is not known here yet, and to which
        the event may belong.
        """
        desk = self._desk
        fresh = event.thread_ts and desk.clock.now() - event.at < _OPENING
        if event.kind == "click" or not fresh or thread_of(desk, event) is not None:
            return frozenset()
        pending = desk.store.pending_effects()
        begun = {s.run for s in pending if s.begun and isinstance(s.effect, Post) and s.effect.parent}
        here = {run.id for run in desk.store.all_runs() if run.channel == event.channel} if begun else set()
        return frozenset(begun & here)

    def handle(self, event_id: int, event: InboundEvent) -> None:
        """Read, check, act, answer; in the end the event is marked as handled."""
        desk = self._desk
        if before := desk.store.carried(event.claim_key):
            self._interrupted(event_id, event, before)
            return
        out = Outcome(event)
        run_id: str | None = None
        try:
            if event.kind == "click":
                run, out = self._buttons.click(event)
                run_id = run.id if run else None
            elif event.kind == "deletion":
                run_id = thread_of(desk, event)
                out.text = "deleted: nothing is changed by that"
            elif event.kind in ("message", "edit", "reaction") and event.user != desk.bot_user:
                run_id = self._message(out)
            else:
                out.text, out.settled = "nothing to do", True
        except OperatorError as error:
            out.text, out.mark = f"refused: {error}", REFUSED
            out.whispers.append(say(f"{error.message}\n{error.hint}".strip()))
        except desk.store.duplicate:  # a repeat of what was carried out meanwhile
            out.text, out.settled = "done before", True
        self._note(event_id, run_id, out)

    def _interrupted(self, event_id: int, event: InboundEvent, before: list[str]) -> None:
        """Its order was carried out before the bot was ended: nothing is read or done again."""
        out = Outcome(event, text=before[-1], mark=DONE, carried=len(before), seen=True)
        if event.kind == "message" and len(read(event.text, moment_of(self._desk, event, None, allowed=True))) > 1:
            said = "I was interrupted while I carried these orders out; say again what is missing, please."
            out.cards.append(say(said))
        self._note(event_id, thread_of(self._desk, event), out)

    # reading

    def _message(self, out: Outcome) -> str | None:
        desk, event = self._desk, out.event
        thread_run = thread_of(desk, event)
        text = event.reaction if event.kind == "reaction" else event.text
        intents = read(text, moment_of(desk, event, thread_run))
        if any(intent.acts or intent.claim for intent in intents) and event.kind == "message":
            self._show_seen(out)
        if self._refresh(intents, thread_run):
            intents = read(text, moment_of(desk, event, thread_run))
        out.intents = intents
        for intent in intents:
            self._act(intent, thread_run, out)
        if thread_run is None:
            settle_which(desk, event, intents)
        elif event.kind == "message":
            note_spoken(desk, event, thread_run, intents)
        return _run_of(intents, thread_run)

    def _show_seen(self, out: Outcome) -> None:
        if out.event.team == TERMINAL:
            return
        out.seen = True
        self._desk.store.add_effects("", (seen_mark(out.event),), self._desk.clock.now())
        self._desk.kick()

    def _refresh(self, intents: tuple[Intent, ...], thread_run: str | None) -> bool:
        """An order or a claim is checked against the machine now, not at the next poll."""
        asked = False
        for intent in intents:
            run = self._find(_run_of((intent,), thread_run))
            if intent.kind not in _UNASKED and run is not None and run.live:
                self._polls.refresh(run)
                asked = True
        return asked

    def _find(self, run_id: str | None) -> Run | None:
        """None for what is no run, or one whose pipeline is no longer configured."""
        runs = self._desk.store.all_runs()
        return next((run for run in runs if run.id == run_id and run.pipeline in self._desk.pipelines), None)

    # acting

    def _act(self, intent: Intent, thread_run: str | None, out: Outcome) -> None:
        if intent.kind is Kind.IGNORE:
            self._ignored(intent, thread_run, out)
        elif intent.kind is Kind.STATUS:
            out.cards.append(self._look(intent, thread_run, out))
            out.text = out.text or "shown"
        elif intent.kind is Kind.START or intent.proposed == "START":
            self._acting.start(intent, out)
        elif intent.kind is Kind.ASK:
            self._ask(intent, thread_run, out)
        else:
            names = intent.run if isinstance(intent.run, tuple) else (intent.run or thread_run,)
            for run_id in names:
                self._order(intent, run_id, out)

    def _look(self, intent: Intent, thread_run: str | None, out: Outcome) -> Card:
        run = self._find(_run_of((intent,), thread_run))
        if run is not None and intent.more.get("view") == "cleanup":
            return self._upkeep.show(run, out.event.user)
        return views.answer(self._desk, self._polls, intent, thread_run)

    def _order(self, intent: Intent, run_id: str | None, out: Outcome) -> None:
        run = self._find(run_id)
        if run is None:
            out.cards.append(say(f"There is no run {escape(run_id)} here." if run_id else "Which run? Say its id."))
            out.text, out.mark = f"refused: no run {run_id}", REFUSED
            return
        if intent.kind is Kind.ADOPT:
            self._upkeep.adopt(intent, run, out)
        elif intent.kind is Kind.CLEANUP:
            self._upkeep.delete(run, out)
        else:
            self._acting.carry_out(self._acting.order_of(intent, run, out), run, out)

    def _ask(self, intent: Intent, thread_run: str | None, out: Outcome) -> None:
        run = self._find(_run_of((intent,), thread_run))
        if run is not None and run.phase is Phase.STARTING and intent.why == "edit_after_action":
            hold = Intent(kind=Kind.HOLD, rule=intent.rule, run=run.id)  # it can still be taken back: the safe way
            self._order(hold, run.id, out)
            return
        runs = [r for name in intent.more.get("candidates", ()) if (r := self._find(str(name))) is not None]
        pipeline = self._desk.pipeline(run) if run else None
        others = [(r, self._desk.pipeline(r)) for r in runs]
        now, said = self._desk.clock.now(), out.event.text
        if run is None:
            note_which(self._desk, out.event, intent)
        out.cards.append(asks.ask_card(intent, run, pipeline, now, said=said, others=others))
        out.text, out.mark = f"asked: {intent.why}", ASKED

    def _ignored(self, intent: Intent, thread_run: str | None, out: Outcome) -> None:
        out.text = out.text or f"ignored: {intent.why or 'no order'}"
        run = self._find(_run_of((intent,), thread_run))
        if intent.why == "not_authorized":
            out.text, out.mark = "refused: not allowed", REFUSED
            out.whispers.append(say(f"Only {who_may(self._desk, run)} may do that here. Nothing was changed."))
        elif intent.why == "already_advanced" and run is not None:
            out.cards.append(say(found.already(run, self._desk.pipeline(run), self._desk.clock.now())))

    # answering

    def apologise(self, event_id: int, event: InboundEvent, error: Exception) -> None:
        """A fault of ours: said in the thread, never a traceback."""
        before = self._desk.store.carried(event.claim_key)
        what = "The order itself was carried out." if before else "Nothing was started by it; say it again, please."
        card = say(f"⚠ An internal error ({type(error).__name__}) kept me from handling that properly. {what}")
        out = Outcome(event, text=f"internal error: {error!r}", mark=REFUSED, cards=[card], carried=len(before))
        self._note(event_id, thread_of(self._desk, event), out)

    def _note(self, event_id: int, run_id: str | None, out: Outcome) -> None:
        """Mark the event as handled, with its answers. What no order was made of is recorded here; chatter is not."""
        at, run = self._desk.clock.now(), self._find(run_id)
        order = None if out.carried or out.settled or out.chatter else out.entry(run, out.text)
        in_thread = run is not None and thread_of(self._desk, out.event) == run.id
        wanted = out.effects(in_thread)
        self._desk.store.note_order(event_id, run.id if run else "", order, wanted, at, out.text or "ignored")
        self._desk.kick()


def _run_of(intents: tuple[Intent, ...], thread_run: str | None) -> str | None:
    named = next((i.run for i in intents if isinstance(i.run, str)), None)
    return named or thread_run
