"""The demo's folder: state of workspace, bot and host, their logs, and the configuration that ties them together."""

import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from bot.workspace.roster import OPERATOR, RUNS, SECOND_OPERATOR

CHECKOUT = Path(__file__).resolve().parents[2]
PIPELINE = CHECKOUT / "ops/pipelines/demo.yaml"
HOST = "demo"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where everything of one demo lies."""

    folder: Path

    @property
    def config(self) -> Path:
        return self.folder / "pointsman.yaml"

    @property
    def workspace(self) -> Path:
        """The workspace's database."""
        return self.folder / "workspace.db"

    @property
    def host_root(self) -> Path:
        return self.folder / "host"

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def configure(self, api_url: str, pipeline: Path, undo_s: float) -> None:
        """Write pointsman.yaml."""
        host = {"kind": "embedded", "root": str(self.host_root), "python": sys.executable, "poll_s": 0.5}
        body = {
            "version": 1,
            "database": "sqlite:///pointsman.db",
            "slack": {"base_url": api_url, "channel": RUNS},
            "hosts": {HOST: host},
            "pipelines": [str(pipeline.absolute())],
            "roles": {"operators": [OPERATOR, SECOND_OPERATOR], "admins": [OPERATOR]},
            "undo_s": undo_s,
            "redraw_s": 5,
        }
        self.config.write_text(yaml.safe_dump(body, sort_keys=False), encoding="utf-8")
