"""What every kind of host promises, whatever the way to it."""

import dataclasses
import io
import json
import os
import signal
import tarfile
from pathlib import Path

import pytest

from bot.adapters.hosts.host import AgentHost
from bot.errors import LaunchFailed
from runner.protocol.evidence import Check, Evidence, Subject
from runner.protocol.spec import AttemptSpec, Limits
from runner.protocol.view import ABSENT, CANCELLED, EXITED, RUNNING, PollAsk
from tests.hosting.attempts import AT_THE_GATE, ended, eventually, see, shell


def root_of(host: AgentHost) -> Path:
    return Path(host.settings.root)


def is_running(pid: int) -> bool:
    """A zombie does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_an_attempt_runs_and_its_exit_code_and_log_are_told(host: AgentHost) -> None:
    spec = shell("echo first; echo second >&2; exit 7")
    view = host.launch(spec, {})
    assert (view.attempt, view.token) == (spec.attempt, spec.token)
    view = ended(host, spec)
    assert (view.state, view.rc, view.signal) == (EXITED, 7, None)
    assert view.log_tail == "first\nsecond"
    assert view.started_at and view.ended_at and view.started_at <= view.ended_at


def test_facts_come_with_every_poll(host: AgentHost) -> None:
    facts = host.poll([]).facts
    assert facts.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert facts.root == str(root_of(host))
    assert facts.free_bytes > 0 and facts.total_bytes > facts.free_bytes and facts.cpus >= 1


def test_a_repeated_launch_starts_nothing(host: AgentHost) -> None:
    spec = shell('echo started >> "$OUT/starts"; sleep 0.3')
    first = host.launch(spec, {})
    again = host.launch(spec, {})
    assert again.pid == first.pid
    ended(host, spec)
    after = host.launch(spec, {})
    assert (after.state, after.rc) == (EXITED, 0)
    assert host.fetch(f"{{root}}/attempts/{spec.attempt}/out/starts", 100) == b"started\n"


def test_another_token_for_the_same_attempt_is_a_conflict(host: AgentHost) -> None:
    host.launch(shell("exit 0"), {})
    with pytest.raises(LaunchFailed) as raised:
        host.launch(shell("exit 0", token="another"), {})
    assert raised.value.kind == "conflict"
    with pytest.raises(LaunchFailed, match="another token"):
        host.kill("r1-synth-1", "another", 0)
    assert see(host, shell("", token="another")).state == ABSENT


def test_many_attempts_are_told_in_one_poll_with_the_new_bytes_of_each_log(host: AgentHost) -> None:
    specs = [shell(f"printf 'line {n}\\n\\303\\244'; sleep 30", attempt=f"r1-synth-{n}") for n in (1, 2, 3)]
    for spec in specs:
        host.launch(spec, {})
    eventually(lambda: [see(host, spec).log_size for spec in specs], lambda sizes: sizes == [9, 9, 9])
    asks = [PollAsk(spec.attempt, spec.token, offset) for spec, offset in zip(specs, (0, 8, 100), strict=True)]
    views = host.poll([*asks, PollAsk("r9-train-1", "nobody", 0)]).attempts
    assert [view.log for view in views] == [b"line 1\n\xc3\xa4", b"\xa4", b"line 3\n\xc3\xa4", b""]
    assert [view.log_offset for view in views[:3]] == [9, 9, 9]
    assert [view.log_reset for view in views[:3]] == [False, False, True]
    assert [view.state for view in views] == [RUNNING, RUNNING, RUNNING, ABSENT]
    for spec in specs:
        assert host.kill(spec.attempt, spec.token, 1.0).state == CANCELLED


def test_a_kill_ends_the_whole_tree(host: AgentHost) -> None:
    spec = shell(
        "(trap '' TERM; while :; do sleep 1; done) & echo $! > \"$OUT/stubborn\";"
        "setsid sh -c 'echo $$ > \"$OUT/escaped\"; exec sleep 300' & sleep 300"
    )
    spec = dataclasses.replace(spec, out="{root}/data")
    host.launch(spec, {})
    data = root_of(host) / "data"
    eventually(lambda: [p.name for p in data.glob("*") if p.stat().st_size], lambda names: len(names) == 2)
    pids = [int(path.read_text()) for path in data.iterdir()]
    assert all(is_running(pid) for pid in pids)
    view = host.kill(spec.attempt, spec.token, 0.5)
    assert (view.state, view.survivors) == (CANCELLED, [])
    assert not any(is_running(pid) for pid in pids)
    assert host.launch(spec, {}).state == CANCELLED


def test_a_cancelled_attempt_never_starts_when_its_launch_comes_late(host: AgentHost) -> None:
    spec = shell('touch "$OUT/started"')
    assert host.kill(spec.attempt, spec.token, 1.0).state == CANCELLED
    assert host.launch(spec, {}).state == CANCELLED
    assert not (root_of(host) / "attempts" / spec.attempt / "out").exists()


def test_files_of_the_contract_come_with_the_view(host: AgentHost) -> None:
    evidence = Evidence("synth", Subject("x"), [Check("exit", True, 0, 0)]).to_json()
    status = {"version": 1, "state": "running", "progress": {"done": 3, "total": 4, "unit": "samples"}}
    script = f"""
        cd "$POINTSMAN_ATTEMPT_DIR"
        echo '{json.dumps(status)}' > status.json
        echo '{json.dumps(evidence)}' > evidence.json
        echo '{{"version":1,"stage":"synth"}}' > "$OUT/result.json"
        printf '{{"step":1,"loss":2.5}}\\n{{"step":2' > metrics.jsonl
    """
    spec = shell(script, out="{root}/runs/r1/synth")
    host.launch(spec, {})
    view = ended(host, spec)
    assert view.status == status
    assert view.evidence == evidence
    assert view.result == {"version": 1, "stage": "synth"}
    assert view.metrics == [{"step": 1, "loss": 2.5}]
    assert (root_of(host) / "attempts" / spec.attempt / "out").resolve() == root_of(host) / "runs/r1/synth"


def test_a_damaged_file_is_named_and_hides_nothing(host: AgentHost) -> None:
    spec = shell('cd "$POINTSMAN_ATTEMPT_DIR"; echo \'{"version":2}\' > status.json; echo "{" > evidence.json')
    host.launch(spec, {})
    view = ended(host, spec)
    assert (view.rc, view.status, view.evidence) == (0, None, None)
    assert len(view.problems) == 2 and "has version 2" in view.problems[0] and "not JSON" in view.problems[1]


def test_secrets_reach_the_process_and_no_file(host: AgentHost) -> None:
    spec = shell(f'test "$HF_TOKEN" = "hf_$(echo c2VjcmV0 | base64 -d)" && {AT_THE_GATE} :', secrets=["HF_TOKEN"])
    host.launch(spec, {"HF_TOKEN": "hf_secret", "OTHER": "never asked for"})
    pid = eventually(lambda: see(host, spec).pid, bool)
    assert b"hf_secret" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    (root_of(host) / "attempts" / spec.attempt / "out/go").touch()
    assert ended(host, spec).rc == 0
    files = [path for path in root_of(host).rglob("*") if path.is_file()]
    assert files and not any(b"hf_secret" in path.read_bytes() for path in files)
    with pytest.raises(LaunchFailed, match="HF_TOKEN") as raised:
        host.launch(shell("true", attempt="r1-synth-2", secrets=["HF_TOKEN"]), {})
    assert raised.value.kind == "missing-secret"


def test_code_is_shipped_whole_and_found_by_its_digest(host: AgentHost) -> None:
    host.ship(archive({"hello.sh": "echo hello from $PWD", "deep/er/data": "x"}), "d1")
    host.ship(b"not looked at: it is there", "d1")
    spec = shell('. ./hello.sh; cat "$CODE/deep/er/data"', code_digest="d1", env={"CODE": "{code}"})
    host.launch(spec, {})
    assert ended(host, spec).log_tail == f"hello from {root_of(host)}/code/d1\nx"
    with pytest.raises(LaunchFailed) as raised:
        host.launch(shell("true", attempt="r1-synth-2", code_digest="d2"), {})
    assert raised.value.kind == "no-code"
    assert host.gc(keep=[]) == ["d1"]


def test_code_in_use_is_not_collected(host: AgentHost) -> None:
    for digest in ("used", "kept", "idle"):
        host.ship(archive({"x": digest}), digest)
    spec = shell("sleep 30", code_digest="used")
    host.launch(spec, {})
    assert host.gc(keep=["kept"]) == ["idle"]
    host.kill(spec.attempt, spec.token, 1.0)
    assert host.gc(keep=[]) == ["kept", "used"]


@pytest.mark.parametrize("name", ["../outside", "/tmp/absolute", "link"])
def test_a_hostile_archive_leaves_nothing(host: AgentHost, name: str) -> None:
    with pytest.raises(LaunchFailed) as raised:
        host.ship(archive({"good": "x", name: "y"}, links={"link"}), "bad")
    assert raised.value.kind == "bad-archive"
    assert list((root_of(host) / "code").iterdir()) == []


def test_files_are_fetched_up_to_a_bound_whatever_their_names(host: AgentHost, tmp_path: Path) -> None:
    path = tmp_path / "a 'b' \"c\" $(touch pwned)\nd;ä\\"
    path.write_bytes(bytes(range(256)) * 4096)
    assert host.fetch(str(path), 1 << 30) == path.read_bytes()
    assert host.fetch(str(path), 10) == bytes(range(10))
    with pytest.raises(FileNotFoundError):
        host.fetch(str(tmp_path / "nothing"), 10)
    with pytest.raises(FileNotFoundError):
        host.fetch(str(tmp_path), 10)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(FileNotFoundError):
        host.fetch(str(tmp_path / "fifo"), 10)


def test_arguments_and_values_arrive_as_they_were_given(host: AgentHost) -> None:
    odd = "a 'b' \"c\" $(touch pwned) `x`\nd;ä\\ {not} *"
    spec = shell("")
    spec = dataclasses.replace(
        spec, argv=["printf", "%s|", odd, "{attempt}"], env={"ODD": odd}, out="{root}/out " + odd.replace("/", "")
    )
    host.launch(spec, {})
    view = ended(host, spec)
    assert see(host, spec, 0).log.decode() == f"{odd}|{root_of(host)}/attempts/{spec.attempt}|"
    assert view.rc == 0


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"limits": Limits(disk_bytes=1 << 60)}, "no-space"),
        ({"cwd": "/nowhere"}, "no-cwd"),
        ({"out": "/dev/null/x"}, "no-out"),
        ({"env": {"BAD NAME": "1"}}, "bad-spec"),
        ({"cwd": "{code}"}, "no-code"),
    ],
)
def test_what_cannot_work_is_refused_and_may_be_tried_again(host: AgentHost, fields: dict, kind: str) -> None:
    with pytest.raises(LaunchFailed) as raised:
        host.launch(shell("true", **fields), {})
    assert raised.value.kind == kind
    assert see(host, shell("true")).state == ABSENT
    host.launch(shell("true"), {})
    assert ended(host, shell("true")).rc == 0


def test_an_attempt_ends_at_its_time_limit(host: AgentHost) -> None:
    spec = shell("trap 'exit 143' TERM; while :; do sleep 0.1; done", limits=Limits(wall_s=0.5))
    host.launch(spec, {})
    view = ended(host, spec)
    assert (view.state, view.rc, view.signal, view.why) == (EXITED, 143, signal.SIGTERM, "ended at its time limit")


def test_what_an_ended_attempt_leaves_behind_is_ended_too(host: AgentHost) -> None:
    spec = shell("setsid sleep 300 & echo $!; exit 3")
    host.launch(spec, {})
    view = ended(host, spec)
    assert (view.state, view.rc) == (EXITED, 3)
    assert view.why == "left 1 processes behind, which were ended"
    assert not is_running(int(view.log_tail))


def test_an_attempt_outlives_the_connection(host: AgentHost) -> None:
    spec = shell(f"{AT_THE_GATE} echo done")
    host.launch(spec, {})
    host.poll([])
    host.close()
    folder = root_of(host) / "attempts" / spec.attempt
    assert not (folder / "exit.json").exists()
    (folder / "out/go").touch()
    eventually((folder / "exit.json").exists, bool)
    assert (folder / "log.txt").read_text() == "done\n"


def test_the_command_line_may_be_missing(host: AgentHost) -> None:
    spec = AttemptSpec(attempt="r1-synth-1", run="r1", stage="synth", token="t", argv=["/no/such/program"])
    host.launch(spec, {})
    view = ended(host, spec)
    assert view.rc == 127 and "/no/such/program" in view.log_tail


def archive(files: dict[str, str], links: frozenset[str] | set[str] = frozenset()) -> bytes:
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            if name in links:
                member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
                tar.addfile(member)
                continue
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return body.getvalue()
