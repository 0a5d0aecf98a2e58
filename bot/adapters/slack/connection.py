"""One Socket Mode connection, kept up: looked at, and made anew with growing patience."""

import logging
import os
import random
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from slack_sdk import WebClient
from slack_sdk.socket_mode.builtin import SocketModeClient
from slack_sdk.socket_mode.client import BaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

from bot.adapters.slack.identity import ask_socket_url
from bot.adapters.slack.web import FAILURES, bypasses_proxy, translate
from bot.errors import ChatUnavailable

log = logging.getLogger("bot.slack")
PING_INTERVAL_S: Final = 3
LOOK_EVERY_S: Final = 0.5
LONGEST_DELAY_S: Final = 30.0
JOIN_S: Final = 2.0  # a call to a Slack that hangs is not waited for
Handle = Callable[[BaseSocketModeClient, SocketModeRequest], None]


class _Client(SocketModeClient):
    """The SDK's own client sleeps through a Retry-After while it holds its lock; here the keeper waits."""

    def issue_new_wss_url(self) -> str:
        return ask_socket_url(self.web_client, self.app_token)


class Connection:
    """`prepare` is called before the first connection, until it does not raise ChatUnavailable.

    `on_connect` is called after every connection made because there was none, `on_cut` before it is made.
    """

    def __init__(
        self,
        web: WebClient,
        app_token: str,
        handle: Handle,
        prepare: Callable[[], None],
        on_connect: Callable[[], None],
        on_cut: Callable[[], None] = lambda: None,
    ) -> None:
        # One worker: events are stored, and acked, in the order in which they came.
        self._client = _Client(
            app_token=app_token,
            web_client=web,
            logger=log,
            concurrency=1,
            ping_interval=PING_INTERVAL_S,
            auto_reconnect_enabled=False,
        )
        if bypasses_proxy(web.base_url):
            self._client.proxy = None
        self._client.socket_mode_request_listeners.append(handle)
        self._on_connect, self._on_cut = on_connect, on_cut
        self._prepare: Callable[[], None] | None = prepare
        self._stopping = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="slack-socket", daemon=True)
        self.trouble = "not started"  # why there is no connection, "" when there is one

    def start(self) -> None:
        self._keeper.start()

    def stop(self) -> None:
        """Within a second or so: the SDK's threads wait in recv and in queues, so both are woken."""
        self._stopping.set()
        if self._keeper.ident is not None:
            self._keeper.join(JOIN_S)
        self._client.closed = True
        self._client.message_queue.put(None)
        self._end_session()
        self._client.close()
        self.trouble = "stopped"

    def _end_session(self) -> None:
        """The SDK's thread that receives takes back what ends it when it begins a session: it is told until it ends."""
        runner = self._client.current_session_runner
        receiving = runner.thread
        runner.event.set()
        until_s = time.monotonic() + JOIN_S
        while receiving.is_alive() and time.monotonic() < until_s:
            self._client.current_session_state.terminated = True
            with suppress(OSError, AttributeError):
                self._client.current_session.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]
            receiving.join(0.05)

    def connected(self) -> bool:
        return self._client.is_connected()

    def _keep(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            try:
                self._look()
                failures, delay_s = 0, LOOK_EVERY_S
            except Exception as error:  # whatever it is, the next look may succeed, and nobody else would look
                failures += 1
                told = error.retry_after_s if isinstance(error, ChatUnavailable) else None
                delay_s = told or min(0.25 * 2**failures, LONGEST_DELAY_S) * random.uniform(0.7, 1.0)
                self._tell(error)
            self._stopping.wait(delay_s)

    def _tell(self, error: Exception) -> None:
        trouble = str(error) if isinstance(error, ChatUnavailable) else repr(error)
        if trouble != self.trouble:
            log.warning("no connection to Slack: %s", trouble, exc_info=not isinstance(error, ChatUnavailable))
        self.trouble = trouble

    def _look(self) -> None:
        """Raises ChatUnavailable when there is no connection and none can be made."""
        session = self._client.current_session
        sock = session.sock if session is not None else None
        if session is not None and sock is not None and _hung_up(sock):
            session.disconnect()  # the SDK would read the end of the stream in a busy loop until its pings fail
        if not self._client.is_connected():
            if self._prepare is not None:
                self._prepare()
                self._prepare = None
            self._on_cut()
            try:
                self._client.connect_to_new_endpoint()
            except FAILURES as error:
                raise translate(error, "Socket Mode") from error
            if not self._client.is_connected():
                raise ChatUnavailable("Socket Mode: Slack gave an address but no connection came about")
            log.info("connected to Slack")
            self.trouble = ""
            self._on_connect()
        self.trouble = ""


def _hung_up(sock: socket.socket) -> bool:
    """Whether the other side has closed. Looks below TLS, where peeking is possible."""
    try:
        with socket.socket(fileno=os.dup(sock.fileno())) as twin:
            return twin.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except OSError:  # nothing there to read, or closed on our side meanwhile
        return False
