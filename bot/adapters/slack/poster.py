"""What the bot says: posts once a key, edits, whispers, reactions, pictures."""

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import PurePath
from typing import Any, Final

from slack_sdk.web import SlackResponse

from bot.adapters.slack.blocks import render
from bot.adapters.slack.call import Caller
from bot.adapters.slack.history import Message, find_message
from bot.adapters.slack.upload import send_bytes
from bot.core.cards import Card
from bot.core.mrkdwn import clean, clip
from bot.errors import ChatUnavailable

log = logging.getLogger("bot.slack")
EVENT_TYPE: Final = "pointsman_post"
REMEMBERED: Final = 2_000
_BLOCKS_REFUSED: Final = ("invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "only_one_table_allowed")
_REACTION_SETTLED: Final = (
    "already_reacted",
    "no_reaction",
    "message_not_found",
    "too_many_emoji",
    "too_many_reactions",
)


class SlackPoster:
    """The Poster port over Slack's Web API, for any number of threads.

    Everything raises ChatUnavailable and may be repeated: a key's second post finds the first by its metadata.
    """

    def __init__(self, call: Caller) -> None:
        self._call = call
        self._lock = threading.Lock()
        self._posted: OrderedDict[str, str] = OrderedDict()
        self._busy: set[str] = set()
        self._direct: dict[str, str] = {}

    def post(
        self, key: str, channel: str, thread_ts: str | None, card: Card, broadcast: bool = False, *, first: bool = False
    ) -> str:
        """`first`: the caller knows that the key was never tried, not even before a crash; saves a look-up."""
        where = self._channel(channel)

        def is_ours(message: Message) -> bool:
            metadata = message.get("metadata") or {}
            return metadata.get("event_type") == EVENT_TYPE and metadata.get("event_payload", {}).get("key") == key

        def send() -> None:
            answer = self._say(
                "chat.postMessage",
                card,
                channel=where,
                thread_ts=thread_ts,
                reply_broadcast=True if broadcast and thread_ts else None,
                metadata={"event_type": EVENT_TYPE, "event_payload": {"key": key}},
                unfurl_links=False,
                unfurl_media=False,
            )
            self._remember(key, str(answer["ts"]))

        return self._once(key, where, thread_ts, is_ours, send, first)

    def edit(self, channel: str, ts: str, card: Card) -> None:
        """ChatUnavailable.code is `message_not_found` when somebody deleted it: post anew."""
        self._say("chat.update", card, channel=self._channel(channel), ts=ts)

    def whisper(self, channel: str, thread_ts: str | None, user: str, card: Card) -> None:
        self._say("chat.postEphemeral", card, channel=self._channel(channel), thread_ts=thread_ts, user=user)

    def react(self, channel: str, ts: str, name: str, on: bool = True) -> None:
        method = "reactions.add" if on else "reactions.remove"
        try:
            self._call.write(method, channel=self._channel(channel), timestamp=ts, name=name.strip(":"))
        except ChatUnavailable as trouble:
            if trouble.code not in _REACTION_SETTLED:
                raise

    def upload(self, key: str, channel: str, thread_ts: str | None, name: str, body: bytes, title: str) -> str:
        """Files carry no metadata: the key's digest in the file's name tells whether it was shown already."""
        where, path = self._channel(channel), PurePath(clean(name))
        filename = f"{path.stem[:80]}-{sha256(key.encode()).hexdigest()[:12]}{path.suffix[:10]}"

        def is_ours(message: Message) -> bool:
            return any(file.get("name") == filename for file in message.get("files") or [])

        def send() -> None:
            slot = self._call.read("files.getUploadURLExternal", filename=filename, length=len(body))
            send_bytes(self._call.client, str(slot["upload_url"]), body)
            files = json.dumps([{"id": slot["file_id"], "title": clip(clean(title), 200)}])
            self._call.read("files.completeUploadExternal", files=files, channel_id=where, thread_ts=thread_ts)
            # Slack shares the file a little later and never says under which ts
            self._remember(key, find_message(self._call, where, thread_ts, is_ours) or "")

        return self._once(key, where, thread_ts, is_ours, send, first=False)

    def _once(
        self,
        key: str,
        channel: str,
        thread_ts: str | None,
        is_ours: Callable[[Message], bool],
        send: Callable[[], None],
        first: bool,
    ) -> str:
        """Sends unless it was sent; when the outcome is not known, looks before it gives up."""
        with self._alone(key):
            if key in self._posted:
                return self._posted[key]
            found = None if first else find_message(self._call, channel, thread_ts, is_ours)
            if found is None:
                try:
                    send()
                except ChatUnavailable as trouble:
                    found = None if trouble.code else find_message(self._call, channel, thread_ts, is_ours)
                    if found is None:
                        raise
            if found is not None:
                self._remember(key, found)
            return self._posted[key]

    @contextmanager
    def _alone(self, key: str) -> Iterator[None]:
        with self._lock:
            if key in self._busy:
                raise ChatUnavailable(f"{key} is being posted", retry_after_s=1.0, code="busy")
            self._busy.add(key)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(key)

    def _remember(self, key: str, ts: str) -> None:
        with self._lock:
            self._posted[key] = ts
            while len(self._posted) > REMEMBERED:
                self._posted.popitem(last=False)

    def _say(self, method: str, card: Card, **where: Any) -> SlackResponse:
        """Refused blocks are sent once more as plain sections, and at last as text alone."""
        drawn = render(card)
        for blocks in (drawn.blocks, drawn.fallback_blocks):
            try:
                return self._call.write(method, text=drawn.text, blocks=blocks, **where)
            except ChatUnavailable as trouble:
                if trouble.code not in _BLOCKS_REFUSED:
                    raise
                log.warning("blocks refused, drawn plainer: %s (%s)", trouble, trouble.__cause__)
        return self._call.write(method, text=drawn.text, blocks=[], **where)

    def _channel(self, channel: str) -> str:
        """A person's id stands for the direct message with him, which has an id of its own."""
        if not channel.startswith(("U", "W")):
            return channel
        if channel not in self._direct:
            self._direct[channel] = str(self._call.write("conversations.open", users=channel)["channel"]["id"])
        return self._direct[channel]
