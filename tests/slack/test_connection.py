"""The connection is looked at, made anew, and its trouble is told."""

import base64
import hashlib
import logging
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from slack_sdk import WebClient

from bot.adapters.slack.connection import _hung_up
from bot.adapters.slack.identity import ask_socket_url, check_app_token
from bot.adapters.slack.listeners import SlackListener, open_app
from bot.workspace import APP_TOKEN, BOT_TOKEN, ControlClient

from .conftest import Store


@contextmanager
def listening(control: ControlClient, store: Store, app_token: str = APP_TOKEN) -> Iterator[SlackListener]:
    listener = open_app(BOT_TOKEN, app_token, control.api_url, store)
    listener.start()
    try:
        yield listener
    finally:
        listener.stop()


def until(found: Callable[[], object], timeout_s: float = 8.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not found():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.02)


def test_a_connection_that_never_comes_about_is_tried_again(control: ControlClient, store: Store) -> None:
    control.fault("error", "apps.connections.open", error="internal_error")
    with listening(control, store) as listener:
        until(listener.healthy)
        assert listener.trouble == "" and listener.identity and listener.identity.bot_user == "U0BOT"


def test_a_rate_limit_on_connecting_is_told_and_not_slept_through(control: ControlClient, store: Store) -> None:
    control.fault("ratelimited", "apps.connections.open", retry_after_s=30)
    with listening(control, store) as listener:
        until(lambda: "rate limited" in listener.trouble)
        assert not listener.healthy()
    assert listener.trouble == "stopped"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the SDK leaves the socket open
def test_a_refused_handshake_is_no_connection(control: ControlClient, store: Store) -> None:
    control.fault("refuse_socket")
    with listening(control, store) as listener:
        until(lambda: "no connection came about" in listener.trouble)
        assert not listener.healthy()
        until(listener.healthy)


@pytest.mark.slow
def test_a_connection_without_pongs_is_replaced(control: ControlClient, store: Store) -> None:
    with listening(control, store) as listener:
        until(listener.healthy)
        control.fault("no_pong", times=-1)
        control.wait(lambda: control.counters()["deliveries"]["sockets_opened"] == 2, timeout_s=30)
        control.send("faults/clear")
        control.post("still there")
        assert store.wait_for(1)[0].text == "still there"


def test_a_peer_that_closes_without_a_word_is_left(
    control: ControlClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A FIN without a close frame: the SDK alone would read the end of the stream for ever."""
    accepted = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve_once() -> None:
            peer, _ = server.accept()
            with peer:
                key = re.search(rb"Sec-WebSocket-Key: (\S+)", peer.recv(4096))
                assert key
                accept = base64.b64encode(hashlib.sha1(key[1] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
                peer.sendall(b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")
                accepted.append(True)
                peer.shutdown(socket.SHUT_WR)
                peer.settimeout(8)
                while peer.recv(4096):
                    pass

        thread = threading.Thread(target=serve_once)
        thread.start()
        addresses = [f"ws://127.0.0.1:{server.getsockname()[1]}/link"]

        def ask(client: WebClient, app_token: str) -> str:
            return addresses.pop() if addresses else ask_socket_url(client, app_token)

        monkeypatch.setattr("bot.adapters.slack.connection.ask_socket_url", ask)
        with listening(control, store) as listener:
            until(lambda: accepted)
            control.wait_connected()
            control.post("heard")
            assert store.wait_for(1)[0].text == "heard"
            until(listener.healthy)
        thread.join()


def test_swapped_tokens_are_named(control: ControlClient, store: Store) -> None:
    with listening(control, store, app_token=BOT_TOKEN) as listener:
        until(lambda: "connections:write" in listener.trouble)
        assert not listener.healthy()


def test_a_revoked_token_is_told(control: ControlClient, store: Store) -> None:
    control.send("settings", revoked=[BOT_TOKEN])
    with listening(control, store) as listener:
        until(lambda: "token_revoked" in listener.trouble)


def test_a_good_app_token_passes_the_check(control: ControlClient) -> None:
    check_app_token(APP_TOKEN, control.api_url)


def test_stop_before_start_leaves_no_thread(control: ControlClient, store: Store) -> None:
    before = threading.active_count()
    open_app(BOT_TOKEN, APP_TOKEN, control.api_url, store).stop()
    assert threading.active_count() == before


def test_a_session_that_begins_while_it_is_stopped_ends(control: ControlClient, store: Store) -> None:
    """The SDK looks whether there is a session, tells the log, and then takes back that it is to end."""
    listener = open_app(BOT_TOKEN, APP_TOKEN, control.api_url, store)
    client = listener._connection._client
    stopping = threading.Event()

    def tells(record: logging.LogRecord) -> bool:
        if record.getMessage().startswith("Starting to receive"):
            stopping.set()
            until(lambda: client.current_session_state.terminated)
            time.sleep(0.2)
        return True

    log = logging.getLogger("bot.slack")
    log.setLevel(logging.INFO)
    log.addFilter(tells)
    try:
        listener.start()
        assert stopping.wait(20)
        ends = threading.Thread(target=listener.stop, daemon=True)
        ends.start()
        ends.join(20)
        hung = ends.is_alive()
        client.current_session_state.terminated = True
        ends.join(20)
        assert not hung
    finally:
        log.removeFilter(tells)
        log.setLevel(logging.NOTSET)


def test_a_closed_stream_is_seen_without_reading_it() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        assert not _hung_up(ours)
        theirs.send(b"x")
        assert not _hung_up(ours)
        theirs.close()
        assert not _hung_up(ours)  # there is something to read first
        assert ours.recv(1) == b"x"
        assert _hung_up(ours)
    assert not _hung_up(ours)  # closed on our side
