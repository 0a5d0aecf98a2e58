"""A cluster: the same agent on its login node submits every attempt as a Slurm job."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from bot.adapters.hosts.bundle import job_program
from bot.adapters.hosts.deadline import Deadline
from bot.adapters.hosts.host import AgentHost
from bot.adapters.hosts.settings import SlurmSettings
from bot.errors import HostUnreachable, LaunchFailed
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import AttemptView
from runner.protocol.wire import Message


class SlurmHost(AgentHost):
    """A controller that gives no answer is as unreachable as its login node.

    What is no job (`spec.slurm` is None: preparing the host, say) runs on the login node itself.
    """

    @property
    def slurm(self) -> SlurmSettings:
        return self.settings.slurm or SlurmSettings()

    def launch(self, spec: AttemptSpec, secrets: Mapping[str, str]) -> AttemptView:
        if spec.slurm is None:
            return super().launch(spec, secrets)
        given = dict(asdict(self.slurm), options=list(self.slurm.options), python=self.slurm.python)
        ask = {"op": "launch", "spec": spec.to_json(), "secrets": dict(secrets), "env": dict(self.settings.env)}
        return self._attempt(self._ask({**ask, "slurm": given}, Deadline(self.settings.launch_s), job_program()))

    def partitions(self) -> list[dict[str, Any]]:
        """Name, default, state, nodes, cpus, gres and time_limit of each, as the controller tells them."""
        ask = {"op": "partitions", "bin": self.slurm.bin, "conf": self.slurm.conf}
        return list(self._ask(ask, Deadline(self.settings.launch_s)).header["partitions"])

    def _checked(self, message: Message) -> Message:
        try:
            return super()._checked(message)
        except LaunchFailed as error:
            if error.kind == "unreachable":
                raise HostUnreachable(self.name, error.message) from error
            raise
