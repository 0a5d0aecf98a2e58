"""Logs as they are: cut characters, control sequences, giant lines, truncation; offsets exact, memory bounded."""

import time
from pathlib import Path

import pytest

from bot.adapters.hosts.host import AgentHost
from bot.core.logtext import LogText
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import RUNNING
from tests.hosting.attempts import ended, eventually, see, shell

NASTY = (
    "größe 日本\n".encode() + b"\xff\xfe bad\0nul \x1b[31mred\x1b[0m \x1b]0;title\x07x\r 50%\r100%\n" + "é".encode()[:1]
)


def written(host: AgentHost, body: bytes) -> AttemptSpec:
    """A running attempt whose log holds just `body`."""
    spec = shell("sleep 60")
    host.launch(spec, {})
    log_of(host, spec).write_bytes(body)
    return spec


def log_of(host: AgentHost, spec: AttemptSpec) -> Path:
    return Path(host.settings.root) / "attempts" / spec.attempt / "log.txt"


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 64])
def test_offsets_are_exact_however_the_log_is_cut(local: AgentHost, step: int) -> None:
    spec = written(local, NASTY)
    text, lines, offset, raw = LogText(), [], 0, b""
    while offset < len(NASTY):
        view = see(local, spec, offset, step)
        assert view.log_offset == offset + len(view.log) and len(view.log) <= step
        raw, offset = raw + view.log, view.log_offset
        lines += text.feed(view.log)
    assert raw == NASTY
    assert lines == ["größe 日本", "100%"]
    local.kill(spec.attempt, spec.token, 0)


def test_a_truncated_log_starts_anew(local: AgentHost) -> None:
    spec = written(local, b"x" * 1000)
    assert see(local, spec, 0).log_offset == 1000
    log_of(local, spec).write_bytes(b"anew\n")
    view = see(local, spec, 1000)
    assert (view.log, view.log_offset, view.log_reset, view.log_size) == (b"anew\n", 5, True, 5)
    log_of(local, spec).unlink()
    view = see(local, spec, 5)
    assert (view.log, view.log_offset, view.log_size, view.state) == (b"", 0, 0, RUNNING)
    local.kill(spec.attempt, spec.token, 0)


def test_a_line_of_thirty_megabytes_costs_the_agent_little(local: AgentHost) -> None:
    local.poll([])
    agent = local.channels.idle[0].pipe.process.pid  # type: ignore[attr-defined]
    spec = written(local, b"y" * (30 << 20))
    see(local, spec, 0)
    before = resident_bytes(agent)
    for offset in (0, 10 << 20, (30 << 20) - 5):
        began_s = time.monotonic()
        view = see(local, spec, offset, 1 << 16)
        assert time.monotonic() - began_s < 2
        assert len(view.log) == min(1 << 16, (30 << 20) - offset)
    local.kill(spec.attempt, spec.token, 0)
    view = see(local, spec)
    assert len(view.log_tail) < 500 and view.log_tail.endswith("characters)")
    assert resident_bytes(agent) - before < 5 << 20


def test_the_tail_is_clean(local: AgentHost) -> None:
    spec = shell('cat "$RAW"; exit 1', env={"RAW": str(Path(local.settings.root).parent / "raw")})
    (Path(local.settings.root).parent / "raw").write_bytes(b"z" * 20000 + b"\n" + NASTY + b"\n\x1b[1mlast\n")
    local.launch(spec, {})
    assert ended(local, spec).log_tail == "größe 日本\n100%\n�\nlast"


def test_a_fast_writer_never_breaks_a_poll(local: AgentHost) -> None:
    spec = shell("while :; do seq 1 2000; done")
    local.launch(spec, {})
    eventually(lambda: see(local, spec).log_size, bool)
    offset, give_up_s = 0, time.monotonic() + 1
    while time.monotonic() < give_up_s:
        view = see(local, spec, offset, 4096)
        assert view.log_offset == offset + len(view.log)
        offset = view.log_offset
    local.kill(spec.attempt, spec.token, 0)


def resident_bytes(pid: int) -> int:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) << 10 for line in rollup.splitlines() if line.startswith("Rss"))
