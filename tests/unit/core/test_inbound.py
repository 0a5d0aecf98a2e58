"""Events hold only what can be stored, whoever makes them."""

from dataclasses import asdict, replace

import pytest

from bot.core.inbound import InboundEvent

HALF = "caf\udce9\x00"
EVENT = InboundEvent(
    kind="message", team="T1", channel="C1", channel_type="channel", user="U1", ts="1.000001", event_ts="1.000001"
)


@pytest.mark.parametrize("field", [name for name, value in asdict(EVENT).items() if isinstance(value, str)])
def test_half_surrogates_and_nuls_are_replaced_in_every_text(field: str) -> None:
    made = replace(EVENT, **{field: HALF})
    assert getattr(made, field) == "caf\ufffd\ufffd"
    assert InboundEvent(**{**asdict(EVENT), field: HALF}) == made, "and in what was stored before"
    made.claim_key.encode()


def test_other_text_stays_as_it_was_said() -> None:
    assert replace(EVENT, text="continue 🚀 &lt;b&gt;").text == "continue 🚀 &lt;b&gt;"
    assert replace(EVENT, thread_ts=None).thread_ts is None
