"""`python -m bot host setup|check|gc NAME`: what a host needs for its stages, made, looked at or cleaned up."""

import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from bot.adapters.hosts.host import AgentHost
from bot.cli import arguments, wiring
from bot.cli.check import Finding, judge, line
from bot.config import Config, HostConfig, load_config
from bot.core.logtext import LogText
from bot.core.summary import words
from bot.errors import LaunchFailed
from bot.service import environments
from bot.service.code import CodeArchive, pack
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import ABSENT, CANCELLED, EXITED, LOST, AttemptView, HostFacts, PollAsk

OLDEST_PYTHON = (3, 11)
EVERY_S = 0.5
_OVER = (EXITED, LOST, CANCELLED)
_ABOUT = """\
setup  ship the code, make the environment if the configuration asks for one (`packages`), then check.
       Stop it anywhere and call it again: what has begun goes on there, what is done is not done again.
check  look at Python, packages, SGLang's version against the patches, GPUs and disk; a remedy for each fault.
gc     remove code, environments and looks that nothing uses; never what an attempt runs with.
"""


def main(argv: list[str]) -> int:
    to = arguments.parser("host", "Prepare a host for its stages, check it, or clean it up.", _ABOUT)
    to.add_argument("what", choices=("setup", "check", "gc"))
    to.add_argument("name", help="a host's name in the configuration")
    to.add_argument("--json", action="store_true", help="one JSON line")
    arguments.add_config(to)
    args = to.parse_args(argv)
    config = load_config(args.config)
    tell: Callable[[str], None] = (lambda text: None) if args.json else (lambda text: print(text, flush=True))
    visit = Visit(config, args.name, tell)
    try:
        if args.what == "gc":
            removed = visit.collect()
            told = "\n".join(removed) or "nothing to remove"
            print(json.dumps({"version": 1, "removed": removed}) if args.json else told)
            return 0
        if args.what == "setup":
            visit.prepare()
        findings = []
        for finding in visit.look():
            findings.append(finding)
            tell(line(finding))
    finally:
        visit.close()
    if args.json:
        print(json.dumps({"version": 1, "findings": [vars(finding) for finding in findings]}))
    return 1 if any(finding.ok is False for finding in findings) else 0


class Visit:
    """One host, for as long as a command lasts. Raises HostError, ProtocolError, ConfigError."""

    def __init__(self, config: Config, name: str, tell: Callable[[str], None]) -> None:
        self.config = config
        self.name = name
        self.tell = tell
        self.settings: HostConfig = wiring.host_config(config, name)
        self.environment = environments.environment(self.settings, config.path)
        self.python = environments.interpreter(self.settings, config.path)
        self.needs = environments.needs(name, self.settings, config.path)
        self.host: AgentHost = wiring.connect(config, name)
        self.code: CodeArchive = pack(wiring.CHECKOUT)

    def close(self) -> None:
        self.host.close()

    def collect(self) -> list[str]:
        keep = [self.code.digest] + ([self.environment.digest] if self.environment else [])
        return self.host.gc(keep)

    def prepare(self) -> None:
        """Code, then the environment."""
        self.host.ship(self.code.body, self.code.digest)
        self.tell(f"code {self.code.digest[:12]} is there ({words.size(len(self.code.body))} packed)")
        if self.environment is None:
            return
        view = self.follow(self.next_make())
        if view.rc != 0:
            said = view.log_tail or view.why
            raise LaunchFailed(self.name, f"its environment could not be made:\n{said}\n{_remedy(said)}")

    def next_make(self) -> AttemptSpec:
        """The attempt that makes the environment: one that is under way, by whomever, or the next."""
        assert self.environment is not None
        python = environments.base_python(self.settings, self.config.path)
        n = 0
        while True:
            n += 1
            spec = environments.make_spec(self.environment, python, self.code.digest, n)
            if self.see(spec).state not in _OVER:
                return spec

    def see(self, spec: AttemptSpec, offset: int | None = None) -> AttemptView:
        return self.host.poll([PollAsk(spec.attempt, spec.token, offset)]).attempts[0]

    def follow(self, spec: AttemptSpec) -> AttemptView:
        """Launch it, or join in; tell its log until it has ended."""
        self.host.launch(spec, {})
        text, offset = LogText(), 0
        while True:
            view = self.see(spec, offset)
            offset = view.log_offset
            for told in text.feed(view.log):
                self.tell(f"  {told}")
            if (view.state in _OVER and not view.log) or view.state == ABSENT:
                return view
            time.sleep(EVERY_S if not view.log else 0)

    def look(self) -> Iterator[Finding]:
        """Everything that its stages need."""
        facts = self.host.poll([]).facts
        yield from judge(self.config, self.name, facts)
        self.host.ship(self.code.body, self.code.digest)
        pipelines = self.config.load_pipelines().values()
        files = environments.files(pipelines, self.name)
        spec = environments.look_spec(
            f"{os.getpid()}-{time.time_ns()}",
            self.python,
            self.settings.container,
            environments.packages(pipelines, self.name),
            files,
            self.code.digest,
            self.needs,
        )
        try:
            view = self.follow(spec)
        except LaunchFailed as error:
            yield Finding(
                f"host {self.name} environment", False, error.message, f"python -m bot host setup {self.name}"
            )
            return
        if view.rc != 0 or view.result is None:
            said = view.log_tail.strip() or view.why or f"exit code {view.rc}"
            yield Finding(f"host {self.name} environment", False, said, "mend `python`, `packages` or `container`")
            return
        yield from judge_files(self.name, view.result["paths"], list(files.values()))
        yield from judge_environment(self.name, view.result, facts, self.environment is not None)


