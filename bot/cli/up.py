"""`python -m bot up`: the bot itself, in the foreground."""

import logging
import os

from bot.adapters.scheduler import Ticker
from bot.adapters.slack.call import Caller
from bot.adapters.slack.directory import Directory
from bot.adapters.slack.identity import identify
from bot.adapters.slack.listeners import SlackListener, open_app
from bot.adapters.slack.poster import SlackPoster
from bot.adapters.slack.web import open_client
from bot.adapters.store import Store
from bot.cli import arguments, wiring
from bot.cli.ending import Ending
from bot.cli.hearing import CURSOR, DIRECT, Ears, Hearing
from bot.cli.logs import open_log
from bot.cli.missed import Missed
from bot.config import Config, load_config
from bot.errors import BotError, ChatUnavailable, StoreUnavailable
from bot.service.chat import secret_values
from bot.service.code import pack
from bot.service.desk import Desk, SystemClock
from bot.service.engine import Engine, LeaseLost
from bot.service.holder import this_process

log = logging.getLogger("bot")
TICK_S = 1.0
ENGINE_S = 6.0  # it waits for its own parts, each for a while


def main(argv: list[str]) -> int:
    """Once it was up it does not return: the interpreter's own end waits for pools of threads, however they hang."""
    to = arguments.parser("up", "Run the bot until SIGTERM or Ctrl-C. Attempts live on; the next start goes on.")
    arguments.add_config(to)
    to.add_argument("--verbose", action="store_true", help="log more")
    args = to.parse_args(argv)
    lines = open_log(logging.DEBUG if args.verbose else logging.INFO)
    for noisy in ("paramiko", "apscheduler", "slack_bolt", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    config = load_config(args.config)
    secret = secret_values(config, config.load_pipelines().values())
    lines.known = lambda: secret
    os._exit(Bot(config).run())


class Bot:
    """All threads of one bot process."""

    def __init__(self, config: Config) -> None:
        bot_token, app_token = config.slack.tokens()
        self._config = config
        self._store: Store = wiring.open_database(config)
        self._call = Caller(open_client(bot_token, config.slack.base_url))
        self._ending = Ending()
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
        hearing = self._hearing = self._ears(Missed(self._call, self._store, config.slack.channel))
        self._listener: SlackListener = open_app(
            bot_token, app_token, config.slack.base_url, hearing.hear, hearing.connected, hearing.cut_off
        )
        self._ticker = Ticker(self._tick, TICK_S)

    def _ears(self, missed: Missed) -> Ears:
        """A database that knows no cursor for direct messages has heard them as far as all else."""
        heard = self._store.cursor(CURSOR)
        if heard is not None and self._store.cursor(DIRECT) is None:
            self._store.set_cursor(DIRECT, heard)
        receive = self._engine.receive
        channels = Hearing(self._store, receive, missed.in_channels)
        return Ears(channels, Hearing(self._store, receive, missed.directly, DIRECT))

    def run(self) -> int:
        """Until a signal, or until another bot has taken over."""
        self._ending.listen()
        identity = self._identify()
        if identity is not None:
            self._begin(identity)
        self._ending.asked.wait()
        self._let_go()
        if self._why:
            log.error("%s", self._why)
        return 1 if self._why else 0

    def _begin(self, identity: str) -> None:
        self._desk.bot_user = identity
        self._store.set_cursor("bot_user", identity)
        try:
            self._engine.start()
        except LeaseLost as error:
            raise BotError(str(error)) from error
        self._ticker.start()
        self._listener.start()
        log.info("up: %s", ", ".join(self._desk.pipelines))

    def _let_go(self) -> None:
        """Nothing new is heard or begun before the lease is dropped. What is left behind, the next start takes up."""
        let_go = self._ending.let_go
        self._hearing.stop()
        let_go({"the connection to Slack": self._listener.stop})
        let_go({"the tick": self._ticker.stop})
        let_go({"the engine": self._engine.stop}, ENGINE_S)
        let_go({f"host {name}": host.close for name, host in self._desk.hosts.items()})
        let_go({"the database": self._store.close})
        log.info("down")

    def _identify(self) -> str | None:
        """Who we are in the chat; waits while the chat is away, fails when the token is no good. None: it is to end."""
        wait_s = 1.0
        while not self._ending.asked.is_set():
            try:
                return identify(self._call).bot_user
            except ChatUnavailable as error:
                if error.fatal:
                    raise
                log.warning("%s; again in %g s", error, wait_s)
                self._ending.asked.wait(wait_s)
                wait_s = min(60.0, wait_s * 2)
        return None

    def _tick(self) -> None:
        try:
            self._engine.tick()
        except LeaseLost as error:
            self._why = str(error)
            self._ending.begin()
        except StoreUnavailable as error:  # without it nothing is done, and there is nothing to end for
            log.warning("%s", error)
