"""From batches to requests: the rows of each request, its chunks joined in order."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pointsman_capture.transfer import Transfer


@dataclass
class Parts:
    """The chunks of one request so far. Tensors are on the host, or on their way there until `transfers` are done."""

    req: Any
    aux: list = field(default_factory=list)
    last: list = field(default_factory=list)
    transfers: list = field(default_factory=list)

    @property
    def num_rows(self) -> int:
        return sum(part.shape[0] for part in self.aux)


@dataclass(frozen=True)
class Captured:
    """One whole request, ready to be written. `aux` and `last` are chunks [rows, width] that follow each other."""

    asked: dict[str, Any]
    input_ids: Sequence[int]
    parts: Parts


class Assembly:
    """Called by the scheduler's thread alone."""

    def __init__(self, writers):
        self._writers = writers
        self._parts: dict[str, Parts] = {}
        self._batch = None  # the last batch's output, and its copies to the host
        self._copies = None

    def take(self, req, asked, logits_output, rows, store):
        """Take `rows` of a batch for `req`. `store` False: a chunk in the middle, or a request that came to nothing."""
        if req.is_retracted or req.finished():  # prefilled again from its beginning, or aborted
            self._parts.pop(req.rid, None)
            return
        is_middle = req.inflight_middle_chunks > 0
        if not (store or is_middle):
            self._parts.pop(req.rid, None)
            return
        parts = self._parts.setdefault(req.rid, Parts(req))
        aux, last, transfer = self._on_host(logits_output)
        parts.aux.append(aux[rows])
        parts.last.append(last[rows])
        parts.transfers.append(transfer)
        if is_middle:
            self._forget_dead(req.rid)
            return
        del self._parts[req.rid]
        # A request with max_new_tokens=1 is never prefilled with output behind its prompt.
        self._writers.put(Captured(asked, req.origin_input_ids, parts))

    def _on_host(self, output):
        """aux and last of the whole batch; copied once, whatever the number of requests in it."""
        if self._batch is not output:
            if output.last_hidden_states is None:
                raise RuntimeError("pointsman_capture: SGLang kept no last hidden states")
            transfer = Transfer()
            self._copies = (transfer.copy(output.hidden_states), transfer.copy(output.last_hidden_states), transfer)
            self._batch = output
            transfer.record()
        return self._copies

    def _forget_dead(self, alive):
        """Requests that were aborted between their chunks are not heard of again."""
        for rid in [rid for rid, parts in self._parts.items() if rid != alive and parts.req.finished()]:
            del self._parts[rid]
