"""`python -m bot audit`: who ordered what, and whether the log is whole."""

import argparse
import json
import re

from bot.adapters.store import Store
from bot.cli import arguments, wiring
from bot.config import load_config
from bot.service.chat import masked, secret_values


def _head(text: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{12,64}", text):
        raise argparse.ArgumentTypeError("12 to 64 hexadecimal digits")
    return text.lower()


def _verify(store: Store, noted: str | None) -> int:
    chain = store.verify_orders()
    print(f"{chain.count} orders, {chain.fault or 'the chain is whole'}")
    print(f"head {chain.head}")
    if noted is None:
        return 1 if chain.fault else 0
    count = store.orders_at(noted)
    if count is None:
        print(f"{noted} is not in the chain: orders were changed or removed since it was noted")
    else:
        print(f"{noted} was the head of {count} orders; {chain.count - count} came after it")
    return 1 if chain.fault or count is None else 0


def main(argv: list[str]) -> int:
    to = arguments.parser("audit", "Show the orders of a run, or check the whole log's hash chain (`audit verify`).")
    arguments.add_config(to)
    to.add_argument("what", nargs="?", choices=["show", "verify"], default="show")
    to.add_argument(
        "--head", type=_head, help="verify: whether a head noted earlier (12 digits are enough) is in the chain"
    )
    to.add_argument("--run", help="only this run's orders")
    to.add_argument("--json", action="store_true", help="one JSON object an order")
    args = to.parse_args(argv)
    config = load_config(args.config)
    store = wiring.open_database(config)
    try:
        if args.what == "verify":
            return _verify(store, args.head)
        secret = secret_values(config, config.load_pipelines().values())
        for order in store.orders(args.run):
            shown = masked(order, secret)
            if args.json:
                print(json.dumps(shown, ensure_ascii=False))
            else:
                run = shown["run"] or "-"
                print(f"{shown['at']}  {shown['who']:<12} {run:<5} {shown['text']!r} -> {shown['outcome']}")
        return 0
    finally:
        store.close()
