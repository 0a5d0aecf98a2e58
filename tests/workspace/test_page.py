"""The page in a real browser: what is drawn, what typing and pressing does, and that foreign text stays text."""

import asyncio
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from slack_sdk import WebClient

from bot.workspace import BOT_USER, OPERATOR, RUNS, VIEWER, ControlClient
from tests.workspace.browser import Tab, browsing, chromium
from tests.workspace.conftest import Recorder
from tests.workspace.gallery import button, fill, gate_card, mrkdwn

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="no chromium here: apt-get install chromium"),
]

TEXT = "document.querySelector('#messages').innerText"


def browse(url: str, scenario: Callable[[Tab], Awaitable[None]], *, dark: bool = False) -> None:
    async def run() -> None:
        async with browsing() as tab:
            await tab.open(url, dark=dark)
            await scenario(tab)
            assert tab.complaints == []

    asyncio.run(run())


def count(selector: str) -> str:
    return f"document.querySelectorAll({selector!r}).length"


@pytest.mark.parametrize("dark", [False, True])
def test_the_gallery_is_drawn(control: ControlClient, web: WebClient, tmp_path: Path, dark: bool) -> None:
    thread = fill(control, web)

    async def scenario(tab: Tab) -> None:
        await tab.until(count("#replies article") + " >= 9")
        await tab.until("[...document.images].every((image) => image.complete && image.naturalWidth > 0)")
        assert await tab.run(count("#messages .plan .task")) == 5
        assert await tab.run(count("#messages .task.in_progress")) == 1
        assert await tab.run(count("#messages table tbody tr")) == 3
        assert await tab.run(count("#replies .button.primary")) == 1
        assert await tab.run(count("#replies .ephemeral")) == 1
        assert await tab.run(count("#replies figure img")) == 1
        assert await tab.run(count("#replies .reaction")) == 3
        assert await tab.run(count(".unknown")) == 0
        assert "10,000/10,000 samples" in await tab.run(TEXT)
        picture = await tab.picture()
        (tmp_path / "page.png").write_bytes(picture)
        width, height = struct.unpack(">II", picture[16:24])
        assert width == 1440 and height > 800 and len(picture) > 60_000

    browse(f"{control.base_url}/?as={VIEWER}#/{RUNS}/{thread}", scenario, dark=dark)


def test_typing_sends_and_foreign_markup_stays_text(control: ControlClient, web: WebClient) -> None:
    attack = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'
    web.chat_postMessage(
        channel=RUNS,
        text=attack,
        blocks=[
            mrkdwn(f"{attack} <javascript:window.hit=1|press> `<b>x</b>`"),
            {"type": "markdown", "text": f"{attack} [press](javascript:window.hit=1)"},
            {"type": "actions", "elements": [button(attack[:75], "go")]},
        ],
    )

    async def scenario(tab: Tab) -> None:
        await tab.until(f"{TEXT}.includes('window.hit')")
        await tab.type("#composer textarea", "@pointsman <b>go</b> & see")
        await tab.press("Enter", shift=True)
        await tab.type("#composer textarea", "second line")
        await tab.press("Enter")
        await tab.until(f"{TEXT}.includes('second line')")
        assert await tab.run("document.querySelector('#composer textarea').value") == ""
        assert await tab.run(count("#messages b, #messages script, #messages .content img")) == 0
        assert await tab.run("[...document.links].some((a) => a.protocol === 'javascript:')") is False
        assert await tab.run("window.hit === undefined") is True

    browse(f"{control.base_url}/?as={OPERATOR}#/{RUNS}", scenario)
    assert control.messages()[-1]["text"] == f"<@{BOT_USER}> &lt;b&gt;go&lt;/b&gt; &amp; see\nsecond line"


def test_changes_arrive_and_people_can_take_back(control: ControlClient, web: WebClient) -> None:
    card = web.chat_postMessage(channel=RUNS, text="card", blocks=[mrkdwn("*before*")])["ts"]
    mine = control.post("contniue")["ts"]

    async def scenario(tab: Tab) -> None:
        await tab.until(f"{TEXT}.includes('before')")
        await asyncio.to_thread(web.chat_update, channel=RUNS, ts=card, text="card", blocks=[mrkdwn("*after*")])
        await tab.until(f"{TEXT}.includes('after') && !{TEXT}.includes('before')")
        assert await tab.run(count("#messages .edited")) == 1
        await tab.run("document.querySelector('#composer textarea').focus()")
        await tab.press("ArrowUp")
        await tab.until(count(".editing textarea") + " === 1")
        await tab.run("document.querySelector('.editing textarea').select()")
        await tab.send("Input.insertText", text="continue")
        await tab.press("Enter")
        await tab.until(count("#messages .edited") + " === 2")
        assert [m["text"] for m in control.messages()] == ["card", "continue"]
        await tab.run(f'document.querySelector(\'article[data-ts="{mine}"] [aria-label="Delete message"]\').click()')
        await tab.until(count("#messages article") + " === 1")
        await tab.run(f"location.hash = '#/{RUNS}/{card}'")
        await tab.until("!document.querySelector('#thread').hidden")
        await tab.type("#thread-composer textarea", "in the thread")
        await tab.press("Enter")
        await tab.until("document.querySelector('#replies').innerText.includes('in the thread')")
        assert await tab.run("document.querySelector('#messages .summary').innerText.startsWith('A')") is True
        await tab.press("Escape")
        await tab.until("document.querySelector('#thread').hidden")

    browse(f"{control.base_url}/?as={OPERATOR}#/{RUNS}", scenario)
    assert [m["text"] for m in control.thread(card)] == ["card", "in the thread"]


def test_buttons_press_confirm_and_warn(control: ControlClient, bot: Recorder, web: WebClient) -> None:
    web.chat_postMessage(channel=RUNS, text="gate", blocks=gate_card())
    press = "document.querySelector('#messages [data-action={}]').click()"

    async def scenario(tab: Tab) -> None:
        await tab.until(count("#messages .button") + " === 3")
        await tab.until("document.querySelector('#presence').classList.contains('on')")
        await tab.run(press.format("go"))
        await tab.until(f"{TEXT}.includes('not you: r12:train:7')")
        await tab.run(press.format("hold"))
        await tab.until(count("dialog[open]") + " === 1")
        assert bot.bodies[-1]["actions"][0]["action_id"] == "go"
        await tab.run("document.querySelector('dialog .button.primary').click()")
        # the recorder has no listener for it: Bolt never acks, and the page says so
        await tab.until(f"{TEXT}.includes('did not answer in time')", timeout_s=25.0)

    browse(f"{control.base_url}/?as={OPERATOR}#/{RUNS}", scenario)
