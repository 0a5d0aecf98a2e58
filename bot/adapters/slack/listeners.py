"""What the bot hears: every event is stored, then acked; nothing else happens here.

Bolt by default acks before a listener runs, so that an event whose listener fails is lost.
`process_before_response` turns that around: a listener that raises leads to status 500, which is never
sent, and Slack delivers the event again. Bolt's token check would ack with 200 when it fails, so it is
replaced by a look at what auth.test said before the first connection.
"""

import logging
import re
import time
from collections.abc import Callable
from typing import Any

from slack_bolt import Ack, App
from slack_bolt.adapter.socket_mode.internals import run_bolt_app, send_response
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.socket_mode.client import BaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

from bot.adapters.slack.call import Caller
from bot.adapters.slack.connection import Connection
from bot.adapters.slack.identity import Identity, identify
from bot.adapters.slack.payloads import read_clicks, read_event
from bot.adapters.slack.web import open_client
from bot.core.inbound import InboundEvent

Sink = Callable[[InboundEvent], None]
log = logging.getLogger("bot.slack")
HEARD = ("message", "app_mention", "reaction_added", "reaction_removed", "app_home_opened")
ANYTHING = re.compile(".*", re.DOTALL)


class SlackListener:
    """Hears until stopped. `start` returns at once; `trouble` says why nothing is heard, "" when all is well."""

    def __init__(
        self,
        bot_token: str,
        app_token: str,
        base_url: str,
        sink: Sink,
        on_connect: Callable[[], None],
        on_cut: Callable[[], None],
    ) -> None:
        web = open_client(bot_token, base_url)
        self._call = Caller(web)
        self._app = App(
            client=open_client(None, base_url),  # Bolt calls nothing; with a token it would warn about `authorize`
            logger=log,
            process_before_response=True,
            request_verification_enabled=False,  # signatures are for HTTP; the socket is authenticated itself
            authorize=lambda: self._authorize(),  # Bolt takes no bound method
        )
        register(self._app, sink)
        self._connection = Connection(web, app_token, self._handle, self._identify, on_connect, on_cut)
        self.identity: Identity | None = None

    def start(self) -> None:
        self._connection.start()

    def stop(self) -> None:
        self._connection.stop()

    def healthy(self) -> bool:
        return self._connection.connected() and not self._connection.trouble

    @property
    def trouble(self) -> str:
        return self._connection.trouble

    def _identify(self) -> None:
        self.identity = identify(self._call)

    def _authorize(self) -> AuthorizeResult:
        assert self.identity is not None, "events come only after the first connection"
        return AuthorizeResult(
            enterprise_id=None,
            team_id=self.identity.team,
            bot_user_id=self.identity.bot_user,
            bot_id=self.identity.bot_id,
            bot_token=self._call.client.token,
        )

    def _handle(self, client: BaseSocketModeClient, request: SocketModeRequest) -> None:
        """An ack that cannot be sent is no harm: the event comes again and its claim key is known."""
        started_at = time.time()
        send_response(client, request, run_bolt_app(self._app, request), started_at)


def open_app(
    bot_token: str,
    app_token: str,
    base_url: str,
    sink: Sink,
    on_connect: Callable[[], None] = lambda: None,
    on_cut: Callable[[], None] = lambda: None,
) -> SlackListener:
    """`sink` stores the event in one transaction and returns, or raises: then the event is not acked.

    It is called from one thread, in order of arrival, and gets repeated deliveries too: claim keys tell.
    `on_connect` is called whenever there is a connection after there was none: Slack gives up on an event
    after three tries, so what was said in between has to be caught up. `on_cut` is called before, while there
    is none and nothing can be heard. Both must return at once.
    """
    return SlackListener(bot_token, app_token, base_url, sink, on_connect, on_cut)


def register(app: App, sink: Sink) -> None:
    """The listeners, the catch-all ones last: an event that matches none is never acked and comes again."""

    def store_event(body: dict[str, Any]) -> None:
        if event := read_event(body):
            sink(event)

    def store_clicks(body: dict[str, Any], ack: Ack) -> None:
        for event in read_clicks(body):
            sink(event)
        ack()

    def pass_over(ack: Ack) -> None:
        ack()

    for kind in HEARD:
        app.event(kind)(store_event)
    app.action(ANYTHING)(store_clicks)
    app.event(ANYTHING)(pass_over)
    for catch_all in (app.command, app.shortcut, app.view_submission, app.view_closed, app.options):
        catch_all(ANYTHING)(pass_over)
