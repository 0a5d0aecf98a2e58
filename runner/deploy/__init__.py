"""`python -m runner deploy`: a benchmarked drafter into service, watched, and taken back when it disappoints."""

from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Entry of the verb."""
    from runner import flags
    from runner.deploy.options import DeployOptions
    from runner.deploy.run import run

    options = flags.parse(DeployOptions, argv, "python -m runner deploy")
    options.check()
    run(options)
    return 0
