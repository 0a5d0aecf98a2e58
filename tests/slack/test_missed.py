"""What each of the two catch-ups covers, and that neither hangs on the other."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.adapters.slack.call import Caller
from bot.adapters.store import Store, open_store
from bot.cli.missed import Missed
from bot.errors import ChatUnavailable
from bot.workspace import DIRECT, RUNS, ControlClient
from bot.workspace.roster import SCOPES


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Store]:
    made = open_store(f"sqlite:///{tmp_path}/bot.db")
    yield made
    made.close()


@pytest.fixture
def missed(call: Caller, runs: Store) -> Missed:
    return Missed(call, runs, RUNS)


def test_channels_and_direct_messages_are_read_apart(missed: Missed, control: ControlClient) -> None:
    cursor = control.post("in the channel")["ts"]
    control.post("directly", channel=DIRECT)
    assert [e.text for e in missed.in_channels(cursor)] == ["in the channel"]
    assert [e.text for e in missed.directly(cursor)] == ["directly"]
    control.fault("http_500", "conversations.list", times=-1)
    with pytest.raises(ChatUnavailable):
        missed.directly(cursor)
    assert [e.text for e in missed.in_channels(cursor)] == ["in the channel"]


def test_without_the_scope_direct_messages_are_left_and_it_is_said(
    missed: Missed, control: ControlClient, caplog: pytest.LogCaptureFixture
) -> None:
    cursor = control.post("directly", channel=DIRECT)["ts"]
    control.send("settings", scopes=[scope for scope in SCOPES if scope != "im:read"])
    assert missed.directly(cursor) == []
    assert "missing_scope (im:read)" in caplog.text and "cannot find direct messages" in caplog.text
