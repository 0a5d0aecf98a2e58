"""`python -m bot say`: the same orders, from a terminal."""

import dataclasses
import getpass
import json
import sys
import time
from datetime import UTC, datetime

from bot.adapters.store import Store
from bot.cli import arguments, wiring
from bot.cli.render import render
from bot.config import Config, load_config
from bot.core.inbound import InboundEvent, storable
from bot.core.masking import mask
from bot.errors import CommandError
from bot.service.chat import mask_card, secret_values
from bot.service.outcome import TERMINAL, answer_key

_WAIT_S = 30.0


def main(argv: list[str]) -> int:
    to = arguments.parser("say", "Give an order as in the run's thread. It is read, checked and recorded the same way.")
    arguments.add_config(to)
    to.add_argument("text", help='the order, e.g. "extraction done, continue"')
    to.add_argument("--run", help="the run's id (default: as a message in the channel that mentions the bot)")
    to.add_argument("--as", dest="who", default=getpass.getuser(), help="who speaks (default: %(default)s)")
    to.add_argument("--json", action="store_true", help="print the outcome as one JSON line")
    args = to.parse_args(argv)
    config = load_config(args.config)
    store = wiring.open_database(config)
    try:
        event = _event(config, store, args.text, args.run and storable(args.run), args.who)
        store.claim(event.claim_key, datetime.now(UTC), dataclasses.asdict(event))
        outcome = _wait(store, event.claim_key)
        if outcome is None:
            print("Stored; no bot is up that could read it now. It will be read when one is.", file=sys.stderr)
            return 1
        secret = secret_values(config, config.load_pipelines().values())
        outcome = mask(outcome, secret)
        if args.json:
            print(json.dumps({"outcome": outcome}))
        else:
            print(outcome)
            for card in store.cards_of(answer_key(event)):
                print(render(mask_card(card, secret)))
        return 0
    finally:
        store.close()


def _event(config: Config, store: Store, text: str, run_id: str | None, who: str) -> InboundEvent:
    ts = f"{time.time():.6f}"
    channel, thread_ts = config.slack.channel, None
    if run_id:
        head = store.post(f"{run_id}/status")
        if head is None:
            known = ", ".join(run.id for run in store.all_runs()) or "none"
            raise CommandError(f"there is no run {run_id}", f"known: {known}")
        channel, thread_ts = head.channel, head.ts
    else:
        text = f"<@{store.cursor('bot_user') or 'BOT'}> {text}"
    return InboundEvent(
        kind="message",
        team=TERMINAL,
        channel=channel,
        channel_type="channel",
        user=who,
        ts=ts,
        event_ts=ts,
        thread_ts=thread_ts,
        text=text,
    )


def _wait(store: Store, claim: str) -> str | None:
    """What the running bot made of it; it looks once a second."""
    until = time.monotonic() + _WAIT_S
    while time.monotonic() < until:
        outcome = store.event_outcome(claim)
        if outcome is not None:
            return outcome
        time.sleep(0.2)
    return None
