"""Effects in the chat: posts at least once with a key that reconciles, in order, never blocking a launch."""

import logging
from dataclasses import replace
from datetime import timedelta
from typing import NoReturn

from bot.core.cards import Card, Small
from bot.core.effects import Edit, Effect, Post, React, Upload, Whisper
from bot.core.stored import Posted, StoredEffect
from bot.errors import ChatUnavailable, HostError, StoreUnavailable
from bot.service.chat import digest, mask_card
from bot.service.desk import Desk

log = logging.getLogger(__name__)
_PATIENCE_S = (1, 2, 5, 10, 30, 60)
_PICTURE_MAX = 8 << 20


class Posts:
    """Carries out what is to be said, in order within a run. One thread calls it.

    What fails holds up its own run's line alone, for as long as its patience lasts. Only when every other call
    would fail alike (no connection, a dead token) everything waits.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._not_before_s = 0.0
        self._cuts = 0  # calls in a row that told that nothing works
        self._unanswered: set[int] = set()  # effects that may have happened when they were tried last

    def take(self) -> None:
        """Carry out what is due."""
        if self._desk.clock.monotonic_s() < self._not_before_s:
            return
        now = self._desk.clock.now()
        pending = [stored for stored in self._desk.store.pending_effects() if for_chat(stored.effect)]
        newest = {stored.effect.post: stored.id for stored in pending if isinstance(stored.effect, Edit)}
        self._unanswered &= {stored.id for stored in pending}
        waiting: set[str] = set()
        for stored in _untroubled_first(pending):
            line = in_line(stored)
            if line in waiting:
                continue
            if isinstance(stored.effect, Edit) and newest[stored.effect.post] != stored.id:
                self._desk.store.finish_effect(stored.id, now, "a newer edit follows")
                continue
            due = stored.not_before <= now
            try:
                done = due and self._try(stored)
            except _CutOff:
                return
            if not done and line and self._holds(stored, tried=due):
                waiting.add(line)

    def _holds(self, stored: StoredEffect, tried: bool) -> bool:
        """Whether what stands behind it in its line has to wait.

        Out of patience, a refusal is passed by. What had no answer is passed by only when it was just tried
        again: so nothing overtakes it when the chat comes back, and nothing waits for ever for what never works.
        """
        if isinstance(stored.effect, Edit):  # it has to follow its post, nothing has to follow it
            return False
        if stored.tries < len(_PATIENCE_S):
            return True
        return not tried and stored.id in self._unanswered

    def _try(self, stored: StoredEffect) -> bool:
        """Whether it is over. Raises _CutOff when nothing else needs to be tried now."""
        desk = self._desk
        try:
            result = self._carry(stored)
        except ChatUnavailable as error:
            if error.whole:
                self._cut_off(error)
            if error.retry_after_s is not None:  # it was not tried at all
                desk.store.delay_effect(stored.id, desk.clock.now() + timedelta(seconds=error.retry_after_s))
                return False
            self._later(stored, str(error), answered=bool(error.code))
            return False
        except StoreUnavailable:
            raise
        except desk.store.conflict:  # begun or done elsewhere: what became of it is read anew
            desk.store.delay_effect(stored.id, desk.clock.now() + timedelta(seconds=_PATIENCE_S[0]))
            return False
        except Exception as error:
            log.exception("effect %s", stored.effect.key)
            self._later(stored, repr(error), answered=True)
            return False
        self._cuts = 0
        desk.store.finish_effect(stored.id, desk.clock.now(), result)
        return True

    def _cut_off(self, error: ChatUnavailable) -> NoReturn:
        wait_s = _PATIENCE_S[min(self._cuts, len(_PATIENCE_S) - 1)]
        self._cuts += 1
        log.warning("chat: %s; again in %g s", error, wait_s)
        self._not_before_s = self._desk.clock.monotonic_s() + wait_s
        raise _CutOff

    def _later(self, stored: StoredEffect, why: str, answered: bool) -> None:
        """Again after a while. Posts are never dropped; what only decorates them is, once it was refused often."""
        now = self._desk.clock.now()
        if answered:
            self._unanswered.discard(stored.id)
            if stored.tries >= len(_PATIENCE_S) and not isinstance(stored.effect, Post):
                self._desk.store.finish_effect(stored.id, now, f"given up: {why}")
                return
        else:
            self._unanswered.add(stored.id)
        wait_s = _PATIENCE_S[min(stored.tries, len(_PATIENCE_S) - 1)]
        log.warning("%s: %s; again in %g s", stored.effect.key, why, wait_s)
        self._desk.store.delay_effect(stored.id, now + timedelta(seconds=wait_s), why)

    def _carry(self, stored: StoredEffect) -> str:
        """The result to be recorded. Raises ChatUnavailable."""
        effect, poster = stored.effect, self._desk.poster
        if isinstance(effect, Post):
            return self._post(stored, effect)
        if isinstance(effect, Edit):
            return self._edit(effect)
        if isinstance(effect, Whisper):
            if not effect.channel:
                return "shown in the terminal"
            poster.whisper(effect.channel, effect.thread_ts or None, effect.user, self._shown(effect.card))
            return "whispered"
        if isinstance(effect, React):
            if effect.instead_of:
                poster.react(effect.channel, effect.ts, effect.instead_of, on=False)
            poster.react(effect.channel, effect.ts, effect.name)
            return effect.name
        if isinstance(effect, Upload):
            return self._upload(stored, effect)
        raise TypeError(f"no chat effect: {type(effect).__name__}")

    def _shown(self, card: Card) -> Card:
        return mask_card(card, self._desk.known_secrets())

    def _post(self, stored: StoredEffect, effect: Post) -> str:
        desk = self._desk
        if effect.channel:
            channel, thread_ts = effect.channel, effect.thread_ts or None
        else:
            channel, thread_ts = self._thread(stored.run, effect)
        card = self._shown(self._sealed(effect.card) if effect.sealed else effect.card)
        first = not stored.begun
        if first:
            desk.store.begin_effect(stored.id, desk.clock.now())
        ts = desk.poster.post(effect.key, channel, thread_ts, card, effect.broadcast, first=first)
        at = desk.clock.now().isoformat()
        desk.store.add_post(
            Posted(
                key=effect.key, run=stored.run, channel=channel, ts=ts, thread_ts=thread_ts, at=at, digest=digest(card)
            )
        )
        return ts

    def _sealed(self, card: Card) -> Card:
        count, head = self._desk.store.audit_head()
        return replace(card, parts=(*card.parts, Small(text=f"audit log: {count} orders, head `{head[:12]}`")))

    def _thread(self, run_id: str, effect: Post) -> tuple[str, str | None]:
        channel = self._desk.store.run(run_id).channel
        if effect.parent:
            return channel, None
        head = self._desk.store.post(f"{run_id}/status")
        if head is None:
            raise ChatUnavailable(f"{run_id} has no thread yet", code="no_thread")
        return head.channel, head.ts

    def _edit(self, effect: Edit) -> str:
        posted = self._desk.store.post(effect.post)
        if posted is None:
            return "nothing was posted under that key"
        card = self._shown(effect.card)
        if posted.digest != digest(card):
            self._desk.poster.edit(posted.channel, posted.ts, card)
            self._desk.store.redrawn(effect.post, digest(card))
        return posted.ts

    def _upload(self, stored: StoredEffect, effect: Upload) -> str:
        head = self._desk.store.post(f"{stored.run}/status")
        if head is None:
            raise ChatUnavailable(f"{stored.run} has no thread yet", code="no_thread")
        try:
            body = self._desk.hosts[effect.host].fetch(effect.path, _PICTURE_MAX)
        except (HostError, OSError, KeyError) as error:
            return f"picture not shown: {error}"
        name = effect.path.rsplit("/", 1)[-1]
        return self._desk.poster.upload(effect.key, head.channel, head.ts, name, body, effect.title)


class _CutOff(Exception):
    """Nothing works: the rest is left for later."""


def _untroubled_first(pending: list[StoredEffect]) -> list[StoredEffect]:
    """Lines in which nothing failed yet come first, each in its order: a call that hangs takes its time."""
    troubled = {_line_or_itself(stored) for stored in pending if stored.tries}
    return sorted(pending, key=lambda stored: _line_or_itself(stored) in troubled)


def _line_or_itself(stored: StoredEffect) -> str:
    return in_line(stored) or stored.effect.key


def in_line(stored: StoredEffect) -> str:
    """What this effect keeps the order of: its run's thread, or the marks on one message. "" for none."""
    effect = stored.effect
    if isinstance(effect, React):
        return f"{effect.channel}/{effect.ts}"
    return stored.run if isinstance(effect, Post | Edit) else ""


def for_chat(effect: Effect) -> bool:
    """Whether the chat carries it out, not a host."""
    return isinstance(effect, Post | Edit | Whisper | React | Upload)
