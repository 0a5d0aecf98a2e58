"""The names of this moment: runs, stages, parameters, hosts and suites, as the context gives them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from bot.core.reading.context import Context, ParamSpec, PipelineView, StageView
from bot.core.reading.fuzzy import ACT_FROM, is_acting_slip
from bot.core.reading.tags import Tag
from bot.core.reading.vocabulary import Vocabulary

RUN_ID = re.compile(r"r\d{1,6}\Z", re.ASCII)
_LONG_NAME = ACT_FROM + 1


@dataclass(frozen=True)
class Host:
    """A host named in text, and the parameter that it would set."""

    name: str
    param: ParamSpec


@dataclass
class Names:
    """Look-up of context names; `whole` are the ones that the tokeniser must not cut at hyphens."""

    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    whole: set[str] = field(default_factory=set)
    stages: set[str] = field(default_factory=set)

    def add(self, form: str, tag: Tag, value: object) -> None:
        """Add one name, lower case, in the spellings with and without hyphen or underscore."""
        form = form.lower()
        self.whole.add(form)
        for spelling in {form, form.replace("_", " "), form.replace("-", " "), form.replace("_", "-")}:
            if spelling.strip():
                self.whole.add(spelling)
                self.vocabulary.add(spelling, frozenset({tag}), value)

    def slip(self, typed: str) -> str | None:
        """The stage name that a misspelt word is one slip away from."""
        return next((name for name in self.stages if len(name) >= _LONG_NAME and is_acting_slip(typed, name)), None)


def collect(context: Context) -> Names:
    """All names that may be understood in this context; a model word shared by two runs names neither ("")."""
    named = tuple((run.id, run.names) for run in context.runs)
    known = tuple(dict.fromkeys((run.stages, run.params, run.suites) for run in context.runs))
    return _collect(named, known, context.pipelines)


_Known = tuple[tuple[StageView, ...], tuple[ParamSpec, ...], tuple[str, ...]]


@lru_cache(maxsize=64)
def _collect(
    named: tuple[tuple[str, tuple[str, ...]], ...],
    known: tuple[_Known, ...],
    pipelines: tuple[PipelineView, ...],
) -> Names:
    names = Names()
    for run, own in named:
        for name in own:
            shared = sum(name in others for _, others in named) > 1
            names.add(name, Tag.RUN, "" if shared else run)
    for stages, params, suites in known:
        _add_stages(names, stages)
        _add_params(names, params)
        for suite in suites:
            names.add(suite, Tag.SUITE, suite)
    for pipeline in pipelines:
        names.add(pipeline.name, Tag.MODEL, pipeline.name)
        _add_stages(names, pipeline.stages)
        _add_params(names, pipeline.params)
        for model in pipeline.models:
            names.add(model, Tag.MODEL, model)
    return names


def _add_stages(names: Names, stages: tuple[StageView, ...]) -> None:
    for stage in stages:
        for name in (stage.id, *stage.aliases, *stage.verbs):
            names.stages.add(name.lower())
            names.add(name, Tag.STAGE, stage.id)
        own = (stage.id, *stage.aliases) if stage.role == "bench" else (stage.id,)
        for verb in stage.verbs or own:
            names.add(verb, Tag.DO_STAGE, stage.id)


def _add_params(names: Names, params: tuple[ParamSpec, ...]) -> None:
    for spec in params:
        for name in (spec.name, *spec.aliases):
            names.add(name, Tag.PARAM, spec)
        if spec.type == "host":
            for host in spec.choices:
                names.add(host, Tag.HOST, Host(host, spec))
