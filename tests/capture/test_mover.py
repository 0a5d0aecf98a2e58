"""The station in memory: it never holds more than its bound, and what reaches the disk is whole."""

import threading
from pathlib import Path

import pytest

from runner.extract.records import Records
from runner.protocol.errors import DiskFull, StageError
from tests.capture.conftest import Plugin
from tests.capture.test_writer import give, small_disk, wait_for_failure

from pointsman_capture import mover  # isort: skip

__all__ = ["small_disk"]
FILE = 51_000  # of 25 rows, more or less


def held(station: Path) -> int:
    return sum(path.stat().st_size for path in station.rglob("*") if path.is_file())


def test_files_pass_through_a_station_smaller_than_the_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    station, most, real = tmp_path / "memory", 0, mover.move

    def slow(source: Path, path: Path) -> None:
        nonlocal most
        most = max(most, held(station))
        threading.Event().wait(0.01)
        real(source, path)

    monkeypatch.setattr(mover, "move", slow)
    plugin = Plugin(tmp_path / "out", station=station, station_bytes=3 * FILE, writers=4)
    for number in range(20):
        give(plugin, f"s{number}", count=25)
    for record in plugin.wait(20):
        assert (plugin.folder / record["file"]).stat().st_size == record["bytes"]
    assert FILE < most <= 3 * FILE + 4096
    assert plugin.made.wait_idle(10) and held(station) == 0


def test_a_file_larger_than_the_station_passes_alone(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path / "out", station=tmp_path / "memory", station_bytes=10)
    give(plugin, "a", count=25)
    give(plugin, "b", count=25)
    assert {record["id"] for record in plugin.wait(2)} == {"a", "b"}


def test_a_full_station_is_told(tmp_path: Path, small_disk: Path) -> None:
    """256 KiB where a megabyte was promised, and a mover that gets nothing done."""
    plugin = Plugin(tmp_path / "out", station=small_disk, station_bytes=1 << 20, writers=1)
    give(plugin, "big", count=150)
    wait_for_failure(plugin.folder)
    with pytest.raises(DiskFull, match=r"big: .*No space left"):
        Records(plugin.folder / "capture").check_failure()
    assert not list(small_disk.rglob(".tmp-*")) and not list(plugin.folder.glob("samples/*/*"))


def test_a_full_disk_behind_the_station_is_told(tmp_path: Path, small_disk: Path) -> None:
    station = tmp_path / "memory"
    plugin = Plugin(small_disk, station=station, station_bytes=3 * FILE, writers=1)
    for number in range(8):
        give(plugin, f"s{number}", count=25)
    wait_for_failure(small_disk)
    records = Records(small_disk / "capture")
    with pytest.raises(DiskFull, match="No space left"):
        records.check_failure()
    assert plugin.made.wait_idle(10)
    whole = {Path(record["file"]).name: record["bytes"] for record in records.new()}
    assert 2 <= len(whole) <= 5
    assert {path.name: path.stat().st_size for path in small_disk.glob("samples/*/*")} == whole
    assert held(station) == 0


def test_a_file_that_vanished_from_the_station_stops_the_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = mover.move
    monkeypatch.setattr(mover, "move", lambda source, path: (source.unlink(), real(source, path)))
    plugin = Plugin(tmp_path / "out", station=tmp_path / "memory", station_bytes=3 * FILE)
    give(plugin, "a")
    wait_for_failure(plugin.folder)
    with pytest.raises(StageError, match="could not write a"):
        Records(plugin.folder / "capture").check_failure()
