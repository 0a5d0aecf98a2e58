"""`python -m runner train`: an EAGLE-3 drafter from extracted hidden states."""

from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    from runner.flags import parse
    from runner.train.config import TrainConfig

    config = parse(TrainConfig, argv, "python -m runner train")  # before torch: --help must be quick
    from runner.train.run import train

    train(config)
    return 0
