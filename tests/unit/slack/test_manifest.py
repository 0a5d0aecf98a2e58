"""The app manifest asks for what the code needs and listens to, no more."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.adapters.slack.identity import NEEDED_SCOPES, OPTIONAL_SCOPES
from bot.adapters.slack.listeners import HEARD


@pytest.fixture(scope="module")
def manifest() -> Any:
    return yaml.safe_load((Path(__file__).parents[3] / "ops/slack/manifest.yaml").read_text())


def test_scopes_are_those_that_the_check_knows(manifest: Any) -> None:
    assert manifest["oauth_config"]["scopes"]["bot"] == sorted({**NEEDED_SCOPES, **OPTIONAL_SCOPES})


def test_events_are_those_that_are_listened_to(manifest: Any) -> None:
    events = manifest["settings"]["event_subscriptions"]["bot_events"]
    assert {event.partition(".")[0] for event in events} == set(HEARD)


def test_every_kind_of_message_has_its_history_scope(manifest: Any) -> None:
    scopes = manifest["oauth_config"]["scopes"]["bot"]
    for event in manifest["settings"]["event_subscriptions"]["bot_events"]:
        if event.startswith("message."):
            assert f"{event.removeprefix('message.')}:history" in scopes


def test_socket_mode_and_buttons_are_on(manifest: Any) -> None:
    settings = manifest["settings"]
    assert settings["socket_mode_enabled"] and settings["interactivity"]["is_enabled"]
    assert not settings["token_rotation_enabled"]
