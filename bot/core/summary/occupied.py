"""What a run takes up on its hosts, and what of it may go."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.core.cards import Buttons, Card, Part, Text, escape
from bot.core.clicks import Click, button
from bot.core.model import Run
from bot.core.pipeline import Pipeline
from bot.core.summary import words

_SHOWN = 12


@dataclass(frozen=True, kw_only=True)
class Found:
    """One host: its folders as it told them, or why it told nothing."""

    host: str
    entries: tuple[dict[str, Any], ...] = ()
    error: str = ""

    @property
    def free(self) -> tuple[dict[str, Any], ...]:
        """What nobody else uses."""
        return tuple(entry for entry in self.entries if not entry["kept"])

    @property
    def kept(self) -> tuple[dict[str, Any], ...]:
        """What stays, each with its reason."""
        return tuple(entry for entry in self.entries if entry["kept"])


def occupied_card(run: Run, pipeline: Pipeline, found: Sequence[Found], offered: bool) -> Card:
    """Folder by folder, the largest first; with the way to delete them where that may be ordered now."""
    lines = [f"*What {run.id} takes up*"]
    for each in found:
        lines += _host(each)
    taken_on = [a for stage in run.stages for a in stage.attempts if a.adopted and a.purpose == "work"]
    lines += [f"• adopted, not ours to delete: `{escape(a.host)}:{escape(a.out)}`" for a in taken_on]
    free = [entry for each in found for entry in each.free]
    silent = [each.host for each in found if each.error]
    if not free and not silent:
        lines.append("There is nothing of it that could be deleted.")
    parts: list[Part] = []
    if free:
        lines.append(_ending(run, free, silent, offered))
        if offered and not silent:
            parts.append(Buttons(buttons=(_button(run, free),)))
    lines.append("_Nothing was deleted._")
    text = "\n".join(lines)
    return Card(fallback=lines[0], parts=(Text(text=text), *parts))


def _host(found: Found) -> list[str]:
    if found.error:
        return [f"• *{escape(found.host)}* gives no answer, so that nothing is known: {escape(found.error)[:300]}"]
    lines = []
    entries = sorted(found.entries, key=lambda entry: -int(entry["bytes"]))
    for entry in entries[:_SHOWN]:
        files = f"{words.count(int(entry['files']))} files"
        kept = f" · stays: {escape(str(entry['kept']))}" if entry["kept"] else ""
        lines.append(f"• {_size([entry])} in `{escape(found.host)}:{escape(str(entry['path']))}`, {files}{kept}")
    if len(entries) > _SHOWN:
        lines.append(f"• {_size(entries[_SHOWN:])} in {len(entries) - _SHOWN} more folders there")
    return lines


def _size(entries: Sequence[dict[str, Any]]) -> str:
    least = "" if all(entry["whole"] for entry in entries) else "at least "
    return least + words.size(sum(int(entry["bytes"]) for entry in entries))


def _ending(run: Run, free: Sequence[dict[str, Any]], silent: Sequence[str], offered: bool) -> str:
    head = f"*{_size(free)}* could be deleted"
    if silent:
        return f"{head} once {escape(', '.join(silent))} answers."
    if not offered:
        return f"{head} by an operator, once {run.id} is over."
    return f"{head}, for good: reply `confirm cleanup`, or"


def _button(run: Run, free: Sequence[dict[str, Any]]) -> Any:
    click = Click(run=run.id, action="cleanup", version=run.version, argument=run.moment)
    sure = f"Delete {_size(free)} that {run.id} made? That cannot be taken back."
    return button(click, f"Delete {_size(free)}"[:75], "danger", sure)
