"""Status cards follow their runs."""

from pathlib import Path

from bot.core.stored import Posted
from bot.service.redraw import Redraw
from tests.scenario.box import Box
from tests.scenario.chat import Chat
from tests.scenario.desk import desk_of


def test_a_card_that_is_posted_late_is_brought_up_to_date(tmp_path: Path) -> None:
    """The chat was away while the run went on: the post that waited shows the plan."""
    desk = desk_of({"box1": Box()}, tmp_path)
    redraw, chat = Redraw(desk), desk.poster
    assert isinstance(chat, Chat)
    redraw.take()
    at = desk.clock.now().isoformat()
    desk.store.add_post(
        Posted(key="r0/status", run="r0", channel="C1", ts="1.0", thread_ts=None, at=at, digest="as it was planned")
    )
    redraw.take()
    assert [ts for ts, _ in chat.edits] == ["1.0"]
    redraw.take()
    assert len(chat.edits) == 1, "and once is enough"
    desk.store.close()  # type: ignore[attr-defined]
