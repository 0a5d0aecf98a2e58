"""What the benchmark says of itself while it runs."""

from runner.bench.measurement import measure_tok_s
from runner.bench.records import DRAFTED, Record
from runner.bench.schedule import Pass
from runner.protocol.status import Progress, StatusWriter

_SIDES = {DRAFTED: "with the drafter", "baseline": "target alone"}


class ProgressReport:
    """Answers done of all answers to come, and the speed of the pass under way."""

    def __init__(self, status: StatusWriter, total: int) -> None:
        self._status = status
        self._total = total
        self._done = 0
        self._passes = 0
        self._message = ""
        self._rates: dict[str, float] = {}

    def begin(self, turn: Pass, rounds: int) -> None:
        in_flight = "one at a time" if turn.concurrency == 1 else f"{turn.concurrency} in flight"
        self._message = f"round {turn.round + 1} of {rounds}, {_SIDES[turn.side]}, {in_flight}"
        self._rates = {}
        self.tell(self._message)

    def tick(self, record: Record | None) -> None:
        """An answer came, or none did for a while."""
        if record is not None:
            self._done += 1
            self._rates = {"tokens_s": record.completion_tokens / record.latency_s * record.concurrency}
        self.tell(self._message)

    def end(self, turn: Pass, records: list[Record]) -> None:
        self._passes += 1
        self._status.metric(self._passes, **{f"{turn.side}_tok_s_at_{turn.concurrency}": measure_tok_s(records)})

    def tell(self, message: str) -> None:
        progress = Progress(done=self._done, total=self._total, unit="answers")
        self._status.update("running", progress=progress, rates=self._rates, message=message)
