"""A headless Chromium driven over its DevTools socket: enough to type, press keys, look and take pictures."""

import asyncio
import base64
import json
import os
import re
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)


def chromium() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Tab:
    """One page; `complaints` collects exceptions and console errors."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._id = socket, 0
        self.complaints: list[str] = []

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        self._id += 1
        await self._socket.send_json({"id": self._id, "method": method, "params": params})
        while True:
            answer = await self._socket.receive_json(timeout=20)
            if answer.get("method") == "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(answer["params"]["exceptionDetails"]))
            if answer.get("method") == "Log.entryAdded" and answer["params"]["entry"]["level"] == "error":
                self.complaints.append(json.dumps(answer["params"]["entry"]))
            if answer.get("id") == self._id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])

    async def open(self, url: str, *, dark: bool = False) -> None:
        for domain in ("Runtime", "Log", "Page"):
            await self.send(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.send("Emulation.setEmulatedMedia", features=[scheme])
        await self.send("Page.navigate", url=url)
        await self.until("document.querySelector('#composer textarea') !== null")

    async def run(self, script: str) -> Any:
        answer = await self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    async def until(self, script: str, timeout_s: float = 10.0) -> Any:
        async with asyncio.timeout(timeout_s):
            while not (found := await self.run(script)):
                await asyncio.sleep(0.05)
            return found

    async def type(self, selector: str, text: str) -> None:
        await self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        await self.send("Input.insertText", text=text)

    async def press(self, key: str, *, shift: bool = False) -> None:
        code = {"Enter": 13, "Escape": 27, "ArrowUp": 38}[key]
        stroke: dict[str, Any] = {
            "key": key,
            "code": key,
            "windowsVirtualKeyCode": code,
            "modifiers": 8 if shift else 0,
        }
        if key == "Enter":
            stroke["text"] = "\r"
        await self.send("Input.dispatchKeyEvent", type="keyDown", **stroke)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **stroke)

    async def picture(self) -> bytes:
        return base64.b64decode((await self.send("Page.captureScreenshot"))["data"])


@asynccontextmanager
async def browsing(width: int = 1440, height: int = 1000) -> AsyncIterator[Tab]:
    binary = chromium()
    assert binary is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = [*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}", "about:blank"]
        process = await asyncio.create_subprocess_exec(
            binary, *options, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE, start_new_session=True
        )
        try:
            async with aiohttp.ClientSession() as session:
                port = await _port(process)
                async with session.get(f"http://127.0.0.1:{port}/json/list") as listed:
                    target = next(t for t in await listed.json() if t["type"] == "page")
                async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    yield Tab(socket)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            await process.communicate()


async def _port(process: asyncio.subprocess.Process) -> int:
    assert process.stderr is not None
    async with asyncio.timeout(30):
        while line := (await process.stderr.readline()).decode():
            if found := re.search(r"DevTools listening on ws://127.0.0.1:(\d+)/", line):
                return int(found[1])
    raise RuntimeError("chromium ended before it listened")
