"""The client against a server that misbehaves: what is asked again, what stops the stage, what is in the set."""

import contextlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch

from runner.extract.options import ExtractOptions
from runner.extract.run import run
from runner.manifest import read_manifest, read_rows
from runner.protocol.errors import CaptureMismatch, DataError, DiskFull, ServerError
from runner.protocol.files import read_json
from runner.serve import Server, ServerSettings
from tests.capture.conftest import HIDDEN, Assembly, CaptureFolder, MadeSet, Settings, Writers, batch, request


class Process:
    """As much of Popen as a Server looks at."""

    returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode


@dataclass
class Engine:
    """Answers /generate and writes by the real plugin. `disturb(id, times)` may return what goes wrong, once a request:

    die, refuse (HTTP 500), cached (a prefix is missing), silent (answered, never written), full (the disk is).
    """

    out: Path
    disturb: Callable[[str, int], str | None] = lambda name, times: None
    captured: tuple[int, ...] = (2, 4, 5)
    starts: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    settings: list[ServerSettings] = field(default_factory=list)

    @contextlib.contextmanager
    def serve(self, settings: ServerSettings, log: Path, tell: object = None) -> Iterator[Server]:
        self.starts += 1
        self.settings.append(settings)
        folder = CaptureFolder(self.out)
        folder.announce(captured=self.captured, architecture="Fake", dtype="float32")
        capture = settings.capture
        assert capture is not None
        told = Settings(self.out, "auto", 2, 1 << 30, capture.station, capture.station_bytes)
        writers = Writers(folder, told)
        self.folder, self.assembly = folder, Assembly(writers)
        self.process, self.lock = Process(), threading.Lock()
        log.write_text("the engine's last words\n")
        server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield Server(f"http://127.0.0.1:{server.server_address[1]}", log, self.process)  # type: ignore[arg-type]
        finally:
            server.shutdown()
            server.server_close()
            assert writers.wait_idle(10.0)  # a dead server's threads write no more

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        engine = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with engine.lock:
                    answer = engine.answer(body)
                if answer is None:
                    self.close_connection = True
                    return
                code, said = answer
                data = json.dumps(said).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None: ...

        return Handler

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        if self.process.returncode is not None:
            return None
        assert body["return_hidden_states"] is True and body["sampling_params"]["max_new_tokens"] == 1
        asked = body["sampling_params"]["custom_params"]["pointsman"]
        self.asked[asked["id"]] += 1
        fault = self.disturb(asked["id"], self.asked[asked["id"]])
        if fault == "die":
            self.process.returncode = -9
            return None
        if fault == "refuse":
            return 500, {"error": {"message": "no room"}}
        if fault == "full":
            self.folder.fail(asked["id"], OSError(28, "No space left on device"), is_full=True)
        elif fault != "silent":
            count = len(body["input_ids"])
            rows = count - 1 if fault == "cached" else count
            states = batch(torch.ones(rows, 3 * HIDDEN), torch.ones(rows, HIDDEN))
            self.assembly.take(request(asked["id"], body["input_ids"]), asked, states, slice(0, rows), True)
        return 200, {"output_ids": [7], "meta_info": {"finish_reason": {"type": "length"}}}


