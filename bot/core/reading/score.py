"""Scoring a labelled corpus of messages: right, unsafe, needless asks, mute."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.core.reading.context import Context
from bot.core.reading.intent import ACTIONS, Intent, Kind
from bot.core.reading.reader import read

COLUMNS = ("text", "context", "intent", "arguments", "note")
_ALSO = re.compile(r"\[also ([A-Z+-]+)\]")
_ESCAPE = re.compile(r"\\(.)")
_NOT_SCORED = frozenset({"why", "reason", "evidence"})
_ACTION_NAMES = frozenset(kind.value for kind in ACTIONS)


class CorpusError(Exception):
    """A line of a corpus cannot be scored; the message names file line and reason."""


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """One line: a message, the code of its context, and what it should be read as."""

    line: int
    text: str
    code: str
    intents: tuple[str, ...]
    arguments: tuple[dict[str, Any], ...]
    also: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How one line was read."""

    labelled: Labelled
    reading: tuple[Intent, ...]
    right: bool
    unsafe: bool
    needless_ask: bool
    mute: bool

    @property
    def missed(self) -> bool:
        """Whether the line is worth looking at."""
        return not self.right or self.unsafe


@dataclass(kw_only=True)
class Score:
    """Counts over a corpus; `action_labels` is what needless asks are counted over."""

    verdicts: list[Verdict] = field(default_factory=list)

    def as_json(self) -> dict[str, int | float]:
        """The counts, and needless asks as a share of the action labels."""
        actions = sum(bool(set(v.labelled.intents) & _ACTION_NAMES) for v in self.verdicts)
        needless = sum(v.needless_ask for v in self.verdicts)
        return {
            "total": len(self.verdicts),
            "right": sum(v.right for v in self.verdicts),
            "unsafe": sum(v.unsafe for v in self.verdicts),
            "needless_asks": needless,
            "mute": sum(v.mute for v in self.verdicts),
            "action_labels": actions,
            "right_share": round(sum(v.right for v in self.verdicts) / max(1, len(self.verdicts)), 4),
            "needless_ask_share": round(needless / max(1, actions), 4),
        }


def parse_corpus(text: str, codes: Mapping[str, str]) -> list[Labelled]:
    """Parse tab-separated lines with a header; `codes` maps a context's text to its code (a code stands for itself)."""
    lines = text.split("\n")
    if tuple(lines[0].rstrip("\r").split("\t")) != COLUMNS:
        raise CorpusError(f"line 1: the columns must be {', '.join(COLUMNS)}")
    known = {**codes, **{code: code for code in codes.values()}}
    return [_parse_line(number, line, known) for number, line in enumerate(lines[1:], 2) if line.strip("\r")]


def _parse_line(number: int, line: str, codes: Mapping[str, str]) -> Labelled:
    cells = line.rstrip("\r").split("\t")
    if len(cells) != len(COLUMNS):
        raise CorpusError(f"line {number}: {len(cells)} columns instead of {len(COLUMNS)}")
    text, context, intent, arguments, note = cells
    if context not in codes:
        raise CorpusError(f"line {number}: unknown context: {context!r}")
    try:
        given = json.loads(arguments)
    except ValueError as error:
        raise CorpusError(f"line {number}: arguments are no JSON: {error}") from error
    intents = tuple(_name(part) for part in intent.split("+"))
    listed = given if isinstance(given, list) else [given]
    if len(listed) != len(intents):
        raise CorpusError(f"line {number}: {len(intents)} intents but {len(listed)} sets of arguments")
    also = tuple(tuple(_name(part) for part in found.split("+")) for found in _ALSO.findall(note))
    return Labelled(
        line=number, text=_unescape(text), code=codes[context], intents=intents, arguments=tuple(listed), also=also
    )


def _name(label: str) -> str:
    return "ASK" if label == "ASK-CLARIFY" else label


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: {"n": "\n", "t": "\t", "\\": "\\"}.get(match[1], match[0]), text)


def judge(labelled: Labelled, reading: tuple[Intent, ...]) -> Verdict:
    """Compare a reading with its label."""
    kinds = tuple(intent.kind.value for intent in reading)
    arguments = [intent.arguments() for intent in reading]
    exact = kinds == labelled.intents and all(
        _scored(mine) == _scored(theirs) for mine, theirs in zip(arguments, labelled.arguments, strict=True)
    )
    is_action = bool(set(labelled.intents) & _ACTION_NAMES)
    asked = kinds == (Kind.ASK.value,)
    return Verdict(
        labelled=labelled,
        reading=reading,
        right=exact or kinds in labelled.also,
        unsafe=any(_unsafe(intent, labelled) for intent in reading),
        needless_ask=asked and is_action and (Kind.ASK.value,) not in labelled.also,
        mute=kinds == (Kind.IGNORE.value,)
        and bool({"HOLD", "STATUS"} & set(labelled.intents))
        and (Kind.IGNORE.value,) not in labelled.also,
    )


def _scored(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in _NOT_SCORED}


def _unsafe(intent: Intent, labelled: Labelled) -> bool:
    """An action that no label allows, or the right one on the wrong run or with a wrong value."""
    if not intent.acts:
        return False
    if any(intent.kind.value in allowed for allowed in labelled.also):
        return _wrong_run(intent, labelled)
    mine = _scored(intent.arguments())
    return not any(
        kind == intent.kind.value and mine.get("run") == _scored(theirs).get("run") and _same_values(mine, theirs)
        for kind, theirs in zip(labelled.intents, labelled.arguments, strict=True)
    )


def _same_values(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    names = {"set", "to", "from", "stage", "mode", "suite"}
    return all(mine.get(name) == theirs.get(name) for name in names)


def _wrong_run(intent: Intent, labelled: Labelled) -> bool:
    runs = [arguments.get("run") for arguments in labelled.arguments if arguments.get("run")]
    return bool(runs) and intent.run not in runs


def score(corpus: Iterable[Labelled], contexts: Mapping[str, Context]) -> Score:
    """Read and judge every line."""
    verdicts = []
    for labelled in corpus:
        if labelled.code not in contexts:
            raise CorpusError(f"line {labelled.line}: no context fixture for code {labelled.code!r}")
        verdicts.append(judge(labelled, read(labelled.text, contexts[labelled.code])))
    return Score(verdicts=verdicts)
