"""One deployment, in order; whatever fails behind the switch is taken back."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.bench import files
from runner.bench.records import Record, RecordFile
from runner.deploy import live, release
from runner.deploy.expected import Expected, acceptance_of, expect
from runner.deploy.options import DeployOptions
from runner.protocol.errors import DiskFull, Interrupted, ServerError, StageError
from runner.protocol.files import read_json, write_json
from runner.protocol.status import Progress
from runner.stage import status, write_result

JOURNAL = ".deploy.json"


def run(options: DeployOptions) -> dict[str, Any]:
    """Deploy and write `out`; returns the result. Raises DataError before anything is changed, else ServerError."""
    expected = expect(options.bench, options.draft, options.num_prompts, options.min_speedup)
    release.served(options.serving)  # a link that is not ours is refused now, before gigabytes are copied
    options.out.mkdir(parents=True, exist_ok=True)
    for name in (files.RESULT, files.RECORDS):
        (options.out / name).unlink(missing_ok=True)
    status().update("running", message="publishing the drafter", force=True)
    with release.alone(options.serving):
        name = release.publish(options.draft, options.serving)
        switch = _Switch(options, name)
        with switch.taken_back_on_failure():
            switch.forward()
            records, seen = _prove(options, options.serving / release.DRAFTERS / name, expected)
        return _finish(options, switch, expected, records, seen)


@dataclass
class _Switch:
    """From the former drafter to the new one, and back.

    What stood there is written down before the link moves, in the serving folder: a repeat, or the deployment of
    another drafter, goes back to what was proven and not to what was being tried when an earlier one was killed.
    """

    options: DeployOptions
    name: str
    before: str | None = field(init=False)

    def __post_init__(self) -> None:
        self.before = release.served(self.options.serving)
        if self.journal.is_file() and (noted := read_json(str(self.journal)))["name"] == self.before:
            self.before = noted["before"]  # an earlier attempt has moved the link, and did not come to its end
        write_json(str(self.journal), {"name": self.name, "before": self.before})

    @property
    def journal(self) -> Path:
        return self.options.serving / JOURNAL

    def forward(self) -> None:
        """Serve the new drafter."""
        release.switch(self.options.serving, self.name)
        self._restart(self.options.ready_timeout_s)

    @contextmanager
    def taken_back_on_failure(self) -> Iterator[None]:
        """Raises what went wrong, with what is served now."""
        try:
            yield
        except Exception as error:
            stopped, told = isinstance(error, Interrupted), isinstance(error, StageError)
            said = f"{error if told else repr(error)}\n{self._back(wait=not stopped)}"
            raise (Interrupted if stopped else ServerError)(said, getattr(error, "hint", None)) from error

    def _back(self, wait: bool) -> str:
        """Serve the former drafter again; says how that went. Without `wait` nobody sees the restart through."""
        if self.before in (None, self.name) or not release.is_there(self.options.serving, str(self.before)):
            return f"There is no former drafter to go back to: {self.name} stays in service as it is; look at it now."
        try:
            release.switch(self.options.serving, str(self.before))
            self.journal.unlink(missing_ok=True)
            self._restart(self.options.ready_timeout_s if wait else 0.0)
        except Exception as error:
            return f"THE FORMER DRAFTER {self.before} IS NOT SERVED EITHER, look at it now: {error}"
        return f"Taken back: {self.before} is {'served again' if wait else 'being started again'}."

    def _restart(self, ready_timeout_s: float) -> None:
        options = self.options

        def tell(text: str) -> None:
            with suppress(OSError, DiskFull):  # a full disk must not end a restart half-way
                status().update("running", message=text)

        log = options.out / "restart.log"
        live.restart(options.restart, options.url, options.restart_timeout_s, ready_timeout_s, log, tell)


def _prove(options: DeployOptions, folder: Path, expected: Expected) -> tuple[list[Record], live.Seen]:
    """The new drafter is in service and does as well as it was measured. Raises ServerError."""
    seen = live.look(options.url)
    if seen is None:
        raise ServerError(f"the serving process at {options.url} does not answer any more", "see its log")
    if wrong := list(live.misfits(seen.facts, folder, expected)):
        raise ServerError(
            f"the process at {options.url} does not serve what was benchmarked: {'; '.join(wrong)}",
            f"its command line needs --speculative-draft-model-path {options.serving / release.CURRENT}",
        )
    done = [0]

    def tick(record: Record | None) -> None:
        done[0] += record is not None
        progress = Progress(done[0], len(expected.prompts), "prompts")
        status().update("running", progress, message="asking the serving process")

    records = live.ask(options.url, expected, options.request_timeout_s, tick)
    found, wanted = acceptance_of(records, expected.steps), options.share * expected.acceptance
    if found < wanted:
        raise ServerError(
            f"acceptance in service is {found:.3f}, the benchmark had {expected.acceptance:.3f} on these prompts",
            f"at least {wanted:.3f} is asked for (--share {options.share:g}); is another model served?",
        )
    return records, seen


def _finish(
    options: DeployOptions, switch: _Switch, expected: Expected, records: list[Record], seen: live.Seen
) -> dict[str, Any]:
    with RecordFile(options.out / files.RECORDS) as file:
        file.append(records)
    found = acceptance_of(records, expected.steps)
    result = {
        "acceptance": round(found, 4),
        "benchmarked": round(expected.acceptance, 4),
        "prompts": len(records),
        "release": switch.name,
        "former": switch.before or "none",
        "share": options.share,
        "steps": expected.steps,
        "draft_digest": expected.draft_digest,
        "serving": str(options.serving),
        "url": options.url,
        "bench": str(options.bench),
        "facts": seen.facts,
        "in_words": f"Served: acceptance {found:.2f}, benchmarked {expected.acceptance:.2f} on the same prompts.",
    }
    write_result(options.out, "deploy", **result)
    switch.journal.unlink(missing_ok=True)
    status().update("done", message=str(result["in_words"]), force=True)
    return result
