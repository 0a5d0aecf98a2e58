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

    What a killed extraction left there was never recorded, so it is thrown away. Raises DataError, DiskFull.
    """
    if options.station is None:
        yield None
        return
    name = hashlib.sha256(str(options.out.absolute()).encode()).hexdigest()[:12]
    folder = options.station / f"pointsman-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise DataError(f"no station in {options.station}: {error}") from error
    try:
        yield Station(folder, _bound(options, free_bytes(folder)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _bound(options: ExtractOptions, free: int) -> int:
    most = int(options.station_gb * 1e9) or free // 2
    if most > free:
        raise DiskFull(
            f"the station may take {most / 1e9:.1f} GB of {options.station}, {free / 1e9:.1f} GB are free",
            "free space there, or give a smaller --station-gb",
        )
    return most
