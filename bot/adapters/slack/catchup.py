"""What was said while the bot was away. Clicks and reactions are never told again: open gates are drawn anew."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from slack_sdk.web import SlackResponse

from bot.adapters.slack.call import Caller
from bot.adapters.slack.history import Message, read_channel, read_direct, read_thread
from bot.adapters.slack.identity import Identity
from bot.adapters.slack.payloads import read_edit, read_message
from bot.core.inbound import InboundEvent
from bot.errors import ChatUnavailable

log = logging.getLogger("bot.slack")
OVERLAP_S: Final = 900.0  # events handled out of order, and edits of what was heard last
DIRECT_BACK_S: Final = 7 * 86_400.0  # how old a thread in a direct message may be in which somebody goes on
MAX_WAIT_S: Final = 60.0
MAX_WAITS: Final = 30


def catch_up(
    call: Caller,
    identity: Identity,
    channel: str,
    since: str,
    threads: Mapping[str, str],
    wait: Callable[[float], None] = time.sleep,
    back_s: float = 0.0,
) -> list[InboundEvent]:
    """Messages and edits since `since` (a ts) and in `threads` (parent ts: newest ts handled), oldest first.

    Threads that are up to `back_s` older are looked into where something was said since.

    The bot's own are left out; all are marked as history. Some were handled before: their claim keys tell.
    An edit comes after its message, which already shows the edited text. Takes as long as Slack's rate
    limits ask (`wait` is called): run it in a thread of its own. Raises ChatUnavailable; then nothing was
    caught up and the cursor must stay where it is.
    """
    read, begin = _Patient(call, wait), float(_before(since))
    roots = {str(m["ts"]): m for m in read_channel(read, channel, _before(since, back_s))}
    found = {ts: m for ts, m in roots.items() if float(ts) >= begin}
    parents = {ts: ts for ts in found if roots[ts].get("reply_count")} | dict(threads)
    parents |= {ts: since for ts, m in roots.items() if ts not in found and _goes_on(m, begin)}
    for parent, newest in parents.items():
        found |= {str(m["ts"]): m for m in read_thread(read, channel, parent, _before(newest))}
    events = [event for message in found.values() for event in _read(identity, channel, message)]
    return sorted(events, key=lambda event: (event.at, event.kind != "message"))


def catch_up_direct(
    call: Caller, identity: Identity, since: str, wait: Callable[[float], None] = time.sleep
) -> list[InboundEvent]:
    """The same in every direct message with a person, also those that were begun meanwhile. Raises as `catch_up`."""
    events: list[InboundEvent] = []
    for other in read_direct(_Patient(call, wait)):
        try:
            events += catch_up(call, identity, str(other["id"]), since, {}, wait, DIRECT_BACK_S)
        except ChatUnavailable as trouble:
            if not trouble.code or trouble.retry_after_s is not None or trouble.whole:
                raise
            log.warning("%s is not caught up: %s", other["id"], trouble)  # one that is closed by now, say
    return events


def _goes_on(root: Message, begin: float) -> bool:
    """Whether something was said in its thread since."""
    return bool(root.get("reply_count")) and float(root.get("latest_reply") or "inf") >= begin


def _read(identity: Identity, channel: str, message: Message) -> list[InboundEvent]:
    if identity.is_own(str(message.get("user") or ""), str(message.get("bot_id") or "")):
        return []
    kind = "im" if channel.startswith("D") else "channel"
    heard = read_message(identity.team, channel, kind, message, message)
    edited = read_edit(identity.team, channel, kind, message, message)
    return [event.as_history() for event in (heard, edited) if event]


def _before(ts: str, back_s: float = 0.0) -> str:
    seconds, _, fraction = ts.partition(".")
    return f"{max(int(seconds) - int(OVERLAP_S + back_s), 0)}.{fraction or '0'}"


class _Patient:
    """Reads that wait when Slack says so."""

    def __init__(self, call: Caller, wait: Callable[[float], None]) -> None:
        self._call = call
        self._wait = wait

    def __call__(self, method: str, **where: object) -> SlackResponse:
        for _ in range(MAX_WAITS):
            try:
                return self._call.read(method, **where)
            except ChatUnavailable as trouble:
                if trouble.retry_after_s is None or trouble.retry_after_s > MAX_WAIT_S:
                    raise
                self._wait(trouble.retry_after_s)
        return self._call.read(method, **where)
