"""Evidence for a deployment: the drafter that was benchmarked is the one that is served, and does as well there."""

from pathlib import Path
from typing import Any

from runner.bench import files
from runner.bench.records import read_records
from runner.deploy import live, release
from runner.deploy.expected import Expected, acceptance_of, expect
from runner.protocol.errors import ProtocolError, StageError
from runner.protocol.evidence import Check
from runner.protocol.files import read_json


def check_deploy(subject: Path) -> list[Check]:
    """Look at a data folder of deploy, at the serving folder and at the serving process. A result that is no result is
    one failed check.
    """
    try:
        result = read_json(str(subject / files.RESULT))
        serving, name = Path(result["serving"]), str(result["release"])
        folder = serving / release.DRAFTERS / name
        bench, num_prompts, share = Path(result["bench"]), int(result["prompts"]), float(result["share"])
        url, digest = str(result["url"]), str(result["draft_digest"])
    except (OSError, ProtocolError, KeyError, TypeError, ValueError) as error:
        return [Check("result", False, found=repr(error), expected=f"{files.RESULT} of a deployment")]
    checks = [_published(folder, name), _linked(serving, name)]
    try:
        expected = expect(bench, folder, num_prompts, min_speedup=0.0)
    except (OSError, StageError) as error:
        return [*checks, Check("benchmarked", False, found=str(error), expected=f"drafter {digest[:12]} in {bench}")]
    checks.append(Check("benchmarked", expected.draft_digest == digest, expected.draft_digest[:12], digest[:12]))
    return [*checks, _acceptance(subject, expected, share), _live(url, folder, expected)]


def _published(folder: Path, name: str) -> Check:
    try:
        found = release.release_name(folder)
    except (OSError, StageError) as error:
        found = str(error)
    return Check("published", found == name, found=found, expected=name, detail=str(folder))


def _linked(serving: Path, name: str) -> Check:
    try:
        found = release.served(serving) or "nothing"
    except StageError as error:
        found = error.message
    return Check("linked", found == name, found=found, expected=name, detail=str(serving / release.CURRENT))


def _acceptance(subject: Path, expected: Expected, share: float) -> Check:
    """Counted again from the answers."""
    wanted = f"at least {share:g} of {expected.acceptance:.3f}, on {len(expected.prompts)} prompts"
    try:
        records = read_records(subject / files.RECORDS)
    except StageError as error:
        return Check("acceptance", False, found=error.message, expected=wanted)
    found = acceptance_of(records, expected.steps)
    asked = {record.prompt for record in records} == {prompt.id for prompt in expected.prompts}
    return Check(
        "acceptance",
        asked and found >= share * expected.acceptance,
        found=round(found, 3),
        expected=wanted,
        detail="" if asked else f"{len(records)} answers, not one to each prompt",
    )


def _live(url: str, folder: Path, expected: Expected) -> Check:
    """What the process says now. Silence is no proof of anything, and no reason to call it well."""
    seen = live.look(url)
    wanted: dict[str, Any] = {"found": f"{url} does not answer", "expected": f"{url} serves {folder.name}"}
    if seen is None:
        return Check("live", False, **wanted)
    wrong = list(live.misfits(seen.facts, folder, expected))
    return Check("live", not wrong, found="; ".join(wrong) or f"serves {folder.name}", expected=wanted["expected"])
