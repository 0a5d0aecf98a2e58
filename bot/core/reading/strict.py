"""Orders of one fixed form, read whole or not at all: adopt, and the confirmation of a cleanup.

They name paths, process ids and hosts, where nothing may be guessed; whatever deviates asks or is read as talk.
"""

from __future__ import annotations

import re

from bot.core.reading.context import Context, Place, RunView
from bot.core.reading.intent import Intent, Kind
from bot.core.reading.normalise import BOT, Cleaned

_LEAD = rf"\s*(?:(?:{BOT}|(?:ok|okay|hey|hi|please|then|now|and)\b)[\s,.:!]*)*"
_TAIL = r"(?:[\s,]+(?:please|thanks|thx))?[\s.!]*"
_RUN = r"(?:\s+(?:for|of|in|to)\s+(?:run\s+)?(?P<run>r\d+))?"
_PATH = r'(?:"[^"\n]+"|[/~][^\s"]*)'
_ADOPT = re.compile(
    rf"{_LEAD}adopt\s+(?P<host>[a-z0-9][\w.-]*)(?:\s*:\s?(?P<path>{_PATH})|\s+pid\s+(?P<pid>[1-9]\d{{0,9}}))"
    rf"\s+as\s+(?:the\s+)?(?P<stage>[\w.-]+(?: [\w.-]+)??)(?:\s+stage)?(?:\s+in\s+(?P<out>{_PATH}))?{_RUN}{_TAIL}",
    re.IGNORECASE,
)
_ADOPTS = re.compile(rf"{_LEAD}adopt\b", re.IGNORECASE)
_CLEANUP = re.compile(rf"{_LEAD}confirm(?:\s+the)?\s+clean[\s-]?up{_RUN}{_TAIL}", re.IGNORECASE)
_IN_A_PATH = re.compile(r"[{}\x00-\x1f]")


def read_strict(cleaned: Cleaned, context: Context) -> Intent | None:
    """None for all that is no such order, and none that went wrong."""
    matched = _CLEANUP.fullmatch(cleaned.cased)
    if matched is not None and _plain(cleaned):
        run, answer = _run_of(matched["run"], context)
        return answer or Intent(kind=Kind.CLEANUP, rule="cleanup_confirmed", run=run.id if run else None)
    if not _ADOPTS.match(cleaned.cased):
        return None
    matched = _ADOPT.fullmatch(cleaned.cased)
    if matched is None or not _plain(cleaned):
        return _ask("adopt_form", context)
    run, answer = _run_of(matched["run"], context)
    if answer is not None or run is None:
        return answer
    stage = _stage_of(matched["stage"], run)
    if stage is None:
        return _ask("adopt_stage", context, run)
    path, out = (_unquoted(matched[name]) for name in ("path", "out"))
    if (path and matched["out"]) or _IN_A_PATH.search(path + out):
        return _ask("adopt_form", context, run)
    more = {"host": matched["host"], "path": path, "pid": int(matched["pid"] or 0), "out": out}
    return Intent(kind=Kind.ADOPT, rule="adopt", run=run.id, stage=stage, more={k: v for k, v in more.items() if v})


def _plain(cleaned: Cleaned) -> bool:
    return not (cleaned.struck or cleaned.disguised or cleaned.truncated or cleaned.quoted or cleaned.fenced)


def _unquoted(text: str | None) -> str:
    found = text or ""
    return found.strip('"') if found.startswith('"') else found.rstrip(",;")


def _run_of(named: str | None, context: Context) -> tuple[RunView | None, Intent | None]:
    """The thread's run, the named one, or the only one; else the question which."""
    wanted = (named or "").lower() or (context.thread_run if context.place is Place.THREAD else None)
    if context.place is Place.THREAD and wanted != context.thread_run:
        return None, _ask("thread_names_other_run", context)
    if wanted is not None:
        run = context.find(wanted)
        return run, None if run else _ask("unknown_run", context)
    if len(context.runs) == 1:
        return context.runs[0], None
    return None, _ask("name_the_run" if context.runs else "nothing_waiting", context)


def _ask(why: str, context: Context, run: RunView | None = None) -> Intent:
    here = run.id if run else context.thread_run
    more = {} if here else {"candidates": [each.id for each in context.runs]}
    return Intent(kind=Kind.ASK, rule="not_in_its_form", run=here, why=why, more=more)


def _stage_of(said: str, run: RunView) -> str | None:
    """Exactly one stage by its id or another name of it."""
    word = " ".join(said.lower().split())
    found = [stage.id for stage in run.stages if word in (stage.id.lower(), *stage.aliases)]
    return found[0] if len(found) == 1 else None
