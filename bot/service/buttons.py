"""Buttons: what a click orders, and whether it is of this moment."""

import json
from dataclasses import replace
from datetime import datetime

from bot.core import events
from bot.core.cards import Card, say
from bot.core.clicks import Click, parse_click
from bot.core.effects import Edit, Effect
from bot.core.inbound import InboundEvent
from bot.core.model import Phase, Run
from bot.core.pipeline import Pipeline, Value, check_value
from bot.core.summary import found, words
from bot.core.summary.gate import stripped
from bot.core.wanted import as_values
from bot.errors import CommandError
from bot.service import context, views
from bot.service.acting import Acting
from bot.service.desk import Desk
from bot.service.outcome import Outcome, answer_key
from bot.service.polls import Polls
from bot.service.upkeep import Upkeep

_DRAWN_BY_THE_RUN = ("advance", "hold", "undo", "cancel_yes", "cancel_no")  # a step of the run edits those cards itself


class Buttons:
    """Handles clicks. Whatever is refused is told to whoever clicked, and to nobody else."""

    def __init__(self, desk: Desk, polls: Polls, acting: Acting, upkeep: Upkeep) -> None:
        self._desk, self._polls, self._acting, self._upkeep = desk, polls, acting, upkeep

    def click(self, event: InboundEvent) -> tuple[Run | None, Outcome]:
        """Carry out what the button says. Raises CommandError."""
        desk, click = self._desk, parse_click(event.action, event.value)
        out = Outcome(replace(event, text=f"[{event.action}]"))
        run = next((run for run in desk.store.all_runs() if click and run.id == click.run), None)
        if click is None or run is None or run.pipeline not in desk.pipelines:
            out.text, out.settled = "no button of ours", True
            return None, out
        if click.action == "status":
            out.whispers.append(views.status(desk, run))
            out.text, out.settled = "shown", True
            return run, out
        if not current(run, click, desk.clock.now()):
            already = found.already(run, desk.pipeline(run), desk.clock.now())
            out.whispers.append(say(f"That button is of an earlier moment. {already}"))
            out.text = "refused: an old button"
            return run, out
        if run.live:
            self._polls.refresh(run)
            run = desk.store.run(run.id)
        if click.action == "cleanup":
            if self._upkeep.delete(run, out):
                self._strip(event, click)
            return run, out
        try:
            order = self._order(click, run, event.user)
        except (ValueError, KeyError, TypeError) as error:
            raise CommandError(f"That button cannot be used: {error}") from error
        if self._acting.carry_out(order, run, out):
            self._strip(event, click)
        return run, out

    def _order(self, click: Click, run: Run, by: str) -> events.Ordered:
        """Raises ValueError, KeyError or TypeError for an argument that no button of ours has."""
        at, undo_s = self._desk.clock.now(), self._desk.config.undo_s
        rest = click.argument.partition("\n")[2]
        match click.action:
            case "advance":
                values = self._values(click.argument, run)
                return events.Advance(at=at, by=by, undo_s=undo_s, set=values)
            case "set":
                return events.Override(at=at, by=by, set=self._values(click.argument, run))
            case "hold" | "undo" | "hold_next":
                return events.Hold(at=at, by=by)
            case "arm":
                when = {str(unit): float(count) for unit, count in json.loads(rest or "{}").items()}
                return events.Arm(at=at, by=by, undo_s=undo_s, when=when)
            case "watch":
                return events.Watch(at=at, by=by)
            case "retry":
                return events.Retry(at=at, by=by, undo_s=undo_s)
            case "bench":
                return events.Bench(at=at, by=by, undo_s=undo_s, set=self._values(rest, run))
            case "extend":
                return events.Extend(at=at, by=by, undo_s=undo_s, add=int(rest))
            case "waive":
                if not rest.strip():
                    raise ValueError("a waiver needs a reason")
                return events.Waive(at=at, by=by, undo_s=undo_s, reason=rest)
            case "cancel":
                return events.AskCancel(at=at, by=by)
            case "cancel_yes":
                return events.Cancel(at=at, by=by)
            case "cancel_no":
                return events.Decline(at=at, by=by)
        raise ValueError(f"no button does {click.action}")

    def _values(self, argument: str, run: Run) -> dict[str, Value]:
        """The settings that a button carries, checked once more against the pipeline."""
        values = as_values(json.loads(argument)) if argument.startswith("{") else {}
        pipeline: Pipeline = self._desk.pipeline(run)
        for name, value in values.items():
            for param in [p for stage in pipeline.stages for p in stage.params if p.name == name]:
                check_value(param, value)
        return values

    def _strip(self, event: InboundEvent, click: Click) -> None:
        """The buttons of the card that was clicked are gone, once one was used."""
        posted = self._desk.store.posted_at(event.channel, event.ts)
        cards: list[Card] = self._desk.store.cards_of(posted.key) if posted else []
        if posted is None or not cards or (click.action in _DRAWN_BY_THE_RUN and not posted.key.startswith("answer/")):
            return
        now = self._desk.clock.now()
        said = f"{click.action} · by {words.person(event.user)} at {words.moment(now)}"
        edit: Effect = Edit(key=f"{answer_key(event)}used", post=posted.key, card=stripped(cards[0], said))
        self._desk.store.add_effects(posted.run, (edit,), now)


def current(run: Run, click: Click, now: datetime) -> bool:
    """Whether the button is of this moment."""
    match click.action:
        case "advance" | "hold" | "set":
            return run.gate is not None and run.gate.version == click.version
        case "cancel_yes" | "cancel_no":
            asked = run.question
            fresh = asked is not None and context.question_of(run, asked.asked_of, now) is not None
            return fresh and asked is not None and asked.version == click.version
        case "undo":
            return run.starting is not None and run.starting.attempt == click.argument
    made_for = click.argument.partition("\n")[0]
    return made_for == run.moment and (click.action != "extend" or run.phase is not Phase.RUNNING)
