"""The moment of an event: what the reader has to know, looked up in the store."""

import json
from datetime import datetime

from bot.core.inbound import InboundEvent
from bot.core.model import Phase
from bot.core.reading.context import Context, EditedOrder
from bot.core.reading.intent import ACTIONS, Intent, Kind
from bot.service import context
from bot.service.desk import Desk
from bot.service.questions import which_asked

_CARDS = ("/gate/", "/cancel/", "/remind/")
_NOTES = ("answer/", "/set/", "/passed/", "/hold/", "/watch/", "/disarmed/", "/picture/")  # they ask nothing
_PLAIN = ACTIONS | {Kind.HOLD}
_REFUSED = ("not_authorized", "already_advanced")  # orders all the same


def thread_of(desk: Desk, event: InboundEvent) -> str | None:
    """The run in whose thread it happened."""
    return desk.store.run_at(event.channel, event.thread_ts or event.ts) or None


def moment_of(desk: Desk, event: InboundEvent, thread_run: str | None, allowed: bool | None = None) -> Context:
    """Raises CommandError when the chat does not tell whether the speaker may give orders (unless `allowed` says)."""
    runs = [run for run in desk.store.all_runs() if run.phase is not Phase.CANCELLED or run.id == thread_run]
    here = next((run for run in runs if run.id == thread_run), None)
    pipeline = desk.pipelines.get(here.pipeline) if here else None
    around = [run for run in runs if event.channel_type == "im" or run.channel == event.channel]
    return context.build(
        event,
        runs=around,
        pipelines=desk.pipelines,
        hosts=desk.host_names(),
        thread_run=thread_run,
        bot_user=desk.bot_user,
        allowed=desk.role_of(event.user, pipeline) != "viewer" if allowed is None else allowed,
        card_is_last=_card_is_last(desk, event, thread_run),
        quiet=here is not None and here.gate is not None and _quiet(desk, event, here.id, here.gate.opened_at),
        edited=_edited(desk, event, thread_run) if event.kind == "edit" else None,
        which=which_asked(desk, event, around) if thread_run is None and event.kind == "message" else None,
        now=desk.clock.now(),
    )


def note_spoken(desk: Desk, event: InboundEvent, run_id: str, intents: tuple[Intent, ...]) -> None:
    """Remember who wrote last in this thread, and whether it was said to the bot or to others.

    A plain order asks nobody for an answer; a question might, whomever it was meant for.
    """
    if all(intent.kind in _PLAIN or intent.why in _REFUSED for intent in intents):
        return
    talk = all(intent.kind is Kind.IGNORE for intent in intents)
    spoken = _spoken(desk, run_id)
    mine = spoken.get(event.user, ["0", "0"])
    mine[1 if talk else 0] = event.ts
    desk.store.set_cursor(f"spoken/{run_id}", json.dumps(spoken | {event.user: mine}))


def _spoken(desk: Desk, run_id: str) -> dict[str, list[str]]:
    """By person: the ts of what was said to the bot last, and of what was said to others."""
    stored = desk.store.cursor(f"spoken/{run_id}")
    found: dict[str, list[str]] = json.loads(stored) if stored else {}
    return found


def _card_is_last(desk: Desk, event: InboundEvent, run_id: str | None) -> bool:
    """Whether since the last card that asks something nobody has talked, but this speaker with the bot."""
    if run_id is None:
        return False
    posts = [p for p in desk.store.thread_posts(run_id) if float(p.ts) < float(event.ts)]
    shown = [p for p in posts if not any(mark in p.key for mark in _NOTES)]
    if not shown or not any(mark in shown[-1].key for mark in _CARDS):
        return False
    return _nobody_else(desk, event, run_id, float(shown[-1].ts))


def _quiet(desk: Desk, event: InboundEvent, run_id: str, since: datetime) -> bool:
    return _nobody_else(desk, event, run_id, since.timestamp())


def _nobody_else(desk: Desk, event: InboundEvent, run_id: str, since: float) -> bool:
    """Whether since then nobody has talked, but this speaker with the bot."""
    return not any(
        float(to_others) > since or (who != event.user and float(to_bot) > since)
        for who, (to_bot, to_others) in _spoken(desk, run_id).items()
    )


def _edited(desk: Desk, event: InboundEvent, run_id: str | None) -> EditedOrder:
    """What was made of the message before this edit, however often it has been edited."""
    found = [order for order in desk.store.orders(run_id) if order.get("ts") == event.ts]
    acted = next((order for order in found if str(order.get("outcome", "")).startswith("done")), None)
    order = acted or (found[-1] if found else None)
    if order is None:
        return EditedOrder(text=event.previous_text)
    kinds = [str(i.get("kind")) for i in order.get("intents", [])]
    return EditedOrder(text=str(order["text"]), acted=acted is not None, kind=kinds[0] if kinds else None)
