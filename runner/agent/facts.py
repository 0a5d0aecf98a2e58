"""The host itself: boot, disk, load, GPUs."""

import os
import sys
from typing import List

from runner.agent.identity import boot_id
from runner.agent.plan import free_bytes, total_bytes
from runner.agent.root import Root
from runner.protocol.times import utc_now
from runner.protocol.view import Gpu, HostFacts


def facts(root: Root, gpus: List[Gpu]) -> HostFacts:
    return HostFacts(
        boot_id=boot_id(),
        hostname=os.uname().nodename,
        at=utc_now(),
        free_bytes=free_bytes(root.path),
        total_bytes=total_bytes(root.path),
        load=os.getloadavg()[0],
        python="%d.%d.%d" % sys.version_info[:3],
        cpus=len(os.sched_getaffinity(0)),
        gpus=gpus,
        root=root.path,
    )
