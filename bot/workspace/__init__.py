"""An embedded Slack-compatible workspace on loopback: Web API, Socket Mode and a page.

`python -m bot.workspace --port 4010 --state var/workspace.db` serves it; tests use `running_workspace()`.
It refuses what Slack refuses, in Slack's error strings; `control` documents the control plane.
"""

from bot.workspace.client import ControlClient
from bot.workspace.embedded import running_workspace
from bot.workspace.refusal import Refusal
from bot.workspace.roster import (
    APP_TOKEN,
    BOT_TOKEN,
    BOT_USER,
    DIRECT,
    EVALS,
    GROUP,
    OPERATOR,
    RANDOM,
    RUNS,
    SECOND_OPERATOR,
    VIEWER,
)

__all__ = [
    "APP_TOKEN",
    "BOT_TOKEN",
    "BOT_USER",
    "DIRECT",
    "EVALS",
    "GROUP",
    "OPERATOR",
    "RANDOM",
    "RUNS",
    "SECOND_OPERATOR",
    "VIEWER",
    "ControlClient",
    "Refusal",
    "running_workspace",
]
