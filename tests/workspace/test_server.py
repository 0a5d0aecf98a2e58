"""The server around the workspace: who may talk to it, how it starts and stops, how people's hands work."""

import asyncio
import http.client
import json
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from slack_sdk import WebClient
from slack_sdk.webhook import WebhookClient

from bot.workspace import (
    APP_TOKEN,
    BOT_TOKEN,
    GROUP,
    OPERATOR,
    RANDOM,
    RUNS,
    SECOND_OPERATOR,
    VIEWER,
    ControlClient,
    Refusal,
    running_workspace,
)
from tests.workspace.conftest import Recorder
from tests.workspace.gallery import button, mrkdwn

ROOT = Path(__file__).parents[2]


def ask(control: ControlClient, verb: str, path: str, body: str | bytes | None = None, **headers: str) -> Any:
    connection = http.client.HTTPConnection(control.base_url.removeprefix("http://"))
    try:
        connection.request(verb, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        response = connection.getresponse()
        response.body = response.read()
        return response
    finally:
        connection.close()


def card(web: WebClient, value: str = "v", **more: Any) -> str:
    blocks = [mrkdwn("gate"), {"type": "actions", "elements": [button("Go", "go", value=value)]}]
    return str(web.chat_postMessage(channel=RUNS, text="gate", blocks=blocks, **more)["ts"])


def test_another_sites_script_may_not_play_the_operator(control: ControlClient) -> None:
    order = json.dumps({"user": OPERATOR, "text": "continue"})
    kind = "application/json"
    assert ask(control, "POST", "/control/post", order, Content_Type="text/plain").status == 415
    assert ask(control, "POST", "/control/post", order, Content_Type=kind, Origin="https://evil.example").status == 403
    assert ask(control, "GET", "/control/messages", Host="evil.example:80").status == 403
    assert ask(control, "POST", "/control/post", order, Content_Type=kind, Origin=control.base_url).status == 200
    assert [m["text"] for m in control.messages()] == ["continue"]


def test_the_page_loads_nothing_from_elsewhere(control: ControlClient) -> None:
    page = ask(control, "GET", "/")
    assert "default-src 'self'" in page.getheader("Content-Security-Policy")
    for file in sorted((ROOT / "bot/workspace/page").iterdir()):
        assert ask(control, "GET", f"/page/{file.name}").status == 200
        outside = re.findall(r"(?:src|href|from|url)\s*[=(]?\s*[\"'](https?:)?//", file.read_text("utf-8"))
        assert outside == [], file.name
    for path in ("/page/../server.py", "/page/%2e%2e%2fserver.py", "/page/none.js"):
        assert ask(control, "GET", path).status in (403, 404)


def test_only_pictures_are_shown_in_place(control: ControlClient, web: WebClient) -> None:
    svg = web.files_upload_v2(channel=RUNS, filename="a.svg", content=b"<svg onload='alert(1)'/>")["files"][0]
    answer = ask(control, "GET", f"/files/{svg['id']}")
    assert answer.getheader("Content-Disposition") == "attachment"
    assert answer.getheader("Content-Type") == "application/octet-stream"


def hold(control: ControlClient) -> None:
    with suppress(OSError, http.client.HTTPException):  # answered, or hung up on when the server stops
        control.look("changes", since=control.look("changes")["seq"] + 1, wait_s=30)


def test_nothing_is_left_when_it_stops() -> None:
    before = set(threading.enumerate())
    with running_workspace() as control:
        waiter = threading.Thread(target=hold, args=(control,))
        waiter.start()
        control.post("x")
    waiter.join(5)
    assert set(threading.enumerate()) == before
    with pytest.raises(OSError):
        control.counters()


def test_the_command_serves_keeps_and_stops(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bot.workspace", "--port", "0", "--state", str(tmp_path / "w.db")]
    for expected in (0, 1):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            assert process.stdout is not None
            control = ControlClient(process.stdout.readline().split()[1])
            assert len(control.messages()) == expected
            control.post("kept")
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0


def test_a_taken_port_is_said(control: ControlClient) -> None:
    port = control.base_url.rpartition(":")[2]
    command = [sys.executable, "-m", "bot.workspace", "--port", port]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=30, check=False)
    assert (done.returncode, f"cannot serve on 127.0.0.1:{port}" in done.stderr) == (1, True)
    with pytest.raises(OSError), running_workspace(port=int(port)):
        pass


def test_changes_are_waited_for(control: ControlClient) -> None:
    seq = control.look("changes")["seq"]
    assert control.look("changes", since=seq, wait_s=0.05)["changes"] == []
    threading.Timer(0.1, control.post, ("hello",)).start()
    assert control.wait(lambda: [m["text"] for m in control.messages()]) == ["hello"]
    kinds = [c["kind"] for c in control.look("changes", since=seq)["changes"]]
    assert kinds == ["message"]
    with pytest.raises(TimeoutError):
        control.wait(lambda: len(control.messages()) > 1, timeout_s=0.1)
    assert control.look("changes", since=10_000)["changes"][0]["kind"] == "reload"


def test_people_groups_and_membership_can_be_changed(control: ControlClient, web: WebClient) -> None:
    control.send("person", id="U0NEW", name="nils", tz="America/New_York")
    control.send("group", id=GROUP, handle="ml-ops", members=["U0NEW"])
    assert web.users_info(user="U0NEW")["user"]["tz"] == "America/New_York"
    assert web.usergroups_users_list(usergroup=GROUP)["users"] == ["U0NEW"]
    control.post("hi", user="U0NEW")
    control.send("invite", channel=RANDOM, user="U0BOT")
    web.chat_postMessage(channel=RANDOM, text="now inside")
    control.send("invite", channel=RUNS, user=VIEWER, remove=True)
    with pytest.raises(Refusal, match="not_in_channel"):
        control.post("still here?", user=VIEWER)


def test_only_the_author_edits_and_deletes(control: ControlClient) -> None:
    ts = control.post("mine")["ts"]
    with pytest.raises(Refusal, match="cant_update_message"):
        control.edit(ts, "ours", user=SECOND_OPERATOR)
    with pytest.raises(Refusal, match="cant_delete_message"):
        control.delete(ts, user=SECOND_OPERATOR)


def test_edit_and_delete_tell_the_bot(control: ControlClient, bot: Recorder) -> None:
    ts = control.post("continue")["ts"]
    bot.wait(1)
    edited = control.edit(ts, "don't continue")["edited"]["ts"]
    event = bot.wait(2)[1]["event"]
    assert (event["subtype"], event["message"]["text"]) == ("message_changed", "don't continue")
    assert (event["previous_message"]["text"], event["ts"], event["message"]["ts"]) == ("continue", edited, ts)
    control.delete(ts)
    event = bot.wait(3)[2]["event"]
    assert (event["subtype"], event["deleted_ts"]) == ("message_deleted", ts)
    control.react(control.post("x")["ts"], "eyes")
    assert bot.wait(5)[-1]["event"]["reaction"] == "eyes"


def test_four_presses_in_a_second_are_four_payloads(control: ControlClient, bot: Recorder, web: WebClient) -> None:
    ts = card(web)
    assert control.click(ts, "go", times=4) == [True] * 4
    stamps = {b["actions"][0]["action_ts"] for b in bot.bodies if b["type"] == "block_actions"}
    assert len(stamps) == 4


def test_a_response_url_replaces_the_card(control: ControlClient, bot: Recorder, web: WebClient) -> None:
    ts = card(web, value="replace")
    control.click(ts, "go")
    control.wait(lambda: control.messages()[0]["text"] == "started")
    assert "blocks" not in control.messages()[0]
    url = next(b for b in bot.bodies if b["type"] == "block_actions")["response_url"]
    answers = [WebhookClient(url).send(text=f"more {i}").status_code for i in range(5)]
    assert answers == [200] * 4 + [404]  # five uses, one went to the replacement
    assert WebhookClient(control.base_url + "/actions/none").send(text="x").status_code == 404


def test_an_ephemeral_button_is_its_readers_alone(control: ControlClient, bot: Recorder, web: WebClient) -> None:
    blocks = [{"type": "actions", "elements": [button("Yes", "go", value="replace")]}]
    ts = web.chat_postEphemeral(channel=RUNS, user=OPERATOR, text="sure?", blocks=blocks)["message_ts"]
    with pytest.raises(Refusal, match="message_not_found"):
        control.click(ts, "go", user=SECOND_OPERATOR)
    assert control.click(ts, "go") == [True]
    control.wait(lambda: [m["text"] for m in control.ephemerals(OPERATOR)] == ["started"])
    body = next(b for b in bot.bodies if b["type"] == "block_actions")
    assert (body["container"]["is_ephemeral"], "message" in body) == (True, False)


def test_ten_sockets_and_no_more(control: ControlClient) -> None:
    client = WebClient(BOT_TOKEN, base_url=control.api_url)
    url = str(client.apps_connections_open(app_token=APP_TOKEN)["url"])

    async def connect() -> list[dict[str, Any]]:
        async with aiohttp.ClientSession() as session:
            sockets = [await session.ws_connect(url) for _ in range(11)]
            firsts = [await socket.receive_json() for socket in sockets]
            for socket in sockets:
                await socket.close()
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await session.ws_connect(url.replace("ticket=", "ticket=forged"))
            return firsts

    firsts = asyncio.run(connect())
    assert [f["type"] for f in firsts] == ["hello"] * 10 + ["disconnect"]
    assert firsts[-1]["reason"] == "too_many_websockets"
