"""`python -m bot start NAME`: plan a run."""

from bot.cli import say


def main(argv: list[str]) -> int:
    if not argv or argv[0].startswith("-"):
        print("usage: python -m bot start PIPELINE [--config FILE] [--as WHO]\n\nPlan a run; it waits for `go`.")
        return 0 if argv and argv[0] in ("-h", "--help") else 2
    return say.main([f"start {argv[0]}", *argv[1:]])
