"""Environment files: KEY=VALUE lines."""

from pathlib import Path

from bot.errors import ConfigError


def read_env(path: Path | None) -> dict[str, str]:
    """KEY=VALUE lines; comments and empty lines are passed over. Raises ConfigError with file and line."""
    if path is None:
        return {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", str(path)) from error
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        text = line.partition(" #")[0].strip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise ConfigError(f"no KEY=VALUE: {line!r}", f"{path}:{number}")
        found[name] = value
    return found
