"""What runs on the embedded host. It would outlive the bot, as it should; but not the demo."""

import time
from collections import Counter
from pathlib import Path

from bot.adapters.hosts.factory import open_host
from bot.cli.wiring import host_settings
from bot.config import load_config
from bot.demo.place import HOST, Place
from bot.errors import HostError
from runner.protocol.attempt import AttemptDir
from runner.protocol.errors import ProtocolError
from runner.protocol.files import read_json

TERM_S = 5.0
GONE_S = 15.0


def unfinished(root: Path, begun: bool = False) -> list[tuple[str, str]]:
    """Attempt id and token of everything without a record of its end; `begun`: only of what has a process."""
    found = []
    for folder in sorted(root.glob("attempts/*")):
        attempt = AttemptDir(str(folder))
        over = Path(attempt.exit).exists() or (begun and not Path(attempt.started).exists())
        if not over and Path(attempt.spec).exists():
            found.append((folder.name, str(read_json(attempt.spec)["token"])))
    return found


def starts(root: Path) -> dict[str, int]:
    """How often each token was started: every value is 1, or something is very wrong."""
    return dict(Counter(str(read_json(str(path))["token"]) for path in root.glob("attempts/*/started.json")))


def end_all(place: Place) -> list[str]:
    """End every attempt on the demo's host; returns what could not be ended, in words."""
    waiting = unfinished(place.host_root)
    if not waiting:
        return []
    config = load_config(place.config)
    host = open_host(HOST, host_settings(config, config.hosts[HOST]))
    try:
        for attempt, token in waiting:
            host.kill(attempt, token, TERM_S)
    except (HostError, ProtocolError) as error:
        return [f"{error}; perhaps still running: {', '.join(name for name, _ in waiting)}"]
    finally:
        host.close()
    until_s = time.monotonic() + GONE_S
    while (left := unfinished(place.host_root, begun=True)) and time.monotonic() < until_s:
        time.sleep(0.1)
    return [f"attempt {name} did not end" for name, _ in left]
