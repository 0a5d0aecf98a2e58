"""`python -m runner bench`: the target served with and without the drafter, interleaved on the same prompts."""

from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Entry of the verb. The parts are imported late: `--help` and the pure parts need neither torch nor a server."""
    from runner import flags
    from runner.bench.config import BenchOptions
    from runner.bench.session import run

    options = flags.parse(BenchOptions, argv, "python -m runner bench")
    options.check()
    run(options)
    return 0
