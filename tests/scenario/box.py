"""A host that does as it is told."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bot.errors import HostUnreachable, LaunchFailed
from runner.protocol.evidence import Bad, Check, Evidence, Subject
from runner.protocol.spec import AttemptSpec
from runner.protocol.status import Progress
from runner.protocol.view import AttemptView, HostFacts, HostView, PollAsk


def evidence(stage: str, *checks: tuple[str, int, int], bad: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """(name, found, expected) each; proven when all agree and nothing is bad."""
    made = [Check(name, found == expected, found, expected) for name, found, expected in checks]
    return Evidence(stage, Subject(f"/data/{stage}"), made, [Bad(*item) for item in bad]).to_json()


@dataclass
class Box:
    """A host: launches are counted by token; what an attempt does is told by `proofs`, `progress` and `end`."""

    name: str = "box1"
    launches: list[AttemptSpec] = field(default_factory=list)
    views: dict[str, AttemptView] = field(default_factory=dict)
    proofs: dict[str, dict[str, Any]] = field(default_factory=dict)  # by stage, for every look at it
    looks_take_s: float = 0.0
    down: bool = False
    hang: threading.Event | None = None
    refuses: str = ""
    launches_fail: bool = False
    polled: int = 0
    folders: dict[str, int] = field(default_factory=dict)  # what lies there: bytes by path
    processes: dict[int, dict[str, Any]] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)  # as the last question named them

    def _reach(self) -> None:
        if self.hang is not None:
            self.hang.wait(20)
        if self.down:
            raise HostUnreachable(self.name, "no answer within 15 s")

    def launch(self, spec: AttemptSpec, secrets: Mapping[str, str]) -> AttemptView:
        self._reach()
        if self.launches_fail:
            raise HostUnreachable(self.name, "the link broke")
        if self.refuses:
            raise LaunchFailed(self.name, self.refuses)
        if spec.attempt not in self.views:
            self.launches.append(spec)
            self.views[spec.attempt] = AttemptView(spec.attempt, "running", spec.token, pid=4000 + len(self.launches))
            if "." in spec.attempt:
                threading.Timer(self.looks_take_s, self._looked, [spec]).start()
        return self.views[spec.attempt]

    def _looked(self, spec: AttemptSpec) -> None:
        proof = self.proofs.get(spec.stage) or evidence(spec.stage, ("samples", 10, 10))
        self.views[spec.attempt] = replace(self.views[spec.attempt], state="exited", rc=0, evidence=proof)

    def poll(self, asks: Sequence[PollAsk]) -> HostView:
        self._reach()
        self.polled += 1
        facts = HostFacts("boot", self.name, "now", 10**12, 2 * 10**12, 0.5, "3.11", root="/srv/pointsman")
        return HostView(facts, [self.views.get(a.attempt, AttemptView(a.attempt, "absent")) for a in asks])

    def kill(self, attempt: str, token: str, grace_s: float) -> AttemptView:
        self._reach()
        view = self.views.get(attempt)
        if view is None:
            return AttemptView(attempt, "absent")
        self.views[attempt] = replace(view, state="cancelled")
        return self.views[attempt]

    def ship(self, archive: bytes, digest: str) -> None:
        self._reach()

    def fetch(self, path: str, max_bytes: int) -> bytes:
        raise FileNotFoundError(path)

    def inspect(self, *, path: str = "", pid: int = 0) -> dict[str, Any]:
        self._reach()
        if pid and pid in self.processes:
            return self.processes[pid]
        if path in self.folders:
            return {"path": path, "bytes": self.folders[path], "files": 10, "whole": True}
        raise LaunchFailed(self.name, f"there is no {pid or path}", "no-folder")

    def adopt(self, spec: AttemptSpec, process: Mapping[str, Any]) -> AttemptView:
        self._reach()
        self.views.setdefault(spec.attempt, AttemptView(spec.attempt, "running", spec.token, pid=process["pid"]))
        return self.views[spec.attempt]

    def usage(self, paths: Sequence[str], others: Mapping[str, str]) -> list[dict[str, Any]]:
        self._reach()
        self.others = dict(others)
        used = {path: f"used by {who}" for path, who in others.items()}
        return [
            {"path": path, "bytes": self.folders[path], "files": 10, "whole": True, "kept": used.get(path, "")}
            for path in paths
            if path in self.folders
        ]

    def remove(self, paths: Sequence[str], others: Mapping[str, str]) -> list[str]:
        self._reach()
        assert not set(paths) & set(others)
        self.removed += [path for path in paths if self.folders.pop(path, None) is not None]
        return list(paths)

    def close(self) -> None:
        return None

    def progress(self, attempt: str, done: int, total: int = 10) -> None:
        status = {"state": "running", "progress": vars(Progress(done, total, "samples"))}
        self.views[attempt] = replace(self.views[attempt], status=status)

    def end(self, attempt: str, rc: int = 0) -> None:
        self.views[attempt] = replace(
            self.views[attempt], state="exited", rc=rc, log_tail="Done\n" if not rc else "boom"
        )

    def works(self) -> list[str]:
        """Attempts that did work, in order."""
        return [spec.attempt for spec in self.launches if "." not in spec.attempt]
