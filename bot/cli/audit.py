"""`python -m bot audit`: who ordered what, and whether the log is whole."""

import json

from bot.cli import arguments, wiring
from bot.config import load_config


def main(argv: list[str]) -> int:
    to = arguments.parser("audit", "Show the orders of a run, or check the whole log's hash chain (`audit verify`).")
    arguments.add_config(to)
    to.add_argument("what", nargs="?", choices=["show", "verify"], default="show")
    to.add_argument("--run", help="only this run's orders")
    to.add_argument("--json", action="store_true", help="one JSON object an order")
    args = to.parse_args(argv)
    store = wiring.open_database(load_config(args.config))
    try:
        if args.what == "verify":
            total, broken = store.verify_orders()
            print(f"{total} orders, " + ("the chain is whole" if broken is None else f"broken at order {broken}"))
            return 0 if broken is None else 1
        for order in store.orders(args.run):
            if args.json:
                print(json.dumps(order, ensure_ascii=False))
            else:
                run = order["run"] or "-"
                print(f"{order['at']}  {order['who']:<12} {run:<5} {order['text']!r} -> {order['outcome']}")
        return 0
    finally:
        store.close()
