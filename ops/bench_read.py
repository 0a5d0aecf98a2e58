"""Reading messages: milliseconds for ordinary, endless and disguised ones; right and unsafe beside a keyword matcher.

Each message is read many times in each context; the time is the CPU's own, so that other work on the machine does not
count. The matcher is what a bot of an afternoon would have: a few words, looked for anywhere in the text.
"""

import argparse
import gc
import json
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from bot.core.reading import Context, Intent, Kind, read
from bot.core.reading.fixtures import FIXTURES
from bot.core.reading.score import Labelled, Score, judge, parse_corpus

Reader = Callable[[str, Context], tuple[Intent, ...]]
CHAT = Path(__file__).parents[1] / "tests/data/chat"
LONG = 40_000
CODES = ("G1", "G2", "R37", "T62", "F")
HARD = {
    "orders": "continue " * (LONG // 9),
    "an order behind padding": "x " * (LONG // 2) + "continue",
    "one word": "continue" * (LONG // 8),
    "unclosed fences": "```" * (LONG // 3),
    "fenced orders": "```continue```\n" * (LONG // 15),
    "block quotes": "> continue\n" * (LONG // 11),
    "values": "lr 2e-4 " * (LONG // 8),
    "numbers": "1e9," * (LONG // 4),
    "mentions": "<@U0BOT>" * (LONG // 8),
    "unclosed mentions": "<@" * (LONG // 2),
    "underscores": "_" * LONG,
    "tildes": "~a" * (LONG // 2),
    "misspelt words": "contniue stpo trianing " * (LONG // 23),
    "Chinese": "继续" * (LONG // 2),
    "emoji": "👍" * LONG,
    "look-alike letters": "c\u043entinue " * (LONG // 9),
    "full width": "\uff43\uff4f\uff4e\uff54\uff49\uff4e\uff55\uff45 " * (LONG // 9),
    "zalgo": ("c" + "\u0337" * 20 + "o" + "\u0336" * 20) * (LONG // 42),
    "right-to-left": "\u202eeunitnoc\u202c " * (LONG // 11),
}
WORDS: tuple[tuple[str, Kind], ...] = (
    (r"continue|proceed|go|approve|lgtm|yes|start", Kind.ADVANCE),
    (r"cancel|kill|abort|stop", Kind.CANCEL),
    (r"retry|rerun|again", Kind.RETRY),
    (r"bench|benchmark", Kind.BENCH),
    (r"hold|wait|no|pause", Kind.HOLD),
    (r"status|eta|logs|loss|help|how|what|who", Kind.STATUS),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one line")
    parser.add_argument("--rounds", type=int, default=20, help="readings of each hard message (default %(default)s)")
    options = parser.parse_args()
    found = measure(options.rounds)
    if options.json:
        print(json.dumps(found))
    else:
        show(found)
    return 0


def measure(rounds: int) -> dict[str, object]:
    codes = json.loads((CHAT / "contexts.json").read_text(encoding="utf-8"))
    corpora = {
        name: parse_corpus((CHAT / name).read_text(encoding="utf-8"), codes) for name in ("messages.tsv", "unseen.tsv")
    }
    lines = [line for corpus in corpora.values() for line in corpus]
    gc.freeze()  # the corpora themselves are no garbage to look through while a message is read
    ordinary = [read_timed(line.text, FIXTURES[line.code])[1] for _ in range(3) for line in lines]
    hard, acted = {}, 0
    for name, text in HARD.items():
        readings = [read_timed(text, FIXTURES[code]) for code in CODES for _ in range(rounds)]
        acted += sum(intent.acts for intents, _ in readings for intent in intents)
        hard[name] = spread([ms for _, ms in readings])
    return {
        "ordinary": spread(ordinary),
        "hard": hard,
        "hard_characters": LONG,
        "hard_worst_ms": max(found["max_ms"] for found in hard.values()),
        "hard_acted": acted,
        "corpora": {name: scores(corpus, by=read) for name, corpus in corpora.items()},
        "keyword_matcher": {name: scores(corpus, by=match) for name, corpus in corpora.items()},
    }


def read_timed(text: str, context: Context) -> tuple[tuple[Intent, ...], float]:
    began = time.thread_time()
    intents = read(text, context)
    return intents, (time.thread_time() - began) * 1000


def spread(times_ms: list[float]) -> dict[str, float]:
    ordered = sorted(times_ms)
    return {
        "median_ms": round(statistics.median(ordered), 3),
        "p99_ms": round(ordered[int(len(ordered) * 0.99)], 3),
        "max_ms": round(ordered[-1], 3),
    }


def match(text: str, context: Context) -> tuple[Intent, ...]:
    """The rival: the first class of words that is found decides; it knows the gate, and nothing of what is meant."""
    run = next((run for run in context.runs if run.id == context.thread_run), next(iter(context.runs), None))
    for words, kind in WORDS:
        if not re.search(rf"\b(?:{words})\b", text, re.IGNORECASE):
            continue
        if run is None:
            return (Intent(kind=kind, rule="keyword"),)
        if kind is Kind.ADVANCE:
            return (Intent(kind=kind, rule="keyword", run=run.id, from_stage=run.stage, to=run.gate_to),)
        more = {Kind.STATUS: {"view": "summary"}, Kind.RETRY: {"mode": "resume"}}.get(kind, {})
        stage = run.stage if kind in (Kind.CANCEL, Kind.RETRY) else None
        return (Intent(kind=kind, rule="keyword", run=run.id, stage=stage, more=more),)
    return (Intent(kind=Kind.IGNORE, rule="keyword"),)


def scores(corpus: Iterable[Labelled], by: Reader) -> dict[str, float]:
    return Score(verdicts=[judge(line, by(line.text, FIXTURES[line.code])) for line in corpus]).as_json()


def show(found: dict[str, object]) -> None:
    print(f"{'message':<28}{'median ms':>10}{'p99 ms':>10}{'max ms':>10}")
    ordinary, hard = found["ordinary"], found["hard"]
    assert isinstance(ordinary, dict) and isinstance(hard, dict)
    for name, times in {"ordinary": ordinary, **hard}.items():
        print(f"{name:<28}" + "".join(f"{times[key]:>10.3f}" for key in ("median_ms", "p99_ms", "max_ms")))
    print(f"\nacted upon of all hard ones ({LONG:,} characters each): {found['hard_acted']}\n")
    for who in ("corpora", "keyword_matcher"):
        per_corpus = found[who]
        assert isinstance(per_corpus, dict)
        for name, counts in per_corpus.items():
            shown = ", ".join(f"{key} {counts[key]}" for key in ("total", "right", "unsafe", "needless_asks", "mute"))
            print(f"{'reader' if who == 'corpora' else 'keyword matcher':<16} {name:<14} {shown}")


if __name__ == "__main__":
    sys.exit(main())
