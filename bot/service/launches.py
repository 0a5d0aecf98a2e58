"""Effects on hosts: launches at most once (by token), kills."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from bot.core import events
from bot.core.attempt import Attempt
from bot.core.effects import Adopt, Kill, Launch
from bot.core.errors import WrongState
from bot.core.machine.orders import GRACE_S
from bot.core.model import Phase, Run
from bot.core.stored import StoredEffect
from bot.errors import ConfigError, HostError, HostKeyChanged, HostUnreachable, LaunchFailed, StoreUnavailable
from bot.ports import Host
from bot.service import environments
from bot.service.crew import Crew
from bot.service.desk import Desk, Keyed
from bot.service.specs import attempt_spec
from runner.protocol.errors import ProtocolError
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import ABSENT, CANCELLED, QUEUED, UNREACHABLE, UNREADABLE, AttemptView, PollAsk

log = logging.getLogger(__name__)
_PATIENCE_S = (1, 2, 5, 10, 30, 60)
_UNDECIDED = ("busy", "failed")  # refusals after which something may still be, or come to be, under way
_UNSETTLED = (QUEUED, UNREADABLE, UNREACHABLE)  # being launched, or not to be told: the launch is repeated


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
            if self._is_due(stored):
                self._carry(stored)
        except StoreUnavailable:
            raise
        except Exception:
            log.exception("effect %s", stored.effect.key)
            self._later(stored, "internal error, see the log")
        finally:
            self._busy.give(_attempt_of(stored))

    def _is_due(self, stored: StoredEffect) -> bool:
        """It may have been carried out, or put off, between the look at what is due and now that it is ours."""
        return any(due.id == stored.id for due in self._desk.store.due_effects(self._desk.clock.now()))

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
        if attempt.has_started:  # by an earlier try, whose answer was lost: the polls have it
            desk.store.finish_effect(stored.id, desk.clock.now(), "seen already")
            return
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
            self._silent(stored, run, attempt, _why(error))
            return
        except (LaunchFailed, ConfigError) as error:
            self._refused(stored, run, attempt, error)
            return
        desk.store.finish_effect(stored.id, desk.clock.now(), f"pid {view.pid}")
        self._shown(run, attempt, view)

    def _refused(self, stored: StoredEffect, run: Run, attempt: Attempt, error: LaunchFailed | ConfigError) -> None:
        """Tell of it once it is certain that nothing was started nor will be: an earlier try may still be at it.

        What is there is only watched. What is not is marked on the host, so that a try that comes late starts nothing.
        """
        desk, why = self._desk, _why(error)
        kind = error.kind if isinstance(error, LaunchFailed) else ""
        if kind != "conflict" and (stored.begun or kind in _UNDECIDED):
            try:
                view = self._host(attempt).poll([PollAsk(attempt.id, attempt.token)]).attempts[0]
                if view.state == ABSENT and kind == "busy":
                    self._later(stored, why)
                    return
                if view.state == ABSENT and isinstance(stored.effect, Launch):
                    view = self._host(attempt).kill(attempt.id, attempt.token, GRACE_S)
            except (HostError, ProtocolError, ConfigError) as silence:
                told = f"{why}; whether an earlier try started it cannot be told: {_why(silence)}"
                self._silent(stored, run, attempt, told)
                return
            if not _is_nothing(view):
                if view.state in _UNSETTLED:
                    self._later(stored, why)
                else:
                    desk.store.finish_effect(
                        stored.id, desk.clock.now(), f"{view.state}, though a repeat was refused: {why}"
                    )
                self._shown(run, attempt, view)
                return
        self._tell(run.id, events.LaunchRefused(at=desk.clock.now(), attempt=attempt.id, why=why))
        desk.store.finish_effect(stored.id, desk.clock.now(), why)

    def _silent(self, stored: StoredEffect, run: Run, attempt: Attempt, why: str) -> None:
        self._tell(run.id, events.Unreachable(at=self._desk.clock.now(), attempt=attempt.id, why=why))
        self._later(stored, why)

    def _shown(self, run: Run, attempt: Attempt, view: AttemptView) -> None:
        """What the host tells of it goes to the run, and the polls know that there is something to watch."""
        now = self._desk.clock.now()
        if view.state == UNREACHABLE:
            self._tell(run.id, events.Unreachable(at=now, attempt=attempt.id, why=view.why))
        else:
            self._tell(run.id, events.Seen(at=now, view=view, undo_s=self._desk.config.undo_s))
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


def _is_nothing(view: AttemptView) -> bool:
    """Whether the host knows of no process, and marked what it has so that none comes."""
    return view.state == ABSENT or (view.state == CANCELLED and view.pid is None and view.started_at is None)


def _why(error: HostError | ProtocolError | ConfigError) -> str:
    return error.message if isinstance(error, HostError) else str(error)


def _attempt_of(stored: StoredEffect) -> str:
    effect = stored.effect
    return effect.attempt if isinstance(effect, Launch | Adopt | Kill) else effect.key
