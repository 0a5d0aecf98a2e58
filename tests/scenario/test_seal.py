"""The last card of a run shows the audit log's head: it is kept outside the database from then on."""

import re
from pathlib import Path

from tests.scenario.room import Room, text


def test_the_last_card_shows_a_head_that_is_found_again(tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.start()
    room.to_gate()
    room.tell("continue")
    room.work("r1-vocab-1")
    room.work("r1-train-1")
    room.shown("r1/gate/bench")
    room.tell("go")
    room.work("r1-bench-1")
    room.until_phase("done")
    shown = re.search(r"audit log: (\d+) orders, head `([0-9a-f]{12})`", text(room.shown("r1/done/bench/1").card))
    assert shown is not None and int(shown[1]) == len(room.store.orders()) == 4
    room.tell("status")
    assert room.store.orders_at(shown[2]) == 4 and len(room.store.orders()) > 4
    room.down()
