import subprocess
import sys

from bot.service.holder import is_gone, this_process

SAY_WHO = "from bot.service.holder import this_process; print(this_process(), flush=True); input()"


def other_process() -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-c", SAY_WHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_a_process_is_gone_once_it_has_ended() -> None:
    process, holder = other_process()
    with process:
        assert not is_gone(holder)
        process.kill()
    assert is_gone(holder)


def test_a_zombie_is_gone() -> None:
    process, holder = other_process()
    with process:
        process.kill()
        subprocess.run(["sh", "-c", f"while [ -e /proc/{process.pid}/fd/0 ]; do :; done"], check=True)
        assert is_gone(holder)


def test_the_same_pid_started_at_another_time_is_another_process() -> None:
    here, ticks = this_process().rstrip("]").rsplit("/", 1)
    assert is_gone(f"{here}/{int(ticks) - 1}]") and not is_gone(this_process())


def test_processes_elsewhere_are_never_taken_for_gone() -> None:
    assert not is_gone("gpu-head pid 1 [00000000-4026531836/77]")
    assert not is_gone("somebody of an older version")
