"""`python -m runner VERB`: dispatch to one module a verb, and the boundary where errors become status and exit code."""

import errno
import importlib
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType

from runner.protocol.errors import DataError, DiskFull, Interrupted, ProtocolError, StageError
from runner.protocol.output import is_unread, until_unread
from runner.stage import status

VERBS = {
    "target": ("runner.target", "make a target model folder: smollm2, or a tiny random model"),
    "synth": ("runner.synth", "let the target answer prompts: the training conversations"),
    "extract": ("runner.extract", "capture the target's hidden states for those conversations"),
    "vocab": ("runner.vocab", "choose the drafter's vocabulary"),
    "train": ("runner.train", "train the EAGLE-3 drafter"),
    "evaluate": ("runner.evaluate", "acceptance length of a drafter in a plain torch loop"),
    "export": ("runner.export", "write a checkpoint as the folder that SGLang serves"),
    "bench": ("runner.bench", "serve with and without the drafter, interleaved, and compare"),
    "deploy": ("runner.deploy", "put a benchmarked drafter into service, and take it back if it disappoints"),
    "patch": ("runner.patch", "change SGLang's model files for capture, where plugins cannot be loaded"),
    "verify": ("runner.verify", "gather evidence on a stage's output"),
}


def usage() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {verb:<{width}}  {text}" for verb, (_, text) in VERBS.items()]
    return "usage: python -m runner VERB [--help | flags]\n\n" + "\n".join(lines)


def main(argv: Sequence[str]) -> int:
    """Run one verb. Exit codes: 0 done, 1 a StageError, 2 wrong usage, 143 interrupted."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if argv else 2
    verb, *rest = argv
    if verb not in VERBS:
        print(f"no verb {verb!r}\n\n{usage()}", file=sys.stderr)
        return 2
    _stop_by_signal()
    try:
        code: int = importlib.import_module(VERBS[verb][0]).main(rest)
        return code
    except StageError as error:
        return _fail(error)
    except ProtocolError as error:
        return _fail(DataError(str(error)))
    except OSError as error:
        if isinstance(error, BrokenPipeError) and is_unread(sys.stdout):
            raise
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return _fail(DiskFull(f"no space left: {error}", "free space on that disk, then retry"))
        traceback.print_exc()
        return _fail(StageError(f"{type(error).__name__}: {error}"))
    except Exception as error:
        traceback.print_exc()
        return _fail(StageError(f"{type(error).__name__}: {error}", "a fault of the program: the log has its trace"))


def _fail(error: StageError) -> int:
    print(f"{type(error).__name__}: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"  {error.hint}", file=sys.stderr)
    try:
        status().fail(error)
    except (OSError, StageError) as second:  # a full disk must not hide the first reason
        print(f"status not written: {second}", file=sys.stderr)
    return error.exit_code


def _stop_by_signal() -> None:
    """The first SIGTERM or SIGINT becomes Interrupted; later ones are ignored, so that saving is not cut short."""

    def stop(number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise Interrupted(f"stopped by {signal.Signals(number).name}", "run the same command again: it resumes")

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)


if __name__ == "__main__":
    sys.exit(until_unread(main, sys.argv[1:]))
