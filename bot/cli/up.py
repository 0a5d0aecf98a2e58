"""`python -m bot up`: the bot itself, in the foreground."""

import logging
import signal
import threading
import time
from types import FrameType

from bot.adapters.scheduler import Ticker
from bot.adapters.slack.call import Caller
from bot.adapters.slack.catchup import catch_up
from bot.adapters.slack.directory import Directory
from bot.adapters.slack.identity import identify
from bot.adapters.slack.listeners import SlackListener, open_app
from bot.adapters.slack.poster import SlackPoster
from bot.adapters.slack.web import open_client
from bot.adapters.store import Store
from bot.cli import arguments, wiring
from bot.config import Config, load_config
from bot.core.inbound import InboundEvent
from bot.errors import BotError, ChatUnavailable
from bot.service.code import pack
from bot.service.desk import Desk, SystemClock
from bot.service.engine import Engine, LeaseLost
from bot.service.holder import this_process

log = logging.getLogger("bot")
CURSOR = "heard"
TICK_S = 1.0


def main(argv: list[str]) -> int:
    to = arguments.parser("up", "Run the bot until SIGTERM or Ctrl-C. Attempts live on; the next start goes on.")
    arguments.add_config(to)
    to.add_argument("--verbose", action="store_true", help="log more")
    args = to.parse_args(argv)
    logging.basicConfig(
        level=logging.DEBUG if args.verbose else logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    for noisy in ("paramiko", "apscheduler", "slack_bolt", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    config = load_config(args.config)
    return Bot(config).run()


class Bot:
    """All threads of one bot process."""

    def __init__(self, config: Config) -> None:
        bot_token, app_token = config.slack.tokens()
        self._config = config
        self._store: Store = wiring.open_database(config)
        self._call = Caller(open_client(bot_token, config.slack.base_url))
        self._stop = threading.Event()
        self._why = ""
        self._desk = Desk(
            config=config,
            pipelines=config.load_pipelines(),
            store=self._store,
            hosts=wiring.open_hosts(config),
            poster=SlackPoster(self._call),
            clock=SystemClock(),
            code=pack(wiring.CHECKOUT),
            members=Directory(self._call).members,
        )
        self._engine = Engine(self._desk, this_process(), config.redraw_s)
        self._listener: SlackListener = open_app(
            bot_token, app_token, config.slack.base_url, self._hear, self._catch_up_soon
        )
        self._ticker = Ticker(self._tick, TICK_S)

    def run(self) -> int:
        """Until a signal, or until another bot has taken over."""
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, self._signalled)
        identity = self._identify()
        self._desk.bot_user = identity
        self._store.set_cursor("bot_user", identity)
        try:
            self._engine.start()
        except LeaseLost as error:
            raise BotError(str(error)) from error
        self._ticker.start()
        self._listener.start()
        log.info("up: %s", ", ".join(self._desk.pipelines))
        self._stop.wait()
        self._listener.stop()
        self._ticker.stop()
        self._engine.stop()
        for host in self._desk.hosts.values():
            host.close()
        self._store.close()
        if self._why:
            log.error("%s", self._why)
        return 1 if self._why else 0

    def _identify(self) -> str:
        """Who we are in the chat; waits while the chat is away, fails when the token is no good."""
        wait_s = 1.0
        while not self._stop.is_set():
            try:
                return identify(self._call).bot_user
            except ChatUnavailable as error:
                if error.fatal:
                    raise
                log.warning("%s; again in %g s", error, wait_s)
                self._stop.wait(wait_s)
                wait_s = min(60.0, wait_s * 2)
        return self._store.cursor("bot_user") or ""

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        self._stop.set()

    def _tick(self) -> None:
        try:
            self._engine.tick()
        except LeaseLost as error:
            self._why = str(error)
            self._stop.set()

    def _hear(self, event: InboundEvent) -> None:
        self._engine.receive(event)
        heard = self._store.cursor(CURSOR)
        if event.kind == "message" and (heard is None or float(event.ts) > float(heard)):
            self._store.set_cursor(CURSOR, event.ts)

    def _catch_up_soon(self) -> None:
        threading.Thread(target=self._catch_up, name="catch-up", daemon=True).start()

    def _catch_up(self) -> None:
        """What was said while nobody listened: the channel since the cursor, and every open thread."""
        since = self._store.cursor(CURSOR)
        channel = self._config.slack.channel
        if since is None:
            self._store.set_cursor(CURSOR, f"{time.time():.6f}")
            return
        heads = [self._store.post(f"{run.id}/status") for run in self._store.all_runs(live_only=True)]
        threads = {head.ts: since for head in heads if head is not None and head.channel == channel}
        try:
            events = catch_up(self._call, identify(self._call), channel, since, threads)
        except ChatUnavailable as error:
            log.warning("catching up: %s", error)
            return
        for event in events:
            self._engine.receive(event)
        log.info("caught up: %d messages looked at", len(events))
