"""`python -m runner verify STAGE`: evidence on a stage's output. Exit code 0 whenever evidence could be made."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from runner.flags import parse
from runner.protocol.evidence import Bad, Check, Evidence, Subject
from runner.protocol.files import write_json
from runner.stage import status
from runner.verify.options import VerifyOptions


@dataclass(frozen=True)
class Findings:
    """What one stage's look came to."""

    checks: list[Check]
    bad: list[Bad] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)


def _synth(options: VerifyOptions) -> Findings:
    from runner.verify import synth

    return Findings(*synth.check_synth(options))


def _extract(options: VerifyOptions) -> Findings:
    from runner.verify import extract

    return Findings(*extract.check_extract(options))


def _vocab(options: VerifyOptions) -> Findings:
    from runner.verify import vocab

    return Findings(vocab.check_vocab(options.subject, options.features, options.is_full))


def _train(options: VerifyOptions) -> Findings:
    from runner.verify import train

    checks = train.check_train(options.subject, options.features, options.vocab, options.target, options.is_full)
    return Findings(checks, pictures=train.pictures(options.subject))


def _bench(options: VerifyOptions) -> Findings:
    from runner.verify import bench

    checks = bench.check_bench(options.subject, options.target, options.draft, options.is_full)
    return Findings(checks, pictures=bench.pictures(options.subject))


def _deploy(options: VerifyOptions) -> Findings:
    from runner.verify import deploy

    return Findings(deploy.check_deploy(options.subject))


STAGES: dict[str, Callable[[VerifyOptions], Findings]] = {
    "synth": _synth,
    "extract": _extract,
    "vocab": _vocab,
    "train": _train,
    "bench": _bench,
    "deploy": _deploy,
}


def main(argv: Sequence[str]) -> int:
    if not argv or argv[0] not in STAGES:
        print(f"usage: python -m runner verify {{{','.join(STAGES)}}} --subject DIR [flags]", file=sys.stderr)
        return 0 if argv and argv[0] in ("-h", "--help") else 2
    stage, *rest = argv
    options = parse(VerifyOptions, rest, f"python -m runner verify {stage}")
    found = STAGES[stage](options)
    evidence = Evidence(
        stage=stage,
        subject=Subject(str(options.subject), _digest(options.subject)),
        checks=found.checks,
        bad=found.bad,
        pictures=found.pictures,
    )
    path = options.evidence_folder / "evidence.json"
    write_json(str(path), evidence.to_json())
    for check in evidence.checks:
        mark = {True: "ok", False: "FAILED", None: "open"}[check.ok]
        print(f"{mark:>6}  {check.name}: {check.found} (expected {check.expected}) {check.detail}", file=sys.stderr)
    for bad in evidence.bad[:20]:
        print(f"   bad  {bad.id}: {bad.why}", file=sys.stderr)
    print(f"{evidence.verdict}: {path}", file=sys.stderr)
    status().update("done", message=f"{stage}: {evidence.verdict}", force=True)
    return 0


def _digest(subject: Path) -> str | None:
    """sha256 of what names the subject: its manifest, else its result."""
    for name in ("manifest.json", "result.json"):
        try:
            return sha256((subject / name).read_bytes()).hexdigest()
        except OSError:
            continue
    return None
