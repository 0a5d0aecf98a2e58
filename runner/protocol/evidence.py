"""What the machine showed: `evidence.json`."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Optional

from runner.protocol import VERSION
from runner.protocol.errors import ProtocolError

VERDICTS = ("proven", "contradicted", "unsettled", "unknown")


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. `ok` None: could not be decided (said in `detail`)."""

    name: str
    ok: Optional[bool]
    found: Any = None
    expected: Any = None
    detail: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Bad:
    """One bad item of the subject, by its id."""

    id: str
    why: str


@dataclass(frozen=True)
class Subject:
    """What was looked at: a path on the host and the digest of its manifest."""

    path: str
    manifest_digest: Optional[str] = None


@dataclass(frozen=True)
class Evidence:
    """All checks of one stage's output, and what they come to."""

    stage: str
    subject: Subject
    checks: List[Check]
    bad: List[Bad] = field(default_factory=list)
    pictures: List[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """proven: every check ok. contradicted: one failed. unsettled: one undecided. unknown: nothing was checked."""
        if not self.checks:
            return "unknown"
        if any(check.ok is False for check in self.checks) or self.bad:
            return "contradicted"
        return "proven" if all(check.ok is True for check in self.checks) else "unsettled"

    @property
    def digest(self) -> str:
        """sha256 over all but the seconds, so that the same findings have the same digest."""
        body = self._body()
        for check in body["checks"]:
            del check["seconds"]
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode("utf-8")).hexdigest()

    def _body(self) -> Dict[str, Any]:
        return asdict(self)

    def to_json(self) -> Dict[str, Any]:
        return dict(self._body(), version=VERSION, verdict=self.verdict, digest=self.digest)

    @staticmethod
    def from_json(value: Dict[str, Any]) -> "Evidence":
        """Raises ProtocolError when a field is missing, unknown, or verdict or digest are not those of the checks."""
        try:
            if value["version"] != VERSION:
                raise ProtocolError("evidence has version %r, this code reads %d" % (value["version"], VERSION))
            evidence = Evidence.redone(value)
            if value.get("verdict") != evidence.verdict or value.get("digest") != evidence.digest:
                raise ProtocolError("evidence disagrees with its own verdict or digest")
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ProtocolError("evidence does not fit: %r" % error) from error
        return evidence

    @staticmethod
    def redone(value: Dict[str, Any]) -> "Evidence":
        """From the parts, verdict and digest made anew. Raises ProtocolError when a part is of another type."""
        try:
            evidence = Evidence(
                stage=value["stage"],
                subject=Subject(**value["subject"]),
                checks=[Check(**check) for check in value["checks"]],
                bad=[Bad(**bad) for bad in value.get("bad", [])],
                pictures=list(value.get("pictures", [])),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ProtocolError("evidence does not fit: %r" % error) from error
        texts = [evidence.stage, evidence.subject.path, evidence.subject.manifest_digest or "", *evidence.pictures]
        texts += [told for check in evidence.checks for told in (check.name, check.detail)]
        texts += [told for bad in evidence.bad for told in (bad.id, bad.why)]
        if not all(isinstance(told, str) for told in texts):
            raise ProtocolError("evidence has a name, path or reason that is no text")
        for check in evidence.checks:
            if not (check.ok is True or check.ok is False or check.ok is None):  # 1, "no": neither proves anything
                raise ProtocolError("evidence: ok of %s is %.40r, not true, false or null" % (check.name, check.ok))
            if isinstance(check.seconds, bool) or not isinstance(check.seconds, (int, float)):
                raise ProtocolError("evidence: seconds of %s is no number" % check.name)
        return evidence
