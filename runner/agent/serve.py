"""The agent's loop: a request comes in, an answer goes out, until the channel closes.

What a poll does not need is imported by the operation that does: it is compiled at each start, on the host.
"""

import contextlib
import errno
import os
import select
import stat
import sys
from dataclasses import asdict
from typing import Any, Callable, Dict, NamedTuple, Tuple

from runner.agent.facts import facts
from runner.agent.gpus import GpuWatch, strangers
from runner.agent.identity import ProcessTable
from runner.agent.refusal import Refused
from runner.agent.root import Root
from runner.agent.views import view
from runner.protocol import VERSION
from runner.protocol.errors import DiskFull, ProtocolError
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import ABSENT, UNREADABLE, AttemptView, PollAsk, to_json
from runner.protocol.wire import Message, Unpacker, pack

IDLE_S = 900.0  # a channel that nobody has used for so long has been forgotten
FETCH_MAX = 256 << 20


class Reply(NamedTuple):
    """An answer's header and raw bytes."""

    header: Dict[str, Any]
    body: bytes = b""


class Agent:
    """The operations, by the names they have in a request."""

    def __init__(self) -> None:
        self.root = Root("~/.pointsman")
        self.gpus = GpuWatch()
        self.processes = ProcessTable()

    def hello(self, ask: Dict[str, Any], body: bytes) -> Reply:
        if ask.get("version") != VERSION:
            raise ProtocolError("the bot speaks version %r, this agent %d" % (ask.get("version"), VERSION))
        self.root = Root(ask["root"])
        return Reply({"pid": os.getpid(), "root": self.root.path, "python": list(sys.version_info[:3])})

    def launch(self, ask: Dict[str, Any], body: bytes) -> Reply:
        spec = AttemptSpec.from_json(ask["spec"])
        if ask.get("slurm") is not None:
            from runner.agent.submit import submit  # only where there is Slurm

            submit(self.root, spec, ask.get("secrets") or {}, ask.get("env") or {}, ask["slurm"], body)
            return Reply({"attempt": to_json(self.view(PollAsk(spec.attempt, spec.token)))})
        if spec.gpus and self.view(PollAsk(spec.attempt, spec.token)).state == ABSENT:
            busy = strangers(self.gpus.now(timeout_s=5.0), spec.gpus)
            if busy:
                raise Refused("gpus-busy", "; ".join(busy))
        from runner.agent.launch import launch

        launch(self.root, spec, ask.get("secrets") or {}, ask.get("env") or {})
        return Reply({"attempt": to_json(self.view(PollAsk(spec.attempt, spec.token)))})

    def poll(self, ask: Dict[str, Any], body: bytes) -> Reply:
        views = [self.try_view(PollAsk(**each)) for each in ask["asks"]]
        return Reply(
            {"facts": asdict(facts(self.root, self.gpus.look())), "attempts": [to_json(each) for each in views]},
            b"".join(each.log for each in views),
        )

    def view(self, ask: PollAsk) -> AttemptView:
        return view(self.root, ask, self.processes)

    def try_view(self, ask: PollAsk) -> AttemptView:
        """One attempt that cannot be read must not hide the others."""
        try:
            return self.view(ask)
        except (Refused, ProtocolError, OSError) as error:
            return AttemptView(attempt=ask.attempt, state=UNREADABLE, why=str(error), problems=[str(error)])
        except (KeyError, TypeError, ValueError, AttributeError) as error:  # a record of another shape
            why = "its records cannot be read: %r" % error
            return AttemptView(attempt=ask.attempt, state=UNREADABLE, why=why, problems=[why])

    def kill(self, ask: Dict[str, Any], body: bytes) -> Reply:
        from runner.agent.cancel import cancel

        survivors = cancel(self.root, ask["attempt"], ask["token"], float(ask["grace_s"]))
        seen = to_json(self.view(PollAsk(ask["attempt"], ask["token"])))
        return Reply({"attempt": dict(seen, survivors=survivors or seen["survivors"])})

    def ship(self, ask: Dict[str, Any], body: bytes) -> Reply:
        if not body:
            return Reply({"there": os.path.isdir(self.root.code(ask["digest"]))})
        from runner.agent.code import ship  # tarfile and its codecs: not in a supervisor's memory

        ship(self.root, ask["digest"], body)
        return Reply({"there": True})

    def gc(self, ask: Dict[str, Any], body: bytes) -> Reply:
        from runner.agent.garbage import collect

        return Reply({"removed": collect(self.root, list(ask.get("keep") or []))})

    def fetch(self, ask: Dict[str, Any], body: bytes) -> Reply:
        path = self.root.resolve(ask["path"])
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise Refused("not-a-file", "%s is no plain file" % path)
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            return Reply({"size": size}, file.read(max(0, min(int(ask["max_bytes"]), FETCH_MAX))))

    def partitions(self, ask: Dict[str, Any], body: bytes) -> Reply:
        from runner.agent.slurm import Cluster

        return Reply({"partitions": Cluster(ask["bin"], ask["conf"]).partitions()})

    def inspect(self, ask: Dict[str, Any], body: bytes) -> Reply:
        from runner.agent.adopt import inspect_folder, inspect_process

        found = inspect_process(int(ask["pid"])) if ask.get("pid") else inspect_folder(self.root, ask["path"])
        return Reply({"found": found})

    def adopt(self, ask: Dict[str, Any], body: bytes) -> Reply:
        from runner.agent.adopt import adopt

        spec = AttemptSpec.from_json(ask["spec"])
        adopt(self.root, spec, ask["process"])
        return Reply({"attempt": to_json(self.view(PollAsk(spec.attempt, spec.token)))})

    def usage(self, ask: Dict[str, Any], body: bytes) -> Reply:
        from runner.agent.usage import usage

        return Reply({"found": usage(self.root, ask["paths"], ask["others"])})

    def remove(self, ask: Dict[str, Any], body: bytes) -> Reply:
        from runner.agent.usage import remove

        return Reply({"removed": remove(self.root, ask["paths"], ask["others"])})

    def operation(self, name: str) -> Callable[[Dict[str, Any], bytes], Reply]:
        known = {
            "hello": self.hello,
            "launch": self.launch,
            "poll": self.poll,
            "kill": self.kill,
            "ship": self.ship,
            "gc": self.gc,
            "fetch": self.fetch,
            "partitions": self.partitions,
            "inspect": self.inspect,
            "adopt": self.adopt,
            "usage": self.usage,
            "remove": self.remove,
        }
        if name not in known:
            raise ProtocolError("no operation is called %r" % name)
        return known[name]


