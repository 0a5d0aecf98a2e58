"""A Slurm of the tests' own: munge, controller and one node on loopback, with two GPUs that are empty files."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from bot.adapters.hosts import HostSettings, open_host
from bot.adapters.hosts.host import AgentHost
from bot.adapters.hosts.settings import SlurmSettings
from tests.hosting.sshd import free_port

_PLACES = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
_CONFIG = """\
ClusterName=tests
SlurmctldHost={name}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
GresTypes=gpu
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge={kept_s}
KillWait=2
MessageTimeout=5
SwitchType=switch/none
MpiDefault=none
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName={name} NodeAddr=127.0.0.1 CPUs=8 RealMemory=1000 Gres=gpu:2 State=UNKNOWN
PartitionName=debug Nodes={name} Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO PriorityTier=1 GraceTime=1
PartitionName=urgent Nodes={name} MaxTime=INFINITE State=UP OverSubscribe=NO PriorityTier=9 PreemptMode=off
"""


def why_not() -> str:
    """What keeps Slurm from running here, "" when nothing does."""
    if os.geteuid() != 0:
        return "Slurm's daemons need root"
    missing = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if not shutil.which(name, path=_PLACES)]
    return f"missing: {', '.join(missing)}: apt-get install slurmctld slurmd slurm-client munge" if missing else ""


class Slurm:
    """Runs until `stop`. `kept_s`: how long the controller remembers a job that has ended."""

    def __init__(self, folder: Path, kept_s: int = 600) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("state", "spool"):
            (folder / name).mkdir(mode=0o755, exist_ok=True)
        self.conf = folder / "slurm.conf"
        self.name = os.uname().nodename.partition(".")[0]
        ports = (free_port(), free_port())
        self.conf.write_text(_CONFIG.format(name=self.name, folder=folder, ports=ports, kept_s=kept_s))
        (folder / "gpu0").touch()
        (folder / "gpu1").touch()
        gres = f"AutoDetect=off\nNodeName={self.name} Name=gpu File={folder}/gpu[0-1]\n"
        (folder / "gres.conf").write_text(gres)
        key = folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        self.env = {**os.environ, "SLURM_CONF": str(self.conf)}
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def start(self) -> None:
        munge = ["--foreground", "--force", "--num-threads=2", f"--key-file={self.folder}/munge.key"]
        munge += [f"--{what}={self.folder}/{name}" for what, name in _MUNGE.items()]
        self._daemon("munged", *munge)
        self.until(lambda: (self.folder / "munge.sock").exists(), "munge is up")
        self.controller_up()
        self._daemon("slurmd", "-D", "-f", str(self.conf))
        self.until(lambda: "idle" in self.ask("sinfo", "-h", "-o", "%t"), "the node is idle")

    def _daemon(self, name: str, *arguments: str) -> None:
        log = (self.folder / f"{name}.out").open("ab")
        path = shutil.which(name, path=_PLACES)
        assert path is not None
        self.daemons[name] = subprocess.Popen([path, *arguments], stdout=log, stderr=log, env=self.env)
        log.close()

    def controller_up(self) -> None:
        self._daemon("slurmctld", "-D", "-f", str(self.conf))
        self.until(lambda: self.ask("sinfo", "-h", "-o", "%t"), "the controller answers")

    def controller_down(self) -> None:
        self._end("slurmctld", signal.SIGTERM)

    def hang(self, on: bool = True) -> None:
        """The controller is there and says nothing."""
        self.daemons["slurmctld"].send_signal(signal.SIGSTOP if on else signal.SIGCONT)

    def _end(self, name: str, number: signal.Signals) -> None:
        daemon = self.daemons.pop(name, None)
        if daemon is not None:
            daemon.send_signal(number)
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def stop(self) -> None:
        if "slurmctld" in self.daemons:
            self.hang(False)
            self.clear()
        for name in ("slurmd", "slurmctld", "munged"):
            self._end(name, signal.SIGTERM)

    def clear(self) -> None:
        """End every job."""
        self.ask("scancel", "--full", "--signal=KILL", "--user=0")
        self.ask("scancel", "--user=0")
        self.until(lambda: not self.jobs(live=True), "all jobs are gone", 120.0)

    def ask(self, *argv: str) -> str:
        """What a command says; "" when it had no answer of Slurm."""
        try:
            done = subprocess.run(argv, env=self.env, capture_output=True, text=True, timeout=20, check=False)
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout

    def jobs(self, name: str = "", live: bool = False) -> list[str]:
        """The states of all jobs, or of those of a name."""
        lines = [
            line.partition("|") for line in self.ask("squeue", "-a", "--states=all", "-h", "-o", "%T|%j").splitlines()
        ]
        found = [state for state, _, job in lines if not name or job == name]
        return (
            [state for state in found if state in ("PENDING", "RUNNING", "COMPLETING", "SUSPENDED")] if live else found
        )

    @staticmethod
    def until(look: object, what: str, within_s: float = 90.0) -> None:
        give_up_s = time.monotonic() + within_s
        while not look():  # type: ignore[operator]
            assert time.monotonic() < give_up_s, what
            time.sleep(0.1)

    def settings(self, root: Path, **given: object) -> HostSettings:
        slurm = SlurmSettings(conf=str(self.conf), **given)  # type: ignore[arg-type]
        return HostSettings(kind="local", root=str(root), slurm=slurm, call_s=40.0, launch_s=150.0)

    def host(self, root: Path, **given: object) -> AgentHost:
        return open_host("cluster", self.settings(root, **given))


_LIVE = ("PENDING", "RUNNING", "COMPLETING", "SUSPENDED")
_MUNGE = {"socket": "munge.sock", "pid-file": "munged.pid", "log-file": "munged.log", "seed-file": "munge.seed"}