@pytest.fixture
def engine(random_set: MadeSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine(tmp_path / "extracted")
    monkeypatch.setattr("runner.extract.session.serve", made.serve)
    return made


def options(random_set: MadeSet, engine: Engine, **fields: Any) -> ExtractOptions:
    return ExtractOptions(
        target=random_set.target, samples=random_set.samples, out=engine.out, capture=(2, 4, 5), in_flight=2, **fields
    )


def check_complete(random_set: MadeSet, engine: Engine) -> None:
    rows = read_rows(engine.out, read_manifest(engine.out).samples)
    assert [row.id for row in rows] == [conversation.id for conversation in random_set.conversations]
    assert all(row.next_token == 7 and (engine.out / row.file).stat().st_size == row.bytes for row in rows)


def test_every_sample_is_asked_once_and_is_in_the_set(random_set: MadeSet, engine: Engine) -> None:
    run(options(random_set, engine))
    check_complete(random_set, engine)
    assert set(engine.asked.values()) == {1} and engine.starts == 1
    capture = engine.settings[0].capture
    assert capture is not None and capture.layer_ids == (1, 3, 4) and engine.settings[0].context_length == 31 + 8
    assert read_json(str(engine.out / "result.json"))["samples"] == 5


def test_a_server_that_dies_is_started_again(random_set: MadeSet, engine: Engine) -> None:
    engine.disturb = lambda name, times: "die" if name == "s2" and times == 1 else None
    run(options(random_set, engine))
    check_complete(random_set, engine)
    assert engine.starts == 2
    assert read_json(str(engine.out / "result.json"))["restarts"] == 1


def test_a_server_that_always_dies_ends_the_stage_with_its_last_words(random_set: MadeSet, engine: Engine) -> None:
    engine.disturb = lambda name, times: "die" if name == "s2" else None
    with pytest.raises(ServerError, match="last words"):
        run(options(random_set, engine, restarts=2))
    assert engine.starts == 3 and not (engine.out / "manifest.json").exists()
    engine.disturb = lambda name, times: None
    run(options(random_set, engine))
    check_complete(random_set, engine)


@pytest.mark.parametrize("fault", ["refuse", "cached"])
def test_a_sample_that_fails_once_is_asked_again(random_set: MadeSet, engine: Engine, fault: str) -> None:
    engine.disturb = lambda name, times: fault if name == "s3" and times == 1 else None
    run(options(random_set, engine))
    check_complete(random_set, engine)
    assert engine.asked["s3"] == 2 and engine.starts == 1


@pytest.mark.parametrize(("fault", "words"), [("refuse", "no room"), ("cached", "19 rows for 20 tokens")])
def test_a_sample_that_always_fails_is_named(random_set: MadeSet, engine: Engine, fault: str, words: str) -> None:
    engine.disturb = lambda name, times: fault if name == "s3" else None
    with pytest.raises(DataError, match=f"s3 failed 3 times.*{words}"):
        run(options(random_set, engine))


def test_a_full_disk_ends_the_stage(random_set: MadeSet, engine: Engine) -> None:
    engine.disturb = lambda name, times: "full" if name == "s1" else None
    with pytest.raises(DiskFull, match="No space left"):
        run(options(random_set, engine))


def test_an_answer_without_a_file_is_an_error(
    random_set: MadeSet, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.extract.session._LAST_WRITES_S", 0.2)
    engine.disturb = lambda name, times: "silent" if name == "s1" else None
    with pytest.raises(ServerError, match="did not write s1"):
        run(options(random_set, engine, restarts=0))


def test_a_model_that_captures_other_layers_is_refused(random_set: MadeSet, engine: Engine) -> None:
    engine.captured = (3, 5, 6)
    with pytest.raises(CaptureMismatch, match=r"captures \[3, 5, 6\], asked for \[2, 4, 5\]"):
        run(options(random_set, engine))
    assert not engine.asked


def test_files_go_through_a_station_that_is_gone_afterwards(
    random_set: MadeSet, engine: Engine, tmp_path: Path
) -> None:
    station = tmp_path / "memory"
    engine.disturb = lambda name, times: "die" if name == "s2" and times == 1 else None
    run(options(random_set, engine, station=station, station_gb=0.0001))
    check_complete(random_set, engine)
    folders = {settings.capture.station for settings in engine.settings if settings.capture}
    assert len(engine.settings) == 2 and len(folders) == 1 and folders.pop().parent == station
    assert not list(station.iterdir())


def test_a_station_larger_than_what_is_free_is_refused(random_set: MadeSet, engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match="the station may take"):
        run(options(random_set, engine, station=tmp_path / "memory", station_gb=1e9))
    assert not engine.starts