def answer(agent: Agent, message: Message) -> Reply:
    """What a request comes to; an error is an answer too: {error: kind, message}."""
    ask = message.header
    try:
        reply = agent.operation(ask["op"])(ask, message.body)
        return Reply(dict(reply.header, id=ask.get("id")), reply.body)
    except Refused as error:
        kind, text = error.kind, error.message
    except ProtocolError as error:
        kind, text = "protocol", str(error)
    except DiskFull as error:
        kind, text = "no-space", str(error)
    except OSError as error:
        kind, text = os_error(error)
    except (KeyError, TypeError, ValueError) as error:
        kind, text = "protocol", "the request does not fit: %r" % error
    return Reply({"id": ask.get("id"), "error": kind, "message": text})


def os_error(error: OSError) -> Tuple[str, str]:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "no-space", str(error)
    return errno.errorcode.get(error.errno or 0, "os-error").lower(), str(error)


def write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def serve(source: int, sink: int) -> None:
    """Answer requests until `source` is closed."""
    agent = Agent()
    unpacker = Unpacker()
    while select.select([source], [], [], IDLE_S)[0]:
        data = os.read(source, 1 << 20)
        if not data:
            return
        unpacker.feed(data)
        message = unpacker.next()
        while message is not None:
            reply = answer(agent, message)
            write_all(sink, pack(reply.header, reply.body))
            message = unpacker.next()


def main() -> None:
    """Serve standard input and output; both are set aside, so that nothing else can write between answers."""
    source, sink = os.dup(0), os.dup(1)
    null = os.open("/dev/null", os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(null, handle)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        serve(source, sink)
