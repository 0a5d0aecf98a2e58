"""One server of an extraction: what is asked of it, what it wrote, and whether the two match."""

import dataclasses
import shlex
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from runner.conversations import Conversation
from runner.extract.options import ExtractOptions
from runner.extract.plan import Plan
from runner.extract.records import Records, check_captured, free_bytes
from runner.extract.station import Station, open_station
from runner.journal import Journal
from runner.manifest import SampleRow
from runner.protocol.errors import DataError, ServerError, StageError
from runner.protocol.status import Progress
from runner.pump import Pump
from runner.rates import Meter
from runner.serve import CaptureSettings, Server, ServerSettings, generate, serve
from runner.stage import status, tell_start

_MOST_TRIES = 3
_FILES_A_FOLDER = 1000
_LAST_WRITES_S = 600.0  # for the server to write what it has prefilled


@dataclass
class Session:
    """One server, from its start until nothing is missing or it is lost."""

    options: ExtractOptions
    plan: Plan
    meter: Meter
    start_s: float = 0.0
    next_tokens: dict[str, int] = field(default_factory=dict)
    written: dict[str, dict[str, Any]] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)
    queue: list[Conversation] = field(default_factory=list)

    def run(self) -> None:
        """Raises ServerError when the server is lost: another session may go on."""
        self.queue = self.plan.missing()[::-1]  # taken from its end
        files = {conversation.id: i for i, conversation in enumerate(self.plan.wanted)}
        records = Records.begin(self.options.out)
        started_s = time.monotonic()
        log = self.options.out / "server.log"
        with (
            open_station(self.options) as station,  # left after the server is gone
            serve(self._server_settings(station), log, tell_start) as server,
        ):
            facts = records.engine_facts()
            check_captured(self.plan.indices, facts)
            self.start_s = time.monotonic() - started_s
            if self.meter.samples == 0:
                self.meter.start()
            with Journal(self.options.out / "journal.jsonl") as journal:
                self._extract(server, records, journal, files)
                journal.flush()

    def _extract(self, server: Server, records: Records, journal: Journal, files: dict[str, int]) -> None:
        def work(conversation: Conversation) -> int:
            return self._ask(
                server, conversation, f"samples/{files[conversation.id] // 1000:04d}/{conversation.id}.safetensors"
            )

        while self.queue:
            pump: Pump[Conversation, int] = Pump(
                lambda: self.queue.pop() if self.queue else None,
                work,
                jobs=self.options.in_flight,
                weight=self.options.in_flight_tokens,
                weigh=lambda conversation: len(conversation.input_ids),
            )
            for ended in pump.run():
                if ended is not None:
                    self._take(server, *ended)
                else:
                    self._collect(records, journal)
                    self._tell()
            self._await_writes(server, records, journal)  # which may ask for some again

    def _ask(self, server: Server, conversation: Conversation, file: str) -> int:
        """Prefill one conversation; returns the engine's own next token."""
        runs = ",".join(map(str, conversation.mask_runs))
        sampling = {
            "max_new_tokens": 1,
            "temperature": 0,
            "ignore_eos": True,
            "custom_params": {"pointsman": {"id": conversation.id, "file": file, "mask": runs}},
        }
        answer = generate(server.url, conversation.input_ids, sampling, timeout_s=3600.0, return_hidden_states=True)
        return int(answer["output_ids"][0])

    def _take(self, server: Server, conversation: Conversation, result: "int | StageError") -> None:
        if isinstance(result, int):
            self.next_tokens[conversation.id] = result
            return
        if not server.is_alive:
            raise server.death("the server died")
        self._again(conversation, result.message)

    def _again(self, conversation: Conversation, why: str) -> None:
        tries = self.tries[conversation.id] = self.tries.get(conversation.id, 0) + 1
        if tries >= _MOST_TRIES:
            raise DataError(f"sample {conversation.id} failed {tries} times: {why}")
        print(f"sample {conversation.id} is asked again: {why}", file=sys.stderr)
        self.next_tokens.pop(conversation.id, None)
        self.queue.insert(0, conversation)

    def _collect(self, records: Records, journal: Journal) -> None:
        """Match what the server wrote with what it answered. Raises DiskFull when it could not write."""
        records.check_failure()
        for record in records.new():
            if "error" in record:
                conversation = next(c for c in self.plan.wanted if c.id == record["id"])
                self._again(conversation, record["error"])
            else:
                self.written[record["id"]] = record
        for sample_id in self.written.keys() & self.next_tokens.keys():
            row = SampleRow(**self.written.pop(sample_id), next_token=self.next_tokens.pop(sample_id))
            journal.append(dataclasses.asdict(row))
            self.plan.rows[row.id] = row
            self.meter.add(row.num_tokens, row.bytes)

    def _await_writes(self, server: Server, records: Records, journal: Journal) -> None:
        """Every request is answered: wait for the files behind the answers."""
        until_s = time.monotonic() + _LAST_WRITES_S
        while self.next_tokens and not self.queue:
            self._collect(records, journal)
            if not self.next_tokens:
                return
            if not server.is_alive:
                raise server.death("the server died")
            if time.monotonic() > until_s:
                missing = ", ".join(sorted(self.next_tokens)[:5])
                raise ServerError(f"the server answered, but did not write {missing}")
            self._tell()
            time.sleep(0.05)

    def _tell(self) -> None:
        rows = self.plan.rows.values()
        done, used = sum(row.num_tokens for row in rows), sum(row.bytes for row in rows)
        total = self.plan.tokens
        left = total - done
        status().update(
            "running",
            progress=Progress(len(self.plan.rows), len(self.plan.wanted), "samples"),
            rates=self.meter.rates_now(),
            eta_s=self.meter.eta_s(left, self.meter.tokens),
            disk={
                "used": used,
                "projected": used + left * self.plan.bytes_per_token,
                "free": free_bytes(self.options.out),
            },
            message=f"{done} of {total} tokens",
        )

    def _server_settings(self, station: Station | None) -> ServerSettings:
        options = self.options
        longest = max(len(conversation.input_ids) for conversation in self.queue)
        settings = ServerSettings(
            model=options.target,
            dtype=options.model_dtype,
            context_length=longest + 8,
            chunked_prefill_tokens=options.chunked_prefill or None,
            tensor_parallel=options.tensor_parallel,
            tokenizer=False,
            capture=CaptureSettings(
                folder=options.out,
                layer_ids=self.plan.layer_ids,
                dtype=self.plan.dtype,
                writers=options.writers,
                station=station.folder if station else None,
                station_bytes=station.most_bytes if station else 0,
            ),
            threads=options.threads or None,
            extra=tuple(shlex.split(options.server_args)),
        )
        if settings.on_cpu:  # SGLang would take nearly all of the memory for its pool
            return dataclasses.replace(settings, max_total_tokens=max(longest + 64, 16384))
        return settings