def judge_files(name: str, found: list[tuple[str, bool]], named: list[str]) -> Iterator[Finding]:
    """`found`: paths as they are on the host, in the order of `named`, which says what names them."""
    for (path, there), where in zip(found, named, strict=True):
        said = "is there" if there else "is not there"
        yield Finding(f"host {name} file {path}", there, said, f"put it there, or change {where}")


def judge_environment(name: str, found: dict[str, Any], facts: HostFacts, made: bool) -> Iterator[Finding]:
    """What a look at a host's environment shows. `made`: by `host setup`, of `packages`."""
    python = tuple(int(part) for part in found["python"].split("."))
    yield Finding(
        f"host {name} stages' python",
        python >= OLDEST_PYTHON,
        f"{found['python']}, {found['executable']}",
        f"set `python` of {name} to one of {'.'.join(map(str, OLDEST_PYTHON))} or later",
    )
    packages: dict[str, str | None] = found["packages"]
    missing = [package for package, version in packages.items() if version is None]
    there = ", ".join(f"{package} {version}" for package, version in packages.items() if version) or "none needed"
    where = f"add them to the lists in `packages`, then: python -m bot host setup {name}"
    if not made:
        where = (
            f"{found['executable']} -m pip install {' '.join(missing)} (ops/requirements has versions that are tested)"
        )
    yield Finding(f"host {name} packages", not missing, f"missing {', '.join(missing)}" if missing else there, where)
    if packages.get("sglang"):
        yield from _judge_sglang(name, str(packages["sglang"]), found["patches"])
    torch = found.get("torch")
    if torch is not None:
        yield _judge_torch(name, torch, len(facts.gpus))


def _judge_sglang(name: str, version: str, patches: dict[str, str]) -> Iterator[Finding]:
    for patch, knows in sorted(patches.items()):
        fits = version.partition("+")[0] == knows
        said = f"SGLang {version}, the patch knows {knows}"
        yield Finding(f"host {name} patch {patch}", fits, said, f"install sglang=={knows} there; no other is tested")


def _judge_torch(name: str, torch: dict[str, Any], num_gpus: int) -> Finding:
    what = f"host {name} torch"
    if "error" in torch:
        return Finding(what, False, f"cannot be imported: {torch['error']}", "install a build that fits the host")
    said = f"CUDA {torch['cuda']}, sees {torch['gpus']} GPUs" if torch["cuda"] else "a CPU build"
    remedy = f"nvidia-smi shows {num_gpus} GPUs: install a torch whose CUDA fits the driver"
    return Finding(what, torch["gpus"] >= num_gpus, said, remedy)


def _remedy(log: str) -> str:
    """What helps, for what mostly goes wrong."""
    for sign, remedy in (
        ("ensurepip", "that Python cannot make a venv: on Debian, apt install python3-venv"),
        ("No space left", "free space there, or set `root` to a larger disk"),
        ("No matching distribution", "that version is not to be had from the host's pip sources"),
        ("Connection", "the host's pip reaches no package source: set PIP_INDEX_URL or a proxy for its user"),
    ):
        if sign in log:
            return f"-> {remedy}; then the same command again"
    return "-> mend that, then the same command again"
