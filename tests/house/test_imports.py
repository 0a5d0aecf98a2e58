"""Which room may look into which."""

import sys
from collections.abc import Callable

import pytest

from tests.house.tree import imports, python_files

ROOMS = {
    # room: what it may import besides the standard library; a name covers everything below it
    "runner/protocol": ("runner.protocol",),
    "runner/agent": ("runner.protocol", "runner.agent"),
    "bot/core": ("bot.core", "runner.protocol"),
}
# These live in one adapter each, so that they can be replaced there.
HOUSED = {
    "paramiko": ("bot/adapters/hosts/",),
    "asyncssh": ("bot/adapters/hosts/",),
    "apscheduler": ("bot/adapters/scheduler",),
    "slack_sdk": ("bot/adapters/slack/", "bot/cli/"),
    "slack_bolt": ("bot/adapters/slack/",),
    "sqlalchemy": ("bot/adapters/store/",),
    "alembic": ("bot/adapters/store/",),
    "psycopg": ("bot/adapters/store/",),
    "aiohttp": ("bot/workspace/",),
    "sglang": ("runner/", "patches/"),
    "torch": ("runner/", "patches/"),
}


def within(name: str, prefixes: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def offences(files: list[str], allowed: Callable[[str], bool]) -> list[str]:
    return [f"{file}:{line} imports {name}" for file in files for line, name in imports(file) if not allowed(name)]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    files = python_files(room)
    assert files
    standard = sys.stdlib_module_names
    assert not offences(files, lambda name: name.partition(".")[0] in standard or within(name, ROOMS[room]))


def test_the_bot_sees_only_the_protocol_of_the_runner() -> None:
    assert not offences(
        python_files("bot"), lambda name: not within(name, ("runner",)) or within(name, ("runner.protocol",))
    )


def test_the_runner_never_sees_the_bot() -> None:
    assert not offences(python_files("runner", "patches"), lambda name: not within(name, ("bot",)))


def test_nothing_but_tests_imports_tests() -> None:
    assert not offences(python_files("bot", "runner", "patches", "ops"), lambda name: not within(name, ("tests",)))


def test_adapters_never_import_each_other() -> None:
    found = []
    for file in python_files("bot/adapters"):
        own = file.removeprefix("bot/adapters/").removesuffix(".py").partition("/")[0]
        others = [
            (line, name)
            for line, name in imports(file)
            if within(name, ("bot.adapters",)) and not within(name, (f"bot.adapters.{own}",))
        ]
        found += [f"{file}:{line} imports {name}" for line, name in others]
    assert not found


def test_adapters_import_neither_the_service_nor_the_command_line() -> None:
    assert not offences(python_files("bot/adapters"), lambda name: not within(name, ("bot.service", "bot.cli")))


def test_ports_and_core_know_no_adapter() -> None:
    files = [*python_files("bot/core", "bot/service"), "bot/ports.py", "bot/errors.py"]
    assert not offences(files, lambda name: not within(name, ("bot.adapters", "bot.workspace", "bot.cli")))


@pytest.mark.parametrize("library", HOUSED)
def test_a_library_lives_in_one_place(library: str) -> None:
    homes = HOUSED[library]
    files = [file for file in python_files("bot", "runner", "patches") if not file.startswith(homes)]
    assert not offences(files, lambda name: not within(name, (library,)))


def test_an_import_is_seen_wherever_it_stands() -> None:
    """The rules above rest on this."""
    found = {name for file in python_files("tests/house") for _, name in imports(file)}
    assert "tests.house.tree.imports" in found and "ast" in found
