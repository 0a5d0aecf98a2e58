"""`python -m runner extract`: the target's hidden states for every conversation, by a patched SGLang server."""

from collections.abc import Sequence

from runner.flags import parse


def main(argv: Sequence[str]) -> int:
    from runner.extract.options import ExtractOptions
    from runner.extract.run import run

    run(parse(ExtractOptions, argv, "python -m runner extract"))
    return 0
