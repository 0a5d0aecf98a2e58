"""A channel as it looks at the gate after extraction: every block the bot uses, for the page's tests and pictures."""

import struct
import time
import zlib
from typing import Any

from slack_sdk import WebClient

from bot.workspace import BOT_USER, GROUP, OPERATOR, RUNS, SECOND_OPERATOR, VIEWER, ControlClient

Block = dict[str, Any]


def mrkdwn(text: str) -> Block:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def moment(in_s: int) -> str:
    return f"<!date^{int(time.time()) + in_s}^{{time}}|soon>"


def context(*texts: str) -> Block:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": t} for t in texts]}


def button(label: str, action_id: str, **more: Any) -> Block:
    return {"type": "button", "text": {"type": "plain_text", "text": label}, "action_id": action_id, **more}


def rich(text: str) -> Block:
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [section]}


def status_card() -> list[Block]:
    stages = [
        ("synth", "complete", "9,984 answers · 1 h 12 m"),
        ("extract", "in_progress", "7,102 of 10,000 samples · 1.5/s"),
        ("vocab", "pending", None),
        ("train", "pending", None),
        ("bench", "pending", None),
    ]
    tasks = []
    for name, status, detail in stages:
        task = {"type": "task_card", "task_id": name, "title": name, "status": status}
        tasks.append({**task, **({"details": rich(detail)} if detail else {})})
    return [
        {"type": "header", "text": {"type": "plain_text", "text": "r12 · kimi-k2.5-eagle3"}},
        {"type": "plan", "title": "extract on box1, GPU 0-7", "tasks": tasks},
        mrkdwn(f"███████░░░ *71 %* · ETA {moment(1_740)} · 21.0 M tokens"),
        context(
            "disk 0.86/1.20 TB projected, 2.1 TB free",
            "GPU 96 %",
            "last log 3 s ago",
            f"started by <@{OPERATOR}>",
        ),
    ]


def gate_card() -> list[Block]:
    confirm = {
        "title": {"type": "plain_text", "text": "Hold the run?"},
        "text": {"type": "mrkdwn", "text": "Nothing starts until someone says *continue*."},
        "confirm": {"type": "plain_text", "text": "Hold"},
        "deny": {"type": "plain_text", "text": "Back"},
    }
    return [
        mrkdwn(
            f":white_check_mark: *extract finished* {moment(-60)} (1 h 52 m). "
            f"Waiting for <@{OPERATOR}> or <!subteam^{GROUP}>"
        ),
        {
            "type": "section",
            "fields": [
                {"type": "mrkdwn", "text": "*Checked*\nexit 0\n10,000/10,000 samples\n21.0 M tokens = tokens sent"},
                {"type": "mrkdwn", "text": "*Found*\nheaders 10,000/10,000\n0 non-finite\nhead(final) = next token"},
            ],
        },
        {"type": "divider"},
        mrkdwn(
            "*Next:* vocab, then train · `lr 1e-4` · 10 epochs · box1 GPU 0-7 · est. 6 h 30 m · 48 GB\n"
            "Reply `continue`, change a value (`lr 2e-4`), `hold`, or"
        ),
        {
            "type": "actions",
            "elements": [
                button("Start training", "go", style="primary", value="r12:train:7"),
                button("Show samples", "samples", value="r12"),
                button("Hold", "hold", style="danger", value="r12", confirm=confirm),
            ],
        },
    ]


def bench_card() -> list[Block]:
    rows = [
        ["concurrency", "baseline tok/s", "drafted tok/s", "speed-up", "accepted"],
        ["1", "88.4", "201.7", "2.28×", "3.41"],
        ["4", "312.0", "618.1", "1.98×", "3.39"],
        ["16", "901.3", "1,207.6", "1.34×", "3.37"],
    ]
    cells = [[{"type": "raw_text", "text": cell} for cell in row] for row in rows]
    right = [{"align": "left"}, *[{"align": "right"}] * 4]
    return [
        mrkdwn(":checkered_flag: *bench finished* · `r9` · output equal to the baseline's *80/80*"),
        {"type": "table", "rows": cells, "column_settings": right},
        {"type": "markdown", "text": "**Acceptance** by position: 0.81, 0.66, 0.52\n\n- steps 3\n- top-k 4"},
    ]


def png(width: int = 460, height: int = 190) -> bytes:
    """A falling curve, drawn without any drawing library."""
    rows = []
    for y in range(height):
        row = bytearray([0])
        for x in range(width):
            curve = 20 + (height - 46) * (1 - 1 / (1 + x / 60))
            near = abs(y - curve) < 1.6
            axis = x == 14 or y == height - 14
            grid = (height - 14 - y) % 40 == 0 and x > 14
            row += bytes(
                (13, 127, 95) if near else (150, 156, 163) if axis else (232, 234, 237) if grid else (255,) * 3
            )
        rows.append(bytes(row))

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"".join(rows)))
        + chunk(b"IEND", b"")
    )


def fill(control: ControlClient, web: WebClient) -> str:
    """Posts the gallery; the ts of the run's thread."""
    web.chat_postMessage(channel=RUNS, text="bench finished", blocks=bench_card())
    control.post("nice, r9 stays the one to beat :tada:", user=SECOND_OPERATOR)
    control.post(f"<@{BOT_USER}> start kimi-k2.5-eagle3 on box1")
    card = web.chat_postMessage(channel=RUNS, text="r12", blocks=status_card())["ts"]
    web.chat_update(channel=RUNS, ts=card, text="r12", blocks=status_card())
    web.chat_postMessage(channel=RUNS, thread_ts=card, text=":steam_locomotive: synth started on *box1*, attempt 1")
    early = control.post("extraction done, continue", thread_ts=card)["ts"]
    web.reactions_add(channel=RUNS, timestamp=early, name="no_entry")
    web.chat_postMessage(
        channel=RUNS,
        thread_ts=card,
        text="> extraction done, continue\nNot yet: alive at *71 %*, 7,102 of 10,000 samples. Nothing started.",
    )
    control.post("continue", user=VIEWER, thread_ts=card)
    web.chat_postEphemeral(
        channel=RUNS, user=VIEWER, thread_ts=card, text=f"Only <@{OPERATOR}> and <!subteam^{GROUP}> may pass this gate."
    )
    web.chat_postMessage(
        channel=RUNS, thread_ts=card, text="extract finished", blocks=gate_card(), reply_broadcast=True
    )
    web.files_upload_v2(channel=RUNS, thread_ts=card, filename="loss.png", content=png(), title="loss of r9, for scale")
    said = control.post("extraction done, continue", thread_ts=card)["ts"]
    control.edit(said, "extraction done, *continue*")
    web.reactions_add(channel=RUNS, timestamp=said, name="eyes")
    web.reactions_add(channel=RUNS, timestamp=said, name="white_check_mark")
    web.chat_postMessage(
        channel=RUNS,
        thread_ts=card,
        text="starting",
        blocks=[
            mrkdwn(f"Starting *vocab*, then *train*, in 10 s, by <@{OPERATOR}>"),
            {"type": "actions", "elements": [button("Cancel", "cancel", value="r12")]},
        ],
    )
    return str(card)
