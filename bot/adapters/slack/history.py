"""Reading back what was said in a channel and in a thread, page by page."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from slack_sdk.web import SlackResponse

from bot.adapters.slack.call import Caller
from bot.errors import ChatUnavailable

Message = Mapping[str, Any]
Read = Callable[..., SlackResponse]  # Caller.read, or something that waits when told to
PAGE = 200
REPLIES_PAGE = 900  # replies come oldest first: the newest are on the last page


def read_channel(read: Read, channel: str, oldest: str = "0", pages: int = 1_000) -> Iterator[Message]:
    """Newest first; replies in threads are not among them. Raises ChatUnavailable."""
    where: dict[str, Any] = {"channel": channel, "oldest": oldest, "limit": PAGE, "include_all_metadata": True}
    yield from _pages(read, "conversations.history", pages, **where)


def read_thread(read: Read, channel: str, thread_ts: str, oldest: str = "0", pages: int = 1_000) -> Iterator[Message]:
    """Replies, oldest first, without the parent; none if the thread is gone. Raises ChatUnavailable."""
    where: dict[str, Any] = {"channel": channel, "ts": thread_ts, "oldest": oldest, "limit": REPLIES_PAGE}
    where["include_all_metadata"] = True
    try:
        for message in _pages(read, "conversations.replies", pages, **where):
            if message["ts"] != thread_ts:
                yield message
    except ChatUnavailable as trouble:
        if trouble.code != "thread_not_found":
            raise


def read_direct(read: Read) -> Iterator[Mapping[str, Any]]:
    """The direct messages that the bot is in: id, user. Raises ChatUnavailable."""
    for conversation in _pages(read, "conversations.list", 1_000, "channels", types="im", limit=PAGE):
        if not conversation.get("is_user_deleted"):
            yield conversation


def find_message(call: Caller, channel: str, thread_ts: str | None, fits: Callable[[Message], bool]) -> str | None:
    """The ts of a message that `fits`, among the last 1,000 of the channel or all of the thread."""
    if thread_ts:
        messages = read_thread(call.read, channel, thread_ts, pages=20)
    else:
        messages = read_channel(call.read, channel, pages=5)
    return next((str(message["ts"]) for message in messages if fits(message)), None)


def _pages(read: Read, method: str, pages: int, what: str = "messages", **where: Any) -> Iterator[Message]:
    cursor = None
    for _ in range(pages):
        page = read(method, cursor=cursor, **where)
        yield from page[what]
        cursor = (page.get("response_metadata") or {}).get("next_cursor")
        if not cursor:
            return
