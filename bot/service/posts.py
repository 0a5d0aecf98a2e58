"""Effects in the chat: posts at least once with a key that reconciles, in order, never blocking a launch."""

import logging
from datetime import timedelta

from bot.core.cards import Card
from bot.core.effects import Edit, Effect, Post, React, Upload, Whisper
from bot.core.stored import Posted, StoredEffect
from bot.errors import ChatUnavailable, HostError
from bot.service.chat import digest, mask_card
from bot.service.desk import Desk

log = logging.getLogger(__name__)
_PATIENCE_S = (1, 2, 5, 10, 30, 60)
_PICTURE_MAX = 8 << 20


class Posts:
    """Carries out what is to be said. One thread calls it."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._not_before_s = 0.0

    def take(self, due: list[StoredEffect]) -> None:
        """Carry out what is due, oldest first; stop at the first that the chat does not take."""
        if self._desk.clock.monotonic_s() < self._not_before_s:
            return
        for stored in due:
            try:
                result = self._carry(stored)
            except ChatUnavailable as error:
                if error.code and not error.fatal and error.retry_after_s is None:  # refused: others may still pass
                    self._give_up_later(stored, error)
                    continue
                self._delay(stored, error)
                return
            except Exception as error:
                log.exception("effect %s", stored.effect.key)
                self._give_up_later(stored, error)
                continue
            if result is not None:
                self._desk.store.finish_effect(stored.id, self._desk.clock.now(), result)

    def _delay(self, stored: StoredEffect, error: ChatUnavailable) -> None:
        wait_s = error.retry_after_s or _PATIENCE_S[min(stored.tries, len(_PATIENCE_S) - 1)]
        log.warning("chat: %s; again in %g s", error, wait_s)
        self._not_before_s = self._desk.clock.monotonic_s() + wait_s
        self._desk.store.delay_effect(stored.id, self._desk.clock.now() + timedelta(seconds=wait_s), str(error))

    def _give_up_later(self, stored: StoredEffect, error: Exception) -> None:
        """A message that cannot be drawn must not stop all the others."""
        now = self._desk.clock.now()
        if stored.tries >= len(_PATIENCE_S):
            self._desk.store.finish_effect(stored.id, now, f"given up: {error!r}")
        else:
            until = now + timedelta(seconds=_PATIENCE_S[stored.tries])
            self._desk.store.delay_effect(stored.id, until, repr(error))

    def _carry(self, stored: StoredEffect) -> str | None:
        """The result to be recorded, None to leave it pending."""
        effect, poster = stored.effect, self._desk.poster
        if isinstance(effect, Post):
            return self._post(stored, effect)
        if isinstance(effect, Edit):
            return self._edit(effect)
        if isinstance(effect, Whisper):
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
        card = self._shown(effect.card)
        ts = desk.poster.post(effect.key, channel, thread_ts, card, broadcast=effect.broadcast)
        at = desk.clock.now().isoformat()
        desk.store.add_post(
            Posted(
                key=effect.key, run=stored.run, channel=channel, ts=ts, thread_ts=thread_ts, at=at, digest=digest(card)
            )
        )
        return ts

    def _thread(self, run_id: str, effect: Post) -> tuple[str, str | None]:
        channel = self._desk.store.run(run_id).channel
        if effect.parent:
            return channel, None
        head = self._desk.store.post(f"{run_id}/status")
        if head is None:
            raise ChatUnavailable(f"{run_id} has no thread yet")
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
            raise ChatUnavailable(f"{stored.run} has no thread yet")
        try:
            body = self._desk.hosts[effect.host].fetch(effect.path, _PICTURE_MAX)
        except (HostError, OSError, KeyError) as error:
            return f"picture not shown: {error}"
        name = effect.path.rsplit("/", 1)[-1]
        return self._desk.poster.upload(effect.key, head.channel, head.ts, name, body, effect.title)


def for_chat(effect: Effect) -> bool:
    """Whether the chat carries it out, not a host."""
    return isinstance(effect, Post | Edit | Whisper | React | Upload)
