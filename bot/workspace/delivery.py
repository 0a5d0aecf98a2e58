"""Socket Mode as Slack does it: envelopes out, acks in, and again when no ack came in time."""

import asyncio
import json
import uuid
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from bot.workspace.faults import Faults
from bot.workspace.refusal import Json

REMEMBERED: Final = 500


@dataclass(kw_only=True, eq=False)
class Connection:
    socket: web.WebSocketResponse
    transport: asyncio.Transport | None
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:6])
    leaving: bool = False  # told to reconnect: gets nothing new


@dataclass(kw_only=True, eq=False)
class Delivery:
    """One envelope on its way; `acked` resolves to the ack's payload, or to None when there was none."""

    kind: str  # events_api | interactive
    payload: Json
    attempt: int
    acked: asyncio.Future[Json | None]
    envelope_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    forced_attempt: int | None = None
    timer: asyncio.TimerHandle | None = None

    def envelope(self) -> Json:
        envelope: Json = {"envelope_id": self.envelope_id, "payload": self.payload, "type": self.kind}
        envelope["accepts_response_payload"] = self.kind == "interactive"
        if self.kind == "events_api":
            attempt = self.attempt if self.forced_attempt is None else self.forced_attempt
            envelope.update(retry_attempt=attempt, retry_reason="timeout" if attempt else "")
        return envelope


class Sockets:
    """The connected bots. Touched only from the server's event loop."""

    def __init__(self, faults: Faults, ack_timeout_s: float, retry_delays_s: tuple[float, ...]) -> None:
        self.ack_timeout_s, self.retry_delays_s = ack_timeout_s, retry_delays_s
        self.connections: list[Connection] = []
        self.counters: Counter[str] = Counter()
        self.tickets: set[str] = set()  # handed out by apps.connections.open
        self.recent: deque[Json] = deque(maxlen=REMEMBERED)
        self._faults = faults
        self._outbox: asyncio.Queue[Delivery] = asyncio.Queue()
        self._pending: dict[str, Delivery] = {}
        self._timers: set[asyncio.TimerHandle] = set()
        self._turn = 0
        self._pump: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._pump = asyncio.get_running_loop().create_task(self._send_all())

    async def stop(self) -> None:
        for timer in self._timers:
            timer.cancel()
        if self._pump:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)
        for connection in list(self.connections):
            await connection.socket.close(code=1001)

    def send(
        self, kind: str, payload: Json, attempt: int = 0, *, forced_attempt: int | None = None
    ) -> asyncio.Future[Json | None]:
        """Queues an envelope; the future resolves when it is acked, or to None when given up."""
        acked: asyncio.Future[Json | None] = asyncio.get_running_loop().create_future()
        delivery = Delivery(kind=kind, payload=payload, attempt=attempt, acked=acked, forced_attempt=forced_attempt)
        if kind == "events_api" and attempt == 0 and forced_attempt is None:
            if self._faults.take("lose_event", payload["event"]["type"]):
                self.counters["events_lost"] += 1
                return acked
            if self._faults.take("duplicate", payload["event"]["type"]):
                self.send(kind, payload, forced_attempt=0)
        self._outbox.put_nowait(delivery)
        return acked

    async def _send_all(self) -> None:
        while True:
            await self._send_one(await self._outbox.get())

    async def _send_one(self, delivery: Delivery) -> None:
        open_ones = [c for c in self.connections if not c.leaving and not c.socket.closed]
        envelope = delivery.envelope()
        if open_ones:
            self._turn += 1
            connection = open_ones[self._turn % len(open_ones)]  # Slack promises no particular one
            self._pending[delivery.envelope_id] = delivery
            try:
                await connection.socket.send_str(json.dumps(envelope))
            except (ConnectionError, RuntimeError):
                self.counters["send_failed"] += 1
            self.counters["sent"] += 1
        else:
            self.counters["no_connection"] += 1
        self.recent.append({"sent": bool(open_ones), **envelope})
        wait_s = self.ack_timeout_s if open_ones else 0.0
        delivery.timer = self._later(wait_s, delivery)

    def _later(self, delay_s: float, delivery: Delivery) -> asyncio.TimerHandle:
        def fire() -> None:
            self._timers.discard(handle)
            self._give_up(delivery)

        handle = asyncio.get_running_loop().call_later(delay_s, fire)
        self._timers.add(handle)
        return handle

    def _give_up(self, delivery: Delivery) -> None:
        """No ack in time: events come again with the same event_id in a new envelope, clicks never."""
        self._pending.pop(delivery.envelope_id, None)
        self.counters["ack_timeouts"] += 1
        retries = delivery.kind == "events_api" and delivery.forced_attempt is None
        if not retries or delivery.attempt >= len(self.retry_delays_s):
            if not delivery.acked.done():
                delivery.acked.set_result(None)
            return
        again = Delivery(
            kind=delivery.kind, payload=delivery.payload, attempt=delivery.attempt + 1, acked=delivery.acked
        )

        def resend() -> None:
            self._timers.discard(handle)
            self.counters["redelivered"] += 1
            self._outbox.put_nowait(again)

        handle = asyncio.get_running_loop().call_later(self.retry_delays_s[delivery.attempt], resend)
        self._timers.add(handle)

    def accept(self, text: str) -> None:
        """What a bot sent: an ack, or something that is none."""
        try:
            envelope_id, payload = _read_ack(text)
        except ValueError:
            self.counters["unreadable"] += 1
            return
        if self._faults.take("lose_ack"):
            self.counters["acks_lost"] += 1
            return
        delivery = self._pending.pop(envelope_id, None)
        if delivery is None:
            self.counters["late_acks"] += 1
            return
        self.counters["acked"] += 1
        if delivery.timer:
            delivery.timer.cancel()
            self._timers.discard(delivery.timer)
        if not delivery.acked.done():
            delivery.acked.set_result(payload)

    async def disconnect(self, reason: str, close_after_s: float | None) -> None:
        """`warning` leaves the connection in use; `refresh_requested` and `link_disabled` end it."""
        for connection in list(self.connections):
            frame = {"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-local"}}
            await connection.socket.send_str(json.dumps(frame))
            connection.leaving = reason != "warning"
        if close_after_s is not None:
            doomed = list(self.connections)
            await asyncio.sleep(close_after_s)
            for connection in doomed:
                await connection.socket.close()

    def drop(self) -> int:
        """Resets every connection's TCP without a close frame; how many there were."""
        dropped = 0
        for connection in list(self.connections):
            connection.leaving = True
            if connection.transport is not None:
                connection.transport.abort()
                dropped += 1
        return dropped


def _read_ack(text: str) -> tuple[str, Json]:
    body = json.loads(text)
    if not isinstance(body, dict) or not isinstance(body.get("envelope_id"), str):
        raise ValueError("no envelope_id")
    return body["envelope_id"], body.get("payload") or {}


def hello(number: int, app: str) -> str:
    body: Json = {"type": "hello", "num_connections": number, "connection_info": {"app_id": app}}
    body["debug_info"] = {"host": "applink-local", "build_number": 1, "approximate_connection_time": 18060}
    return json.dumps(body)


def too_many(number: int) -> str:
    body: Json = {"type": "disconnect", "reason": "too_many_websockets", "num_connections": number}
    return json.dumps({**body, "debug_info": {"host": "applink-local"}})
