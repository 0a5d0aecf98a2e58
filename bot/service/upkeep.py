"""What is there already, taken on; and what a run left behind, shown and deleted."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from bot.core import events
from bot.core.attempt import AttemptState
from bot.core.cards import Card, escape, say
from bot.core.effects import REFUSED
from bot.core.model import Phase, Run
from bot.core.pipeline import Pipeline
from bot.core.reading.intent import Intent
from bot.core.summary import words
from bot.core.summary.occupied import Found, occupied_card
from bot.errors import CommandError, HostError, LaunchFailed
from bot.ports import Host
from bot.service.acting import Acting
from bot.service.context import QUESTION_LIVES_S
from bot.service.desk import Desk
from bot.service.outcome import Outcome
from bot.service.roles import may, who_may
from runner.protocol.errors import ProtocolError

_OVER = (Phase.DONE, Phase.CANCELLED, Phase.FAILED, Phase.BLOCKED)
_PLACE = re.compile(r"(?:\{root\}|\{home\}|[/~])[^\s={}]*")


class Upkeep:
    """Asks hosts at once, as a person waits for the answer. What cannot be reached changes nothing."""

    def __init__(self, desk: Desk, acting: Acting) -> None:
        self._desk, self._acting = desk, acting

    def adopt(self, intent: Intent, run: Run, out: Outcome) -> None:
        """Raises CommandError when there is no such thing to adopt."""
        name, more = str(intent.more["host"]), intent.more
        found = self._inspect(name, str(more.get("path", "")), int(more.get("pid", 0)))
        process = found if more.get("pid") else None
        where = str(found["path"] if process is None else more.get("out") or found["out"] or "")
        if not where:
            raise CommandError(
                f"pid {more['pid']} on {escape(name)} does not say where it writes.",
                f"Say the folder too: `adopt {escape(name)} pid {more['pid']} as {intent.stage} in /path`.",
            )
        order = events.Adopt(
            at=self._desk.clock.now(),
            by=out.event.user,
            stage=str(intent.stage),
            host=name,
            out=where,
            about=_about(found),
            process=process,
        )
        self._acting.carry_out(order, run, out)

    def _inspect(self, name: str, path: str, pid: int) -> dict[str, Any]:
        try:
            return self._host(name).inspect(path=path, pid=pid)
        except LaunchFailed as error:
            raise CommandError(f"{escape(name)}: {escape(error.message)}.", "Nothing was changed.") from error
        except (HostError, ProtocolError) as error:
            raise CommandError(
                f"{escape(name)} gives no answer: {escape(str(error))}", "Nothing was changed."
            ) from error

    def _host(self, name: str) -> Host:
        if name not in self._desk.hosts:
            known = ", ".join(self._desk.host_names())
            raise CommandError(f"No host is called {escape(name)}.", f"Configured: {known}. Nothing was changed.")
        return self._desk.hosts[name]

    # what a run left behind

    def show(self, run: Run, user: str) -> Card:
        """What the run takes up; whoever may delete it gets the button."""
        found = self._measure(run)
        offered = self._may(run, user) and run.phase in _OVER
        if offered:
            self._desk.store.set_cursor(_shown(run, user), self._desk.clock.now().isoformat())
        return occupied_card(run, self._desk.pipeline(run), found, offered)

    def delete(self, run: Run, out: Outcome) -> bool:
        """After the confirmation: all of it that nobody else uses, on all its hosts or on none. Raises CommandError."""
        desk, user = self._desk, out.event.user
        if not self._may(run, user):
            out.text, out.mark = "refused: cleanup not allowed", REFUSED
            out.whispers.append(say(f"Only {who_may(desk, run)} may do that here. Nothing was deleted."))
            return False
        self._check(run, user)
        found = self._measure(run)
        if silent := [each for each in found if each.error]:
            told = "; ".join(f"{escape(each.host)}: {escape(each.error)}" for each in silent)
            raise CommandError(f"Not every host of {run.id} answers. {told}", "Nothing was deleted.")
        for each in found:
            if each.free:
                self._remove(each.host, [str(entry["path"]) for entry in each.free], run)
        num_bytes = sum(int(entry["bytes"]) for each in found for entry in each.free)
        hosts = tuple(each.host for each in found if each.free)
        left = tuple(f"{each.host}:{entry['path']}, {entry['kept']}" for each in found for entry in each.kept)
        order = events.Cleaned(at=desk.clock.now(), by=user, bytes=num_bytes, hosts=hosts, left=left)
        gone = [f"{each.host}:{entry['path']}" for each in found for entry in each.free]
        said = f"done: deleted {words.size(num_bytes)}: {', '.join(gone) or 'nothing was there'}"
        desk.apply(run.id, order, order=lambda before: out.entry(before, said))
        desk.store.set_cursor(_shown(run, user), "")
        out.text = said
        out.carried += 1
        return True

    def _check(self, run: Run, user: str) -> None:
        """Raises CommandError unless this person was just shown what goes, and nothing of it is at work."""
        if run.phase not in _OVER or run.live:
            raise CommandError(f"{run.id} is {run.phase.value}: what it made is still needed.", "Nothing was deleted.")
        stored = self._desk.store.cursor(_shown(run, user))
        age_s = (self._desk.clock.now() - datetime.fromisoformat(stored)).total_seconds() if stored else float("inf")
        if age_s > QUESTION_LIVES_S:
            raise CommandError("Say `cleanup` first, and look at what would go.", "Nothing was deleted.")

    def _may(self, run: Run, user: str) -> bool:
        return may(self._desk, events.Cleaned(at=self._desk.clock.now(), by=user, bytes=0, hosts=()), run)

    def _measure(self, run: Run) -> list[Found]:
        """Each host that has something of this run, with what there is or why it is not known."""
        found = []
        for name in sorted({attempt.host for attempt in _begun(run)}):
            try:
                entries = self._host(name).usage(_paths(run, name), self._others(run))
                found.append(Found(host=name, entries=tuple(entries)))
            except (HostError, ProtocolError, CommandError) as error:
                found.append(Found(host=name, error=error.message if isinstance(error, CommandError) else str(error)))
        return found

    def _remove(self, name: str, paths: list[str], run: Run) -> None:
        try:
            self._host(name).remove(paths, self._others(run))
        except (HostError, ProtocolError) as error:
            raise CommandError(
                f"{escape(name)} did not delete it: {escape(str(error))}", "Say `cleanup` to see what there is."
            ) from error

    def _others(self, run: Run) -> dict[str, str]:
        """What other runs made or took in, and what the pipelines' own files name."""
        found = {
            attempt.out: f"{other.id} {attempt.stage}"
            for other in self._desk.store.all_runs()
            if other.id != run.id
            for attempt in _begun(other)
        }
        for pipeline in self._desk.pipelines.values():
            for text in _texts(pipeline):
                found |= {place: f"pipeline {pipeline.name}" for place in _PLACE.findall(text) if "/runs/" in place}
        return found


def _begun(run: Run) -> list[Any]:
    left_out = (AttemptState.WITHDRAWN, AttemptState.REFUSED)
    return [a for stage in run.stages for a in stage.attempts if a.state not in left_out]


def _paths(run: Run, host: str) -> list[str]:
    stages = [f"{{root}}/runs/{run.id}/{stage.id}" for stage in run.stages]
    return stages + [f"{{root}}/attempts/{attempt.id}" for attempt in _begun(run) if attempt.host == host]


def _texts(pipeline: Pipeline) -> Iterable[str]:
    yield from pipeline.vars.values()
    for stage in pipeline.stages:
        yield from (*stage.command, *(stage.verify or ()), *stage.args.values(), *stage.verify_args.values())


def _about(found: dict[str, Any]) -> str:
    if "pid" in found:
        return f"pid {found['pid']} of {found['user']}, {str(found['command'])[:120]}"
    more = "" if found.get("whole", True) else "at least "
    return f"a folder of {more}{words.size(found['bytes'])}, {words.count(found['files'])} files"


def _shown(run: Run, user: str) -> str:
    return f"cleanup/{run.id}/{user}"
