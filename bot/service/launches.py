"""Effects on hosts: launches at most once (by token), kills."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from bot.core import events
from bot.core.effects import Adopt, Kill, Launch
from bot.core.errors import WrongState
from bot.core.model import Attempt, Phase, Run
from bot.core.stored import StoredEffect
from bot.errors import ConfigError, HostError, HostKeyChanged, HostUnreachable, LaunchFailed
from bot.ports import Host
from bot.service import environments
from bot.service.crew import Crew
from bot.service.desk import Desk, Keyed
from bot.service.specs import attempt_spec
from runner.protocol.errors import ProtocolError
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import ABSENT, CANCELLED, UNREACHABLE, AttemptView

log = logging.getLogger(__name__)
_PATIENCE_S = (1, 2, 5, 10, 30, 60)


class Launches:
    """Carries out Launch and Kill, one host after the other, each in its own thread."""

    def __init__(self, desk: Desk, seen: Callable[[str], None]) -> None:
        self._desk = desk
        self._seen = seen
        self._busy = Keyed()
        self._crew = Crew("launch", max(8, 2 * len(desk.hosts) + 2))

    def close(self, timeout_s: float) -> bool:
        return self._crew.close(timeout_s)

    def take(self, stored: StoredEffect) -> None:
        """Carry it out in the background, unless this attempt is being launched or killed right now."""
        if self._busy.take(_attempt_of(stored)):
            self._crew.submit(self._carry_and_give, stored)

    def _carry_and_give(self, stored: StoredEffect) -> None:
        try:
            self._carry(stored)
        except Exception:
            log.exception("effect %s", stored.effect.key)
            self._later(stored, "internal error, see the log")
        finally:
            self._busy.give(_attempt_of(stored))

    def _carry(self, stored: StoredEffect) -> None:
        effect = stored.effect
        run = self._desk.store.run(stored.run)
        if isinstance(effect, Launch):
            self._launch(stored, effect, run)
        elif isinstance(effect, Adopt):
            self._adopt(stored, effect, run)
        elif isinstance(effect, Kill):
            self._kill(stored, effect, run)

    def _launch(self, stored: StoredEffect, effect: Launch, run: Run) -> None:
        """Begin in one transaction with the run, so that no order can take back what has begun."""
        desk = self._desk
        if not stored.begun:
            try:
                run = desk.apply(
                    run.id, events.LaunchBegan(at=desk.clock.now(), attempt=effect.attempt), begin=stored.id
                )
            except desk.store.conflict:
                return  # taken back, or begun elsewhere
        attempt = run.attempt(effect.attempt)
        if attempt.state.over or run.phase is Phase.CANCELLING:  # the kill that waits behind it ends what there may be
            desk.store.finish_effect(stored.id, desk.clock.now(), f"not needed: {attempt.state.value}")
            return
        self._start(stored, run, attempt, lambda: self._launch_on_host(run, attempt))

    def _adopt(self, stored: StoredEffect, effect: Adopt, run: Run) -> None:
        """Nothing is started: a repeat finds the process watched already."""
        attempt = run.attempt(effect.attempt)
        if attempt.state.over or run.phase is Phase.CANCELLING:
            self._desk.store.finish_effect(stored.id, self._desk.clock.now(), f"not needed: {attempt.state.value}")
            return
        argv, token = [attempt.adopted], attempt.token
        spec = AttemptSpec(attempt=attempt.id, run=run.id, stage=attempt.stage, token=token, argv=argv, out=attempt.out)
        self._start(stored, run, attempt, lambda: self._host(attempt).adopt(spec, effect.process))

    def _launch_on_host(self, run: Run, attempt: Attempt) -> AttemptView:
        desk = self._desk
        host, settings = self._host(attempt), desk.host_config(attempt.host)
        python = environments.interpreter(settings, desk.config.path)
        needs = environments.needs(attempt.host, settings, desk.config.path)
        spec = attempt_spec(run, attempt, desk.pipeline(run), settings, python, desk.code.digest, needs)
        host.ship(desk.code.body, desk.code.digest)
        return host.launch(spec, desk.secrets(attempt.host, spec.secrets))

    def _start(self, stored: StoredEffect, run: Run, attempt: Attempt, call: Callable[[], AttemptView]) -> None:
        """Do it, and tell the run what the host said; again later when it said nothing."""
        desk = self._desk
        try:
            view = call()
        except (HostUnreachable, HostKeyChanged, ProtocolError) as error:
            why = error.message if isinstance(error, HostError) else str(error)
            self._tell(run.id, events.Unreachable(at=desk.clock.now(), attempt=attempt.id, why=why))
            self._later(stored, str(error))
            return
        except (LaunchFailed, ConfigError) as error:
            why = error.message if isinstance(error, HostError) else str(error)
            self._tell(run.id, events.LaunchRefused(at=desk.clock.now(), attempt=attempt.id, why=why))
            desk.store.finish_effect(stored.id, desk.clock.now(), why)
            return
        now = desk.clock.now()
        desk.store.finish_effect(stored.id, now, f"pid {view.pid}")
        if view.state == UNREACHABLE:
            self._tell(run.id, events.Unreachable(at=now, attempt=attempt.id, why=view.why))
        else:
            self._tell(run.id, events.Seen(at=now, view=view, undo_s=desk.config.undo_s))
        self._seen(attempt.host)

    def _kill(self, stored: StoredEffect, effect: Kill, run: Run) -> None:
        desk = self._desk
        attempt = run.attempt(effect.attempt)
        try:
            view = self._host(attempt).kill(attempt.id, attempt.token, effect.grace_s)
        except (HostError, ProtocolError, ConfigError) as error:
            self._later(stored, str(error))
            return
        if view.state == ABSENT:  # nothing launches it any more either: the run is being cancelled
            view = replace(view, state=CANCELLED, why="it was never started")
        if view.survivors:
            log.warning("%s: still alive: %s", attempt.id, view.survivors)
        desk.store.finish_effect(stored.id, desk.clock.now(), view.state)
        self._tell(run.id, events.Seen(at=desk.clock.now(), view=view))

    def _host(self, attempt: Attempt) -> Host:
        """Raises ConfigError for one that is no longer configured."""
        try:
            return self._desk.hosts[attempt.host]
        except KeyError:
            raise ConfigError(f"host {attempt.host} is not configured any more") from None

    def _tell(self, run_id: str, event: events.Event) -> None:
        try:
            self._desk.apply(run_id, event)
        except WrongState as error:
            log.info("%s: %s", run_id, error)

    def _later(self, stored: StoredEffect, why: str) -> None:
        wait_s = _PATIENCE_S[min(stored.tries, len(_PATIENCE_S) - 1)]
        self._desk.store.delay_effect(stored.id, self._desk.clock.now() + timedelta(seconds=wait_s), why)


def _attempt_of(stored: StoredEffect) -> str:
    effect = stored.effect
    return effect.attempt if isinstance(effect, Launch | Adopt | Kill) else effect.key
