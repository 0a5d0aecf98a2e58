"""Asking hosts: one round trip a host for all its attempts."""

import itertools
import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from bot.core import events
from bot.core.attempt import Attempt, AttemptState
from bot.core.effects import Launch
from bot.core.errors import WrongState
from bot.core.model import Run
from bot.errors import HostError, StoreUnavailable
from bot.service.crew import Crew
from bot.service.desk import Desk, Keyed
from runner.protocol.errors import ProtocolError
from runner.protocol.view import ABSENT, UNREACHABLE, UNREADABLE, AttemptView, HostFacts, PollAsk

log = logging.getLogger(__name__)
SOON_S = 0.5  # while somebody waits for evidence, or for a start to be seen


class Polls:
    """Keeps what is believed of attempts in step with their hosts."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._busy = Keyed()
        self._due: dict[str, float] = {}
        self._crew = Crew("poll", max(8, len(desk.hosts) + 2))
        self._count = itertools.count(1)
        self._told: dict[str, int] = {}  # by attempt: the newest look that told of it
        self._telling = threading.Lock()
        self.facts: dict[str, HostFacts] = {}

    def close(self, timeout_s: float) -> bool:
        return self._crew.close(timeout_s)

    def tick(self) -> None:
        """Start a poll for every host that is due. Never waits: a hung host delays nobody."""
        now_s = self._desk.clock.monotonic_s()
        for name, attempts in self._wanted().items():
            if now_s < self._due.get(name, 0.0) or not self._busy.take(name):
                continue
            poll_s = self._desk.host_config(name).poll_s
            soon = any(a.purpose != "work" or a.state is AttemptState.LAUNCHING for a in attempts)
            self._due[name] = now_s + (min(poll_s, SOON_S) if soon else poll_s)
            self._crew.submit(self._poll_and_give, name, attempts)

    def hurry(self, name: str) -> None:
        """Poll this host at the next tick."""
        self._due.pop(name, None)

    def refresh(self, run: Run) -> None:
        """Ask now, and wait for the answer: an order is about to be judged by it."""
        by_host: dict[str, list[Attempt]] = defaultdict(list)
        for attempt in run.live:
            if attempt.state is not AttemptState.LAUNCHING:
                by_host[attempt.host].append(attempt)
        for name, attempts in by_host.items():
            self._poll(name, attempts)

    def _wanted(self) -> dict[str, list[Attempt]]:
        by_host: dict[str, list[Attempt]] = defaultdict(list)
        for run in self._desk.store.all_runs(live_only=True):
            for attempt in run.live:
                if attempt.host in self._desk.hosts:
                    by_host[attempt.host].append(attempt)
        return by_host

    def _poll_and_give(self, name: str, attempts: Sequence[Attempt]) -> None:
        try:
            self._poll(name, attempts)
        except StoreUnavailable:
            raise
        except Exception:
            log.exception("polling %s", name)
        finally:
            self._busy.give(name)

    def _poll(self, name: str, attempts: Sequence[Attempt]) -> None:
        runs = {attempt.id: attempt.id.rsplit(f"-{attempt.stage}-", 1)[0] for attempt in attempts}
        asks = [PollAsk(a.id, a.token, a.log_offset, 16384) for a in attempts]
        launching, look = self._launching(), next(self._count)
        try:
            answer = self._desk.hosts[name].poll(asks)
        except (HostError, ProtocolError) as error:
            why = error.message if isinstance(error, HostError) else str(error)
            self._each(look, attempts, runs, lambda a: events.Unreachable(at=self._now(), attempt=a.id, why=why))
            return
        self.facts[name] = answer.facts
        views = {view.attempt: view for view in answer.attempts}
        # What was never seen when we asked, or is launched again, may have been launched since: absent says nothing.
        known = {a.id for a in attempts if a.seen_at is not None and a.id not in launching}
        seen = [a for a in attempts if a.id in views and (views[a.id].state != ABSENT or a.id in known)]
        undo_s = self._desk.config.undo_s
        busy = {gpu.index: gpu.utilisation for gpu in answer.facts.gpus if gpu.utilisation is not None}
        silent = [a for a in seen if views[a.id].state == UNREACHABLE]
        seen = [a for a in seen if a not in silent]
        self._each(look, silent, runs, lambda a: events.Unreachable(at=self._now(), attempt=a.id, why=views[a.id].why))
        self._each(
            look,
            seen,
            runs,
            lambda a: events.Seen(
                at=self._now(), view=views[a.id], undo_s=undo_s, gpu_percent=busy, root=answer.facts.root
            ),
        )

    def _launching(self) -> set[str]:
        """Attempts whose launch has not been answered yet."""
        pending = (stored.effect for stored in self._desk.store.pending_effects())
        return {effect.attempt for effect in pending if isinstance(effect, Launch)}

    def _each(
        self, look: int, attempts: Iterable[Attempt], runs: dict[str, str], event: Callable[[Attempt], events.Event]
    ) -> None:
        """Tell the runs, unless a later look has told of it: an answer may be overtaken by that to an order's."""
        for attempt in attempts:
            try:
                with self._telling:
                    if self._told.get(attempt.id, 0) > look:
                        continue
                    self._told[attempt.id] = look
                    self._desk.apply(runs[attempt.id], event(attempt))
            except (WrongState, KeyError, self._desk.store.conflict) as error:
                log.warning("%s: %s", attempt.id, error)
            except StoreUnavailable:
                raise
            except Exception as error:  # what one attempt tells must not hide the others on its host
                log.exception("what %s tells cannot be taken over", attempt.id)
                self._unreadable(attempt, runs[attempt.id], f"its records cannot be read: {type(error).__name__}")

    def _unreadable(self, attempt: Attempt, run_id: str, why: str) -> None:
        view = AttemptView(attempt.id, UNREADABLE, why=why)
        try:
            self._desk.apply(run_id, events.Seen(at=self._now(), view=view, undo_s=self._desk.config.undo_s))
        except StoreUnavailable:
            raise
        except Exception:
            log.exception("%s cannot be marked as unknown", attempt.id)

    def _now(self) -> datetime:
        return self._desk.clock.now()
