"""What was said while the bot was away. Clicks and reactions are never told again: open gates are drawn anew."""

import time
from collections.abc import Callable, Mapping
from typing import Final

from slack_sdk.web import SlackResponse

from bot.adapters.slack.call import Caller
from bot.adapters.slack.history import Message, read_channel, read_thread
from bot.adapters.slack.identity import Identity
from bot.adapters.slack.payloads import read_edit, read_message
from bot.core.inbound import InboundEvent
from bot.errors import ChatUnavailable

OVERLAP_S: Final = 900.0  # events handled out of order, and edits of what was heard last
MAX_WAIT_S: Final = 60.0
MAX_WAITS: Final = 30


def catch_up(
    call: Caller,
    identity: Identity,
    channel: str,
    since: str,
    threads: Mapping[str, str],
    wait: Callable[[float], None] = time.sleep,
) -> list[InboundEvent]:
    """Messages and edits since `since` (a ts) and in `threads` (parent ts: newest ts handled), oldest first.

    The bot's own are left out; all are marked as history. Some were handled before: their claim keys tell.
    An edit comes after its message, which already shows the edited text. Takes as long as Slack's rate
    limits ask (`wait` is called): run it in a thread of its own. Raises ChatUnavailable; then nothing was
    caught up and the cursor must stay where it is.
    """
    read = _Patient(call, wait)
    roots = {str(m["ts"]): m for m in read_channel(read, channel, _before(since))}
    parents = {ts: ts for ts, m in roots.items() if m.get("reply_count")} | dict(threads)
    found = dict(roots)
    for parent, newest in parents.items():
        found |= {str(m["ts"]): m for m in read_thread(read, channel, parent, _before(newest))}
    events = [event for message in found.values() for event in _read(identity, channel, message)]
    return sorted(events, key=lambda event: (event.at, event.kind != "message"))


def _read(identity: Identity, channel: str, message: Message) -> list[InboundEvent]:
    if identity.is_own(str(message.get("user") or ""), str(message.get("bot_id") or "")):
        return []
    kind = "im" if channel.startswith("D") else "channel"
    heard = read_message(identity.team, channel, kind, message, message)
    edited = read_edit(identity.team, channel, kind, message, message)
    return [event.as_history() for event in (heard, edited) if event]


def _before(ts: str) -> str:
    seconds, _, fraction = ts.partition(".")
    return f"{max(int(seconds) - int(OVERLAP_S), 0)}.{fraction or '0'}"


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
