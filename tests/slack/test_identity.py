"""Who the bot is, what it lacks, and who is in which group."""

import pytest

from bot.adapters.slack.call import Caller
from bot.adapters.slack.directory import GROUP_FRESH_S, GROUP_USABLE_S, Directory
from bot.adapters.slack.identity import NEEDED_SCOPES, check_channel, identify, missing_scopes
from bot.adapters.slack.web import open_client
from bot.errors import ChatUnavailable
from bot.workspace import BOT_TOKEN, GROUP, OPERATOR, RANDOM, RUNS, SECOND_OPERATOR, ControlClient


def test_all_scopes_are_there(call: Caller) -> None:
    identity = identify(call)
    assert (identity.team, identity.bot_user) == ("T0LOCAL", "U0BOT")
    assert identity.is_own("U0BOT", "") and identity.is_own("", identity.bot_id) and not identity.is_own("U0ADA", "")
    assert missing_scopes(identity) == []


def test_a_missing_scope_is_named_with_its_remedy(call: Caller, control: ControlClient) -> None:
    control.send("settings", scopes=[scope for scope in NEEDED_SCOPES if scope != "files:write"])
    missing = missing_scopes(identify(call))
    assert [m.scope for m in missing] == ["files:write"]
    assert "manifest.yaml" in missing[0].remedy and "show plots" in missing[0].remedy


def test_a_channel_without_the_bot_is_told(call: Caller) -> None:
    assert check_channel(call, RUNS) == "#ml-runs"
    with pytest.raises(ChatUnavailable, match="/invite"):
        check_channel(call, RANDOM)
    with pytest.raises(ChatUnavailable, match="no such channel"):
        check_channel(call, "C0NONE")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def directory(control: ControlClient, clock: Clock) -> Directory:
    return Directory(Caller(open_client(BOT_TOKEN, control.api_url), clock), clock)


def test_group_members_are_remembered_for_a_while(directory: Directory, control: ControlClient, clock: Clock) -> None:
    assert directory.members(GROUP) == {OPERATOR, SECOND_OPERATOR}
    control.send("group", id=GROUP, handle="ml-ops", members=[OPERATOR])
    assert directory.members(GROUP) == {OPERATOR, SECOND_OPERATOR}
    clock.now += GROUP_FRESH_S
    assert directory.members(GROUP) == {OPERATOR}
    assert control.counters()["calls"]["usergroups.users.list"] == 2


def test_rights_outlive_an_outage_of_slack_but_not_for_long(
    directory: Directory, control: ControlClient, clock: Clock
) -> None:
    assert OPERATOR in directory.members(GROUP)
    control.fault("http_500", "usergroups.users.list", times=-1)
    clock.now += GROUP_USABLE_S - 1
    assert OPERATOR in directory.members(GROUP)
    clock.now += 2
    with pytest.raises(ChatUnavailable):
        directory.members(GROUP)


def test_no_such_group_has_no_members(directory: Directory) -> None:
    assert directory.members("S0NONE") == frozenset()


def test_a_person(directory: Directory, control: ControlClient) -> None:
    person = directory.person(OPERATOR)
    assert (person.name, person.tz, person.is_bot) == ("ada", "Europe/Berlin", False)
    control.fault("http_500", "users.info", times=-1)
    assert directory.person(OPERATOR) == person
    with pytest.raises(ChatUnavailable):
        directory.person(SECOND_OPERATOR)
