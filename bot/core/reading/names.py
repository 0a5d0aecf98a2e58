"""The names of this moment: runs, stages, parameters, hosts and suites, as the context gives them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bot.core.reading.context import Context, ParamSpec, StageView
from bot.core.reading.fuzzy import ACT_FROM, is_acting_slip
from bot.core.reading.lexicon import Tag
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
    """All names that may be understood in this context; a model word shared by two runs names neither."""
    names = Names()
    for run in context.runs:
        _add_stages(names, run.stages)
        for name in run.names:
            sharing = [other.id for other in context.runs if name in other.names]
            names.add(name, Tag.RUN, run.id if len(sharing) == 1 else None)
        _add_params(names, run.params)
        for suite in run.suites:
            names.add(suite, Tag.SUITE, suite)
    for pipeline in context.pipelines:
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
        for verb in stage.verbs:
            names.add(verb, Tag.DO_STAGE, stage.id)


def _add_params(names: Names, params: tuple[ParamSpec, ...]) -> None:
    for spec in params:
        for name in (spec.name, *spec.aliases):
            names.add(name, Tag.PARAM, spec)
        if spec.type == "host":
            for host in spec.choices:
                names.add(host, Tag.HOST, Host(host, spec))
