"""`python -m bot read`: how a text would be read, or how well a labelled corpus is."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bot.cli import arguments
from bot.core.reading import Context, Intent, read
from bot.core.reading.decode import ContextError, context_of
from bot.core.reading.fixtures import FIXTURES
from bot.core.reading.score import CorpusError, Score, Verdict, parse_corpus, score
from bot.errors import CommandError

_LINE_KEYS = ("total", "right", "unsafe", "needless_asks", "mute")


def main(argv: list[str]) -> int:
    to = arguments.parser("read", "Show how a text would be read, with the rule that decided; or score a corpus.")
    to.add_argument("text", nargs="?", help="the message, as Slack delivers it")
    to.add_argument(
        "--context",
        metavar="CODE_OR_FILE",
        default="G1",
        help=f"one of {', '.join(FIXTURES)}, or a JSON file with the fields of a Context (default: %(default)s)",
    )
    to.add_argument("--corpus", type=Path, metavar="FILE.tsv", help="labelled messages to score instead")
    to.add_argument("--contexts", type=Path, metavar="FILE.json", help="context texts of the corpus to codes")
    to.add_argument("--json", action="store_true", help="score as one JSON line")
    args = to.parse_args(argv)
    if args.corpus is not None:
        return _score(args.corpus, args.contexts, as_json=args.json)
    if args.text is None:
        to.error("give a TEXT or a --corpus")
    readings = [intent.as_json() for intent in read(args.text, _context(args.context))]
    print(json.dumps(readings, ensure_ascii=False, indent=None if args.json else 2))
    return 0


def _context(code_or_file: str) -> Context:
    if code_or_file in FIXTURES:
        return FIXTURES[code_or_file]
    try:
        return context_of(json.loads(Path(code_or_file).read_text(encoding="utf-8")))
    except OSError as error:
        raise CommandError(
            f"no context code and no readable file: {code_or_file}", f"codes: {', '.join(FIXTURES)}"
        ) from error
    except (ContextError, ValueError) as error:
        raise CommandError(f"{code_or_file}: {error}") from error


def _score(corpus: Path, contexts: Path | None, *, as_json: bool) -> int:
    try:
        codes = json.loads(contexts.read_text(encoding="utf-8")) if contexts else {code: code for code in FIXTURES}
        result = score(parse_corpus(corpus.read_text(encoding="utf-8"), codes), FIXTURES)
    except CorpusError as error:
        raise CommandError(f"{corpus}: {error}") from error
    except (OSError, ValueError) as error:
        raise CommandError(str(error)) from error
    _print(result, as_json=as_json)
    return 0


def _print(result: Score, *, as_json: bool) -> None:
    counts = result.as_json()
    if as_json:
        print(json.dumps({key: counts[key] for key in _LINE_KEYS}))
        return
    for verdict in result.verdicts:
        if verdict.missed:
            print(_miss(verdict))
    print(json.dumps(counts))


def _miss(verdict: Verdict) -> str:
    label = verdict.labelled
    flags = [name for name in ("unsafe", "needless_ask", "mute") if getattr(verdict, name)]
    read_as = " + ".join(_short(intent) for intent in verdict.reading)
    wanted = "+".join(label.intents) + "".join(f" or {'+'.join(other)}" for other in label.also)
    named = json.dumps(label.arguments[0] if len(label.arguments) == 1 else list(label.arguments), ensure_ascii=False)
    return (
        f"line {label.line} [{label.code}] {label.text!r} {' '.join(flags).upper()}\n"
        f"    label  {wanted} {named}\n    read   {read_as}"
    )


def _short(intent: Intent) -> str:
    return f"{intent.kind} {json.dumps(intent.arguments(), ensure_ascii=False)} ({intent.rule})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
