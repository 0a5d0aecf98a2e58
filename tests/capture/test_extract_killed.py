"""Client, writer threads and disk, killed at any moment: what is recorded is whole, and the set is completed."""

import multiprocessing
import os
import random
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from runner import identity, verify
from runner.conversations import write_conversations
from runner.extract.run import run
from runner.journal import read_journal
from runner.manifest import read_manifest, read_rows
from runner.protocol.errors import Interrupted
from runner.protocol.files import read_json
from tests.capture.conftest import conversation
from tests.capture.test_extract_session import Engine, MadeSet, options

LENGTHS = [5 + number % 23 for number in range(60)]


@dataclass(frozen=True)
class Extraction:
    """The real client and the real writer in one process of their own; its server answers a few a second."""

    made: MadeSet
    out: Path
    station: Path

    def begin(self) -> multiprocessing.process.BaseProcess:
        process = multiprocessing.get_context("fork").Process(target=self._run)
        process.start()
        return process

    def _run(self) -> None:
        import runner.extract.session

        def slowly(name: str, times: int) -> None:
            time.sleep(0.004)

        def stop(*_: object) -> None:
            raise Interrupted("stopped")

        signal.signal(signal.SIGTERM, stop)
        engine = Engine(self.out, disturb=slowly)
        runner.extract.session.serve = engine.serve  # type: ignore[assignment]
        code = 1
        try:
            run(options(self.made, engine, station=self.station, station_gb=0.0001))
            code = 0
        except Interrupted:
            code = 143
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def recorded(self) -> dict[str, int]:
        return {entry["id"]: entry["bytes"] for entry in read_journal(self.out / "journal.jsonl")}


@pytest.fixture
def extraction(random_set: MadeSet, tmp_path: Path) -> Extraction:
    many = [conversation(f"k{number:02d}", length, number) for number, length in enumerate(LENGTHS)]
    write_conversations(random_set.samples, many, tokenizer_digest=identity.tokenizer_digest(random_set.target))
    return Extraction(random_set, tmp_path / "out", tmp_path / "memory")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_set_is_completed_after_any_number_of_deaths(extraction: Extraction, number: signal.Signals) -> None:
    chance, deaths, seen = random.Random(7), 0, []
    for _ in range(100):
        had, more = len(extraction.recorded()), chance.randint(0, 9)
        process = extraction.begin()
        while process.is_alive() and len(extraction.recorded()) < had + more:
            time.sleep(0.002)
        process.join(chance.uniform(0, 0.02))
        if process.is_alive():
            assert process.pid is not None
            os.kill(process.pid, number)
        process.join(60)
        assert process.exitcode is not None
        seen.append(len(extraction.recorded()))
        for name, size in extraction.recorded().items():
            assert (extraction.out / f"samples/0000/{name}.safetensors").stat().st_size == size, "recorded, so whole"
        if process.exitcode == 0:
            break
        deaths += 1
        assert process.exitcode in (-signal.SIGKILL, 143)
    else:
        raise AssertionError(f"never finished: {seen}")
    assert deaths >= 3 and seen == sorted(seen), seen
    check_whole(extraction)


def check_whole(extraction: Extraction) -> None:
    rows = read_rows(extraction.out, read_manifest(extraction.out).samples)
    assert [row.num_tokens for row in rows] == LENGTHS
    argv = ["extract", "--subject", str(extraction.out), "--samples", str(extraction.made.samples), "--full"]
    assert verify.main(argv) == 0
    assert not read_json(str(extraction.out / "evidence.json"))["bad"]
    assert not list(extraction.out.rglob(".tmp-*")) and not list(extraction.station.iterdir())


def damaged(extraction: Extraction, damage: Callable[[Path], None]) -> None:
    damage(extraction.out / "samples/0000/k07.safetensors")


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-7]),
        lambda path: path.write_bytes(bytes(path.stat().st_size)),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes((path.parent / "k30.safetensors").read_bytes()),  # of the same length
        lambda path: path.unlink(),
    ],
    ids=["truncated", "zeroed", "empty", "exchanged", "gone"],
)
def test_a_damaged_file_is_made_again_and_no_other(extraction: Extraction, damage: Callable[[Path], None]) -> None:
    process = extraction.begin()
    process.join(60)
    assert process.exitcode == 0
    before = {path.name: path.stat().st_mtime_ns for path in extraction.out.glob("samples/*/*")}
    damaged(extraction, damage)
    process = extraction.begin()
    process.join(60)
    assert process.exitcode == 0
    after = {path.name: path.stat().st_mtime_ns for path in extraction.out.glob("samples/*/*")}
    assert {name for name in after if after[name] != before[name]} == {"k07.safetensors"}
    check_whole(extraction)
