"""`python -m runner synth`: the target answers prompts; what it says becomes the training conversations."""

from collections.abc import Sequence

from runner.flags import parse


def main(argv: Sequence[str]) -> int:
    from runner.synth.options import SynthOptions
    from runner.synth.run import run

    run(parse(SynthOptions, argv, "python -m runner synth"))
    return 0
