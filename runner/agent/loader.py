"""Imports the agent from sources held in memory, so that it runs without a file on the host."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Dict, Optional, Tuple


class MemoryImporter:
    """Finder and loader of modules given as {name: (is_package, source)}."""

    def __init__(self, sources: Dict[str, Tuple[bool, str]]) -> None:
        self.sources = sources

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        if name not in self.sources:
            return None
        return ModuleSpec(name, self, is_package=self.sources[name][0])  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> Optional[ModuleType]:
        return None

    def exec_module(self, module: ModuleType) -> None:
        source = self.sources.pop(module.__name__)[1]
        exec(compile(source, "<agent>/%s.py" % module.__name__, "exec"), module.__dict__)


def install(sources: Dict[str, Tuple[bool, str]]) -> None:
    sys.meta_path.insert(0, MemoryImporter(sources))
