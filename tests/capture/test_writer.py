"""Files that are whole or absent, and what is told of each."""

import errno
import subprocess
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from runner.extract.records import Records
from runner.protocol.errors import DiskFull, StageError
from tests.capture.conftest import HIDDEN, Plugin, asked, batch, request

from pointsman_capture import writer  # isort: skip


def give(plugin: Plugin, name: str, count: int = 4, value: float = 1.0) -> None:
    aux, last = torch.full((count, 3 * HIDDEN), value), torch.full((count, HIDDEN), value)
    plugin.assembly.take(request(name, range(count)), asked(name, count), batch(aux, last), slice(0, count), True)


def wait_for_failure(folder: Path) -> None:
    for _ in range(1000):
        if (folder / "capture/failure.json").exists():
            return
        threading.Event().wait(0.01)
    raise AssertionError("no failure was told")


def test_the_record_speaks_of_the_file_as_it_is(plugin: Plugin) -> None:
    give(plugin, "a", 5)
    (record,) = plugin.wait(1)
    body = (plugin.folder / record["file"]).read_bytes()
    assert record["bytes"] == len(body) and record["checksum"] == f"crc32:{zlib.crc32(body):08x}"
    assert (record["num_tokens"], record["num_supervised"], record["finite"]) == (5, 4, True)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_not_finite_are_told(plugin: Plugin, value: float) -> None:
    give(plugin, "n", value=value)
    assert plugin.wait(1)[0]["finite"] is False


def test_a_sum_that_overflows_is_no_infinity() -> None:
    assert writer.is_finite(torch.full((8,), 3e38))
    assert not writer.is_finite(torch.tensor([1.0, float("inf"), float("-inf")]))


def test_a_mask_of_another_length_stops_the_writing(plugin: Plugin) -> None:
    wrong = {**asked("m", 4), "mask": "1,9"}
    states = batch(torch.ones(4, 3 * HIDDEN), torch.ones(4, HIDDEN))
    plugin.assembly.take(request("m", range(4)), wrong, states, slice(0, 4), True)
    wait_for_failure(plugin.folder)
    with pytest.raises(StageError, match="the mask is for 10 tokens"):
        Records(plugin.folder / "capture").check_failure()


def test_a_file_outside_of_the_folder_is_not_written(plugin: Plugin) -> None:
    with pytest.raises(ValueError, match="outside"):
        plugin.capture_folder.path("../elsewhere")


def test_after_a_failed_write_nothing_more_is_taken(plugin: Plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, chunks: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writer, "write_whole", full)
    give(plugin, "first")
    wait_for_failure(plugin.folder)
    monkeypatch.undo()
    give(plugin, "second")
    with pytest.raises(DiskFull, match="first"):
        Records(plugin.folder / "capture").check_failure()
    assert not list(plugin.folder.glob("samples/*/*"))


def test_the_scheduler_waits_when_too_much_is_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held, real = threading.Event(), writer.write_whole
    monkeypatch.setattr(writer, "write_whole", lambda path, chunks: held.wait(10) and real(path, chunks))
    one = 4 * 4 * HIDDEN * 4
    plugin = Plugin(tmp_path, queue_bytes=2 * one)
    for name in ("a", "b"):
        give(plugin, name)
    third = threading.Thread(target=give, args=(plugin, "c"))
    third.start()
    third.join(0.2)
    assert third.is_alive()
    held.set()
    third.join(10)
    assert {record["id"] for record in plugin.wait(3)} == {"a", "b", "c"}


def test_a_request_larger_than_the_bound_passes_alone(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, queue_bytes=10)
    give(plugin, "large")
    give(plugin, "second")
    plugin.wait(2)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], capture_output=True)
    if made.returncode:
        pytest.skip("needs the right to mount a tmpfs")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_disk_that_fills_up_is_told_on_that_disk(small_disk: Path) -> None:
    plugin = Plugin(small_disk, writers=1)
    for number in range(8):
        give(plugin, f"s{number}", count=25)  # 51 KB each
    wait_for_failure(small_disk)
    records = Records(small_disk / "capture")
    with pytest.raises(DiskFull, match="No space left"):
        records.check_failure()
    whole = list(records.new())
    assert 2 <= len(whole) <= 5
    for record in whole:
        assert (small_disk / record["file"]).stat().st_size == record["bytes"]
    names = {path.name for path in small_disk.glob("samples/*/*")}
    assert names == {Path(record["file"]).name for record in whole}, "no half file is left"


def test_a_record_that_was_cut_short_is_passed_over(plugin: Plugin) -> None:
    give(plugin, "a")
    plugin.wait(1)
    (path,) = plugin.folder.glob("capture/records-*.jsonl")
    with path.open("ab") as file:
        file.write(b'\n{"id":"cut","fi')
    give(plugin, "b")
    assert [record["id"] for record in plugin.wait(2)] == ["a", "b"]
