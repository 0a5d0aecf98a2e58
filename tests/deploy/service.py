"""A serving process with its service manager, in this process: answers as SGLang does, restarted by a command."""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

RESTART = "/manager/restart"
DOWN_S = 0.3


class Service:
    """Serves what `current` points at when it starts. `accepts`: drafts accepted a verify step, by release name.

    `manager` is what a restart does: "works", "fails", "hangs", "ignores" (returns 0 and does nothing), "stutters"
    (the same, and the process does not answer for a moment) or "dies" (the process does not come back). `mute`: so
    many questions about the process get no answer. A context manager.
    """

    def __init__(self, serving: Path, accepts: dict[str, int]) -> None:
        self.serving, self.accepts = serving, accepts
        self.manager = "works"
        self.steps, self.restarts, self.asked, self.mute = 3, 0, 0, 0
        self.loaded = self._link()
        self.up_at_s = 0.0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        fetch = f"import urllib.request as r; r.urlopen({self.url + RESTART!r}).read()"
        self.command = f'{sys.executable} -c "{fetch}"'

    def __enter__(self) -> "Service":
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _link(self) -> str | None:
        link = self.serving / "current"
        return link.resolve().name if link.exists() else None

    def restart(self) -> bool:
        """Whether the service manager calls it done."""
        if self.manager == "fails":
            return False
        if self.manager == "hangs":
            time.sleep(20)
        if self.manager in ("works", "dies"):
            self.restarts += 1
            self.loaded = self._link()
            self.up_at_s = time.monotonic() + (DOWN_S if self.manager == "works" else 1e9)
        if self.manager == "stutters":
            self.up_at_s = time.monotonic() + DOWN_S
        return True

    @property
    def is_up(self) -> bool:
        return time.monotonic() >= self.up_at_s

    def info(self) -> dict[str, Any]:
        return {
            "model_path": "/target",
            "speculative_algorithm": "EAGLE3",
            "speculative_draft_model_path": str(self.serving / "current"),
            "speculative_num_steps": self.steps,
            "speculative_eagle_topk": 1,
            "startup_time": {"total": 1.5, "number": self.restarts},
        }

    def generate(self, body: dict[str, Any]) -> dict[str, Any]:
        """As many verify steps as it takes; every one accepts as many drafts as this release does."""
        assert body["sampling_params"]["temperature"] == 0 and all(type(t) is int for t in body["input_ids"])
        self.asked += 1
        accepted = self.accepts[str(self.loaded)]
        wanted = body["sampling_params"]["max_new_tokens"]
        verified = -(-(wanted - 1) // (accepted + 1))
        histogram = [0] * (accepted + 1)
        histogram[accepted] = verified
        return {
            "output_ids": list(range(wanted)),
            "meta_info": {
                "finish_reason": {"type": "length"},
                "completion_tokens": wanted,
                "spec_verify_ct": verified,
                "spec_num_correct_drafts": accepted * verified,
                "spec_correct_drafts_histogram": histogram,
            },
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == RESTART:
                    self._answer(200 if service.restart() else 500, {})
                elif not service.is_up:
                    self._answer(503, {})
                elif self.path == "/server_info" and service.mute:
                    service.mute -= 1
                    self._answer(500, {})
                else:
                    self._answer(200, service.info() if self.path == "/server_info" else {})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if service.is_up:
                    self._answer(200, service.generate(body))
                else:
                    self._answer(503, {})

            def _answer(self, code: int, body: dict[str, Any]) -> None:
                said = json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_: object) -> None: ...

        return Handler
