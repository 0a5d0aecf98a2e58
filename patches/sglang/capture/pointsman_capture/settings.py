"""The plugin's settings, by environment: SGLang's command line has no place for them."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    folder: Path
    dtype: str  # "auto" keeps the model's
    writers: int
    queue_bytes: int
    station: Path | None = None  # a folder in memory that files go through on their way to `folder`
    station_bytes: int = 0

    @staticmethod
    def from_environment():
        station = os.environ.get("POINTSMAN_CAPTURE_STATION")
        return Settings(
            folder=Path(os.environ["POINTSMAN_CAPTURE_DIR"]),
            dtype=os.environ.get("POINTSMAN_CAPTURE_DTYPE", "auto"),
            writers=int(os.environ.get("POINTSMAN_CAPTURE_WRITERS", "4")),
            queue_bytes=int(os.environ.get("POINTSMAN_CAPTURE_QUEUE_BYTES", str(2 << 30))),
            station=Path(station) if station else None,
            station_bytes=int(os.environ.get("POINTSMAN_CAPTURE_STATION_BYTES", "0")),
        )
