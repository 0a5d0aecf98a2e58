"""`python -m bot check` on a cluster: whether Slurm answers, and has what the pipelines ask of it."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from bot.adapters.hosts.slurm import SlurmHost
from bot.config import Config
from bot.core.pipeline import SlurmNeeds
from bot.errors import HostError
from runner.protocol.errors import ProtocolError

_GPUS = re.compile(r"gpu(?::[a-z][\w.-]*)?:(\d+)", re.IGNORECASE)


def look(config: Config, name: str, host: SlurmHost) -> Iterator[tuple[str, bool, str, str]]:
    """What was looked at, whether it is good, what was found, and the remedy."""
    try:
        told = host.partitions()
    except (HostError, ProtocolError) as error:
        yield "slurm", False, str(error), "run sinfo there as the bot's user; set slurm.bin or slurm.conf"
        return
    yield from judge(config, name, told)


def judge(config: Config, name: str, told: Sequence[dict[str, Any]]) -> Iterator[tuple[str, bool, str, str]]:
    """What a controller that answers shows."""
    slurm = config.hosts[name].slurm
    if slurm is None:
        return
    by_name = {str(each["name"]): each for each in told}
    default = next((str(each["name"]) for each in told if each["default"]), "")
    shown = ", ".join(f"{each['name']} ({each['state']}, {each['nodes']} nodes, {each['gres']})" for each in told)
    yield "slurm", True, shown or "no partition", ""
    for who, needs in _wanted(config, name):
        where = needs.partition or slurm.partition or default
        found = by_name.get(where)
        if found is None:
            known = ", ".join(by_name) or "none"
            said = f"there is no partition {where}" if where else "no partition is named, and none is the default"
            yield f"slurm {who}", False, said, f"known: {known}"
            continue
        gpus, nodes = _gpus(told, where), _nodes(told, where)
        fits = found["state"] == "up" and needs.gpus_per_node <= gpus and needs.nodes <= nodes
        asked = f"{needs.nodes} nodes, {needs.gpus_per_node} GPUs each, of {nodes} nodes with up to {gpus}"
        yield f"slurm {who}", fits, f"partition {where} is {found['state']}: {asked}", "ask for less, or elsewhere"


def _wanted(config: Config, name: str) -> Iterator[tuple[str, SlurmNeeds]]:
    slurm = config.hosts[name].slurm
    if slurm is not None:
        yield "checks", slurm.checks.to_core()
    for pipeline in config.load_pipelines().values():
        for stage in pipeline.stages:
            if stage.host == name:
                yield f"{pipeline.name} {stage.id}", stage.slurm or SlurmNeeds()


def _gpus(told: Sequence[dict[str, Any]], partition: str) -> int:
    """The most GPUs that a node of the partition has."""
    shown = [str(each["gres"]) for each in told if each["name"] == partition]
    return max((sum(int(number) for number in _GPUS.findall(gres)) for gres in shown), default=0)


def _nodes(told: Sequence[dict[str, Any]], partition: str) -> int:
    return sum(int(each["nodes"]) for each in told if each["name"] == partition)
