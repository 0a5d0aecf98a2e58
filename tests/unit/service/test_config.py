"""Settings that would have the bot do something all the time, or never."""

import math

import pytest
from pydantic import ValidationError

from bot.config import HostConfig


@pytest.mark.parametrize("poll_s", [0.0, 1e-9, 0.01, math.inf, math.nan])
def test_a_host_cannot_be_asked_without_a_pause_nor_never(poll_s: float) -> None:
    with pytest.raises(ValidationError, match="poll_s"):
        HostConfig(kind="local", poll_s=poll_s)


def test_it_can_be_asked_often_or_seldom() -> None:
    assert [HostConfig(kind="local", poll_s=poll_s).poll_s for poll_s in (0.05, 3600)] == [0.05, 3600]
