"""A chat that remembers."""

import itertools
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from bot.core.cards import Card
from bot.errors import ChatUnavailable


@dataclass
class Said:
    """One message of the bot's."""

    key: str
    ts: str
    channel: str
    thread_ts: str | None
    card: Card
    broadcast: bool = False


class Chat:
    """A Poster that keeps what it was told; `refuse` says which calls fail, and how."""

    def __init__(self) -> None:
        self.said: list[Said] = []
        self.whispers: list[tuple[str, Card]] = []
        self.marks: dict[str, list[str]] = {}
        self.marked: list[tuple[str, str]] = []  # every mark that was ever set: ts and name
        self.edits: list[tuple[str, Card]] = []
        self.refuse: Callable[[str], ChatUnavailable | None] = lambda _: None
        self.hang: threading.Event | None = None
        self._count = itertools.count(1)

    def _call(self, what: str) -> None:
        if self.hang is not None:
            self.hang.wait(20)
        if error := self.refuse(what):
            raise error

    def post(
        self, key: str, channel: str, thread_ts: str | None, card: Card, broadcast: bool = False, *, first: bool = False
    ) -> str:
        self._call(f"post {key}")
        for said in self.said:
            if said.key == key:
                assert not first, f"{key} was posted before"
                return said.ts
        ts = f"{time.time():.6f}"[:-3] + f"{next(self._count) % 1000:03d}"
        self.said.append(Said(key, ts, channel, thread_ts, card, broadcast))
        return ts

    def edit(self, channel: str, ts: str, card: Card) -> None:
        self._call(f"edit {ts}")
        self.edits.append((ts, card))
        for said in self.said:
            if said.ts == ts:
                said.card = card

    def whisper(self, channel: str, thread_ts: str | None, user: str, card: Card) -> None:
        self._call(f"whisper {user}")
        self.whispers.append((user, card))

    def react(self, channel: str, ts: str, name: str, on: bool = True) -> None:
        self._call(f"{'react' if on else 'unreact'} {name}")
        marks = self.marks.setdefault(ts, [])
        if on and name not in marks:
            marks.append(name)
            self.marked.append((ts, name))
        if not on and name in marks:
            marks.remove(name)

    def upload(self, key: str, channel: str, thread_ts: str | None, name: str, body: bytes, title: str) -> str:
        return ""


def text(card: Card) -> str:
    """Every text of a card, for looking into."""
    return json.dumps(card, default=vars, ensure_ascii=False)
