"""`python -m bot check`: everything a run needs, looked at now; a remedy for each fault."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bot.adapters.hosts.slurm import SlurmHost
from bot.adapters.slack.call import Caller
from bot.adapters.slack.identity import check_app_token, check_channel, identify, missing_scopes
from bot.adapters.slack.web import open_client
from bot.cli import arguments, check_slurm, wiring
from bot.config import Config, load_config
from bot.core.pipeline import bytes_of
from bot.core.summary import words
from bot.errors import BotError, HostKeyChanged, StoreUnavailable
from runner.protocol.errors import ProtocolError
from runner.protocol.view import HostFacts


@dataclass(frozen=True)
class Finding:
    """One thing looked at. `ok` None: only worth knowing."""

    what: str
    ok: bool | None
    found: str
    remedy: str = ""


def main(argv: list[str]) -> int:
    to = arguments.parser("check", "Look at tokens, scopes, channel, pipelines, hosts, Python, GPUs and free disk.")
    arguments.add_config(to)
    to.add_argument("--json", action="store_true", help="one JSON line")
    to.add_argument("--offline", action="store_true", help="leave Slack out")
    args = to.parse_args(argv)
    config = load_config(args.config)
    findings = list(look(config, slack=not args.offline))
    if args.json:
        print(json.dumps({"version": 1, "findings": [vars(f) for f in findings]}))
    else:
        print("\n".join(line(f) for f in findings))
    return 1 if any(f.ok is False for f in findings) else 0


def line(finding: Finding) -> str:
    """A finding for people."""
    mark = {True: "ok  ", False: "FAIL", None: "    "}[finding.ok]
    remedy = f"\n       -> {finding.remedy}" if finding.remedy and finding.ok is False else ""
    return f"{mark} {finding.what}: {finding.found}{remedy}"


def look(config: Config, slack: bool = True) -> Iterator[Finding]:
    """Every finding, in the order in which one would mend them."""
    if slack:
        yield from _guarded("slack", lambda: list(_slack(config)))
    yield from _guarded("pipelines", lambda: list(_pipelines(config)))
    yield from _guarded("database", lambda: list(_database(config)))
    for name in config.hosts:
        yield from _host(config, name)


def _guarded(what: str, part: Callable[[], list[Finding]]) -> list[Finding]:
    try:
        return part()
    except (BotError, OSError) as error:
        return [Finding(what, False, str(error), "mend that first")]


def _slack(config: Config) -> Iterator[Finding]:
    bot_token, app_token = config.slack.tokens()
    call = Caller(open_client(bot_token, config.slack.base_url))
    identity = identify(call)
    yield Finding("slack bot token", True, f"bot user {identity.bot_user} in team {identity.team}")
    missing = missing_scopes(identity)
    yield Finding(
        "slack scopes",
        not missing,
        "all there" if not missing else "missing " + ", ".join(scope.scope for scope in missing),
        "; ".join(scope.remedy for scope in missing),
    )
    check_app_token(app_token, config.slack.base_url)
    yield Finding("slack app token", True, "Socket Mode opens")
    yield Finding("slack channel", True, check_channel(call, config.slack.channel))


def _pipelines(config: Config) -> Iterator[Finding]:
    for pipeline in config.load_pipelines().values():
        yield Finding(f"pipeline {pipeline.name}", True, f"{len(pipeline.stages)} stages, {pipeline.source}")


def _database(config: Config) -> Iterator[Finding]:
    try:
        store = wiring.open_database(config)
    except StoreUnavailable as error:
        yield Finding("database", False, str(error), "start it, or mend `database` in the configuration")
        return
    try:
        yield Finding("database", True, f"{store.about()}: {len(store.all_runs())} runs")
    finally:
        store.close()


def _host(config: Config, name: str) -> Iterator[Finding]:
    host = wiring.open_hosts(config)[name]
    try:
        facts = host.poll([]).facts
        told = list(check_slurm.look(config, name, host)) if isinstance(host, SlurmHost) else []
    except HostKeyChanged as error:
        yield Finding(
            f"host {name}", False, error.message, "compare the fingerprint with the host's own before trusting it"
        )
        return
    except (BotError, ProtocolError, OSError) as error:
        yield Finding(f"host {name}", False, str(error), "ssh there by hand, as the bot's user, and mend what it says")
        return
    finally:
        host.close()
    yield from judge(config, name, facts)
    yield from (Finding(f"host {name} {what}", ok, found, remedy) for what, ok, found, remedy in told)


def judge(config: Config, name: str, facts: HostFacts) -> Iterator[Finding]:
    """What a reachable host shows."""
    yield Finding(f"host {name}", True, f"{facts.hostname}, {facts.cpus} CPUs, load {facts.load:.1f}")
    yield Finding(f"host {name} python", None, f"agent {facts.python}, stages {config.hosts[name].python}")
    gpus = ", ".join(f"{g.index}: {g.name} {words.size(g.total_bytes)}" for g in facts.gpus) or "none"
    stages = [s for p in config.load_pipelines().values() for s in p.stages if s.host == name]
    wanted = {gpu for s in stages for gpu in s.gpus}
    there = {gpu.index for gpu in facts.gpus}
    if config.hosts[name].slurm is None:  # else they are on its nodes, and Slurm tells of them
        yield Finding(f"host {name} GPUs", wanted <= there, gpus, f"the pipelines name GPU {sorted(wanted - there)}")
    need = max(
        (sum(bytes_of(s, {}) for s in p.stages if s.host == name) for p in config.load_pipelines().values()), default=0
    )
    yield Finding(
        f"host {name} disk",
        facts.free_bytes >= need,
        f"{words.size(facts.free_bytes)} free under {facts.root}, the largest pipeline needs about {words.size(need)}",
        "free space there, or set `root` to a larger disk",
    )
    missing = [s for s in config.hosts[name].secrets if s not in os.environ]
    yield Finding(
        f"host {name} secrets",
        not missing,
        "all set" if not missing else f"not set: {', '.join(missing)}",
        "set them in the bot's environment",
    )
