"""`python -m bot audit`: who ordered what, and whether the log is whole."""

import json

from bot.cli import arguments, wiring
from bot.config import load_config
from bot.service.chat import masked, secret_values


def main(argv: list[str]) -> int:
    to = arguments.parser("audit", "Show the orders of a run, or check the whole log's hash chain (`audit verify`).")
    arguments.add_config(to)
    to.add_argument("what", nargs="?", choices=["show", "verify"], default="show")
    to.add_argument("--run", help="only this run's orders")
    to.add_argument("--json", action="store_true", help="one JSON object an order")
    args = to.parse_args(argv)
    config = load_config(args.config)
    store = wiring.open_database(config)
    try:
        if args.what == "verify":
            total, broken = store.verify_orders()
            print(f"{total} orders, " + ("the chain is whole" if broken is None else f"broken at order {broken}"))
            return 0 if broken is None else 1
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
