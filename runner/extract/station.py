"""The station: a folder in memory that files go through on their way to a disk. The set may be larger than it."""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from runner.extract.options import ExtractOptions
from runner.extract.records import free_bytes
from runner.protocol.errors import DataError, DiskFull


@dataclass(frozen=True)
class Station:
    folder: Path
    most_bytes: int


@contextmanager
def open_station(options: ExtractOptions) -> Iterator[Station | None]:
    """An empty station of this set's own, gone when the block ends; None where none was asked for.

    Raises DataError, DiskFull.
    """
    folder = _folder(options)
    if folder is None:
        yield None
        return
    clear_station(options)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise DataError(f"no station in {options.station}: {error}") from error
    try:
        yield Station(folder, _bound(options, free_bytes(folder)))
    finally:
        clear_station(options)


def clear_station(options: ExtractOptions) -> None:
    """Throw away what a killed extraction of this set left there: it was never recorded, and it takes memory."""
    folder = _folder(options)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _folder(options: ExtractOptions) -> Path | None:
    name = hashlib.sha256(str(options.out.absolute()).encode()).hexdigest()[:12]
    return options.station / f"pointsman-{name}" if options.station else None


def _bound(options: ExtractOptions, free: int) -> int:
    most = int(options.station_gb * 1e9) or free // 2
    if most > free:
        raise DiskFull(
            f"the station may take {most / 1e9:.1f} GB of {options.station}, {free / 1e9:.1f} GB are free",
            "free space there, or give a smaller --station-gb",
        )
    return most
