"""What was said while nobody listened: in channels, and to the bot alone."""

import logging

from bot.adapters.slack.call import Caller
from bot.adapters.slack.catchup import catch_up, catch_up_direct
from bot.adapters.slack.identity import OPTIONAL_SCOPES, identify
from bot.adapters.store import Store
from bot.core.inbound import InboundEvent
from bot.errors import ChatUnavailable

log = logging.getLogger("bot")


class Missed:
    """Reads it from the chat. Every method raises ChatUnavailable; then nothing counts as caught up."""

    def __init__(self, call: Caller, store: Store, channel: str) -> None:
        self._call, self._store, self._channel = call, store, channel

    def in_channels(self, since: str) -> list[InboundEvent]:
        """The bot's channel since the cursor, and every open thread, wherever it is."""
        heads = [self._store.post(f"{run.id}/status") for run in self._store.all_runs(live_only=True)]
        threads: dict[str, dict[str, str]] = {self._channel: {}}
        for head in heads:
            if head is not None:
                threads.setdefault(head.channel, {})[head.ts] = since
        identity, events = identify(self._call), list[InboundEvent]()
        for channel, open_threads in threads.items():
            try:
                events += catch_up(self._call, identity, channel, since, open_threads)
            except ChatUnavailable as error:
                refused = bool(error.code) and error.retry_after_s is None
                if not refused or channel == self._channel:
                    raise
                log.warning("%s is not caught up: %s", channel, error)  # a run's channel that we were put out of
        return events

    def directly(self, since: str) -> list[InboundEvent]:
        """Every direct message, about a run or not. Nothing where the app may not list them."""
        try:
            return catch_up_direct(self._call, identify(self._call), since)
        except ChatUnavailable as error:
            if error.code != "missing_scope":
                raise
            log.warning("%s; without it the bot cannot %s", error, OPTIONAL_SCOPES["im:read"])
            return []
