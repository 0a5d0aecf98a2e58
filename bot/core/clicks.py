"""What a button's value holds: run, gate and state version, so that an old click is known as old."""

import json
from dataclasses import dataclass

from bot.core.cards import Button, Style


@dataclass(frozen=True, kw_only=True)
class Click:
    """`version` is the run's gate or question version when the button was drawn."""

    run: str
    action: str
    version: int
    argument: str = ""


def button(click: Click, label: str, style: Style = "", confirm: str = "") -> Button:
    """A button that carries `click`."""
    value = json.dumps([click.run, click.version, click.argument], separators=(",", ":"))
    return Button(action=click.action, label=label, value=value, style=style, confirm=confirm)


def parse_click(action: str, value: str) -> Click | None:
    """None for values that no button of ours ever had."""
    try:
        run, version, argument = json.loads(value)
    except (ValueError, TypeError):
        return None
    if not isinstance(run, str) or not isinstance(version, int) or not isinstance(argument, str):
        return None
    return Click(run=run, action=action, version=version, argument=argument)
