"""A client of the control plane: the operator's hands in demos and tests. Standard library only."""

import http.client
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode, urlsplit

from bot.workspace.refusal import Json, Refusal
from bot.workspace.roster import OPERATOR, RUNS


class ControlClient:
    """Each verb is one request on a connection of its own; raises Refusal when refused, OSError when down."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url.rstrip("/")
        self.api_url = f"{self.base_url}/api/"  # the WebClient's base_url

    def send(self, act: str, /, **args: Any) -> Json:
        return self._request("POST", f"/control/{act}", args)

    def look(self, what: str, /, **query: Any) -> Json:
        asked = urlencode({k: v for k, v in query.items() if v is not None})
        return self._request("GET", f"/control/{what}?{asked}", timeout_s=float(query.get("wait_s") or 0) + 30)

    def _request(self, verb: str, path: str, body: Json | None = None, timeout_s: float = 90.0) -> Json:
        connection = http.client.HTTPConnection(urlsplit(self.base_url).netloc, timeout=timeout_s)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request(verb, path, json.dumps(body) if body is not None else None, headers)
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        if response.status != 200:
            refused: Json = json.loads(text) if text.startswith("{") else {"error": text}
            raise Refusal(refused["error"], refused.get("errors"))
        answer = json.loads(text)
        assert isinstance(answer, dict)
        return answer

    def post(self, text: str, *, user: str = OPERATOR, channel: str = RUNS, **more: Any) -> Json:
        """`more`: thread_ts, reply_broadcast, age_s, silent."""
        return self.send("post", text=text, user=user, channel=channel, **more)

    def edit(self, ts: str, text: str, *, user: str = OPERATOR, channel: str = RUNS) -> Json:
        return self.send("edit", ts=ts, text=text, user=user, channel=channel)

    def delete(self, ts: str, *, user: str = OPERATOR, channel: str = RUNS) -> None:
        self.send("delete", ts=ts, user=user, channel=channel)

    def react(self, ts: str, name: str, *, user: str = OPERATOR, channel: str = RUNS, remove: bool = False) -> None:
        self.send("react", ts=ts, name=name, user=user, channel=channel, remove=remove)

    def click(self, ts: str, action_id: str, *, user: str = OPERATOR, channel: str = RUNS, **more: Any) -> list[bool]:
        """Whether each press was acked in time; `value` picks one of several, `times` presses again."""
        acked: list[bool] = self.send("click", ts=ts, action_id=action_id, user=user, channel=channel, **more)["acked"]
        return acked

    def messages(self, channel: str = RUNS) -> list[Json]:
        return list(self.look("messages", channel=channel)["messages"])

    def thread(self, ts: str, channel: str = RUNS) -> list[Json]:
        return list(self.look("thread", channel=channel, ts=ts)["messages"])

    def ephemerals(self, user: str | None = None, channel: str | None = None) -> list[Json]:
        return list(self.look("ephemerals", user=user, channel=channel)["messages"])

    def counters(self) -> Json:
        return self.look("counters")

    def fault(self, kind: str, method: str = "*", times: int = 1, **more: Any) -> None:
        self.send("fault", kind=kind, method=method, times=times, **more)

    def wait(self, found: Callable[[], Any], timeout_s: float = 10.0) -> Any:
        """`found()`, asked anew at every change until it is truthy; raises TimeoutError."""
        deadline, seq = time.monotonic() + timeout_s, 0
        while True:
            seq = self.look("changes", since=seq)["seq"] if seq == 0 else seq
            if result := found():
                return result
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"not seen within {timeout_s:g} s")
            seq = self.look("changes", since=seq, wait_s=min(left, 0.2))["seq"]

    def wait_connected(self, count: int = 1, timeout_s: float = 10.0) -> None:
        self.wait(lambda: self.counters()["connections"] >= count, timeout_s)
