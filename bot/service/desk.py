"""What every part of the service works with."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Protocol

from bot.config import Config, HostConfig, Roles
from bot.core import events
from bot.core.effects import Effect
from bot.core.machine import step
from bot.core.model import Run
from bot.core.orders import Order
from bot.core.pipeline import Pipeline
from bot.core.summary import words
from bot.errors import ChatUnavailable, CommandError
from bot.ports import Clock, Host, Poster, RunStore
from bot.service.chat import secret_values
from bot.service.code import CodeArchive

_TRIES = 8


class Members(Protocol):
    """Who belongs to a user group."""

    def __call__(self, group: str) -> frozenset[str]: ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        return monotonic()


@dataclass(kw_only=True)
class Desk:
    """Ports and settings, gathered once by `python -m bot up`."""

    config: Config
    pipelines: Mapping[str, Pipeline]
    store: RunStore
    hosts: Mapping[str, Host]
    poster: Poster
    clock: Clock
    code: CodeArchive
    members: Members
    bot_user: str = ""
    kick: Callable[[], None] = field(default=lambda: None)  # tells the engine that there is something to do

    def pipeline(self, run: Run) -> Pipeline:
        """Raises KeyError for a run whose pipeline is no longer configured."""
        return self.pipelines[run.pipeline]

    def host_config(self, name: str) -> HostConfig:
        return self.config.hosts[name]

    def host_names(self) -> Sequence[str]:
        return tuple(self.config.hosts)

    def secrets(self, host: str, names: Sequence[str]) -> dict[str, str]:
        """Values of the named secrets, from the bot's own environment; missing ones are left out."""
        return {name: os.environ[name] for name in names if name in os.environ}

    def known_secrets(self) -> list[str]:
        """Every value that must never be posted."""
        return list(secret_values(self.config, self.pipelines.values()))

    def roles(self, pipeline: Pipeline | None) -> Roles:
        """Who operates this pipeline's runs: its own people, where it names any."""
        if pipeline is None or not (pipeline.operators or pipeline.admins):
            return self.config.roles
        return Roles(operators=list(pipeline.operators), admins=list(pipeline.admins))

    def role_of(self, user: str, pipeline: Pipeline | None = None) -> str:
        """admin, operator or viewer. Without configured operators everybody in the channel operates.

        Raises CommandError when it hangs on a user group and the chat cannot tell who is in it.
        """
        roles = self.roles(pipeline)
        if self.is_in(user, roles.admins):
            return "admin"
        if not roles.operators or self.is_in(user, roles.operators):
            return "operator"
        return "viewer"

    def is_in(self, user: str, names: Sequence[str]) -> bool:
        """Whether a person is named, or in a user group that is. Raises CommandError as `role_of`."""
        if user in names:
            return True
        try:
            return any(user in self.members(name) for name in names if name.startswith("S"))
        except ChatUnavailable as error:
            raise CommandError(
                f"The chat did not tell who is in {' or '.join(words.person(n) for n in names if n.startswith('S'))}, "
                "so that I cannot know whether you may do that.",
                "Nothing was changed; say it again in a moment.",
            ) from error

    def apply(
        self,
        run_id: str,
        event: events.Event,
        *,
        order: Callable[[Run], Order] | None = None,
        more: Callable[[Run], Sequence[Effect]] = lambda after: (),
        begin: int | None = None,
    ) -> Run:
        """Step a run and store what comes of it, in one transaction.

        `order` makes the audit entry from the run as it was, `more` further effects from what it became.
        Raises WrongState, KeyError, `store.duplicate`.
        """
        for left in reversed(range(_TRIES)):
            run = self.store.run(run_id)
            after, effects = step(run, event, self.pipeline(run))
            try:
                entry = order(run) if order else None
                self.store.save(after, run.version, (*effects, *more(after)), event.at, order=entry, begin=begin)
            except self.store.conflict:
                if not left:
                    raise
                continue
            self.kick()
            return after
        raise AssertionError("unreachable")


class Keyed:
    """One at a time for each key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy: set[str] = set()

    def take(self, key: str) -> bool:
        with self._lock:
            if key in self._busy:
                return False
            self._busy.add(key)
            return True

    def give(self, key: str) -> None:
        with self._lock:
            self._busy.discard(key)
