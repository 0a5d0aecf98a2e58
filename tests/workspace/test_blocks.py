"""What invalid_blocks is said for, with the place: each rule by a block that breaks it alone."""

from typing import Any

import pytest

from bot.workspace.blockcheck import check_blocks
from bot.workspace.content import Rules, read_content
from bot.workspace.refusal import Refusal
from tests.workspace.gallery import bench_card, button, context, gate_card, mrkdwn, rich, status_card

RULES = Rules(known_file=lambda _: False, refused_types=frozenset())


def check(*blocks: Any) -> list[str]:
    return check_blocks(list(blocks), lambda _: False)


def task(**more: Any) -> dict[str, Any]:
    return {"type": "task_card", "task_id": "t", "title": "T", "status": "complete", **more}


def actions(*elements: Any) -> dict[str, Any]:
    return {"type": "actions", "elements": list(elements)}


def table(*rows: Any) -> dict[str, Any]:
    return {"type": "table", "rows": list(rows)}


CELL = {"type": "raw_text", "text": "x"}
PLAIN = {"type": "plain_text", "text": "x"}


def test_the_cards_we_use_pass() -> None:
    for card in (status_card(), gate_card(), bench_card()):
        assert check(*card) == []


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        ({"type": "banner"}, "unsupported type: banner [json-pointer:/blocks/0/type]"),
        ({"type": "divider", "text": "x"}, "invalid additional property: text [json-pointer:/blocks/0]"),
        (mrkdwn("x" * 3_001), "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"),
        (mrkdwn(""), "must be more than 0 characters [json-pointer:/blocks/0/text/text]"),
        ({"type": "section"}, "missing required field: text [json-pointer:/blocks/0]"),
        ({"type": "section", "fields": [PLAIN] * 11}, "must have 1 to 10 items [json-pointer:/blocks/0/fields]"),
        (
            {"type": "header", "text": {"type": "mrkdwn", "text": "x"}},
            "unsupported type: mrkdwn [json-pointer:/blocks/0/text/type]",
        ),
        (
            {"type": "header", "text": {"type": "plain_text", "text": "x" * 151}},
            "must be less than 151 characters [json-pointer:/blocks/0/text/text]",
        ),
        (context(*["x"] * 11), "must have 1 to 10 items [json-pointer:/blocks/0/elements]"),
        (actions(), "must have 1 to 25 items [json-pointer:/blocks/0/elements]"),
        (
            actions(button("x" * 76, "a")),
            "must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text]",
        ),
        (
            actions(button("a", "same"), button("b", "same")),
            "action_id already exists: same [json-pointer:/blocks/0/elements/1/action_id]",
        ),
        (
            actions(button("a", "b", style="warning")),
            "must be a valid enum value [json-pointer:/blocks/0/elements/0/style]",
        ),
        (
            actions(button("a", "b", value="v" * 2_001)),
            "must be less than 2001 characters [json-pointer:/blocks/0/elements/0/value]",
        ),
        (
            actions(button("a", "b", confirm={"title": PLAIN, "text": PLAIN, "confirm": PLAIN})),
            "must provide an object [json-pointer:/blocks/0/elements/0/confirm/deny]",
        ),
        (task(status="completed"), "must be a valid enum value [json-pointer:/blocks/0/status]"),
        (
            {"type": "plan", "title": "p", "tasks": [task(status="done")]},
            "must be a valid enum value [json-pointer:/blocks/0/tasks/0/status]",
        ),
        (
            {"type": "plan", "title": "p", "tasks": [task(), task()]},
            "task_id already exists: t [json-pointer:/blocks/0/tasks]",
        ),
        (task(details="text"), "must be a rich_text object [json-pointer:/blocks/0/details]"),
        (table([CELL] * 21), "must have 1 to 20 items [json-pointer:/blocks/0/rows/0]"),
        (
            table([{"type": "raw_text", "text": ""}]),
            "must be more than 0 characters [json-pointer:/blocks/0/rows/0/0/text]",
        ),
        (
            table([{"type": "raw_number", "text": "2.28×", "value": "2.28"}]),
            "must be a number [json-pointer:/blocks/0/rows/0/0/value]",
        ),
        ({"type": "image", "image_url": "https://x/y.png"}, "must be a string [json-pointer:/blocks/0/alt_text]"),
        (
            {"type": "rich_text", "elements": [{"type": "bold"}]},
            "unsupported type: bold [json-pointer:/blocks/0/elements/0/type]",
        ),
        (
            {"type": "markdown", "text": "x" * 12_001},
            "must be less than 12001 characters [json-pointer:/blocks/0/text]",
        ),
    ],
)
def test_one_wrong_block(block: Any, complaint: str) -> None:
    assert check(block) == [complaint]


def test_wrong_together() -> None:
    assert check(*[{"type": "divider"}] * 51) == ["no more than 50 items allowed [json-pointer:/blocks]"]
    assert check({"type": "divider", "block_id": "b"}, {"type": "divider", "block_id": "b"}) == [
        "block_id already exists: b"
    ]
    assert check(table([CELL]), table([CELL])) == ["only_one_table_allowed"]
    assert check({"type": "plan", "title": "p"}, task()) == ["plan and task_card blocks cannot be used together"]


@pytest.mark.parametrize(
    ("blocks", "error"),
    [
        ([mrkdwn("x" * 2_700)] * 5, "msg_blocks_too_long"),
        ([table([CELL])] * 2, "only_one_table_allowed"),
        ([mrkdwn("x" * 3_001)], "invalid_blocks"),
        ("text", "invalid_blocks"),
    ],
)
def test_the_error_that_names_it(blocks: Any, error: str) -> None:
    with pytest.raises(Refusal) as caught:
        read_content({"text": "x", "blocks": blocks}, RULES)
    assert caught.value.error == error


def test_ids_are_given_to_what_has_none() -> None:
    no_id = {"type": "button", "text": PLAIN}
    block = read_content({"text": "x", "blocks": [actions(no_id)]}, RULES).blocks[0]
    assert block["block_id"] and block["elements"][0]["action_id"]
    assert check({"type": "rich_text", "elements": rich("x")["elements"]}) == []
