"""Messages between bot and agent, in any pieces and among any noise."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.protocol.errors import ProtocolError
from runner.protocol.wire import MARK, NOISE_KEPT, Message, Unpacker, pack
from tests.unit.texts import any_text


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.dictionaries(any_text(), any_text()), st.binary(max_size=50)), max_size=4), st.integers(1, 9)
)
def test_what_is_packed_comes_out_whatever_the_pieces(messages: list[tuple[dict, bytes]], step: int) -> None:
    raw = b"Welcome!\n" + b"".join(pack(header, body) for header, body in messages)
    unpacker, found = Unpacker(), []
    for start in range(0, len(raw), step):
        unpacker.feed(raw[start : start + step])
        while (message := unpacker.next()) is not None:
            found.append(message)
    assert found == [Message({**header, "n": len(body)}, body) for header, body in messages]
    assert unpacker.noise == (b"Welcome!\n" if messages else unpacker.noise)


def test_noise_is_kept_only_in_part() -> None:
    unpacker = Unpacker()
    for _ in range(100):
        unpacker.feed(b"n" * 100_000)
        assert unpacker.next() is None
    unpacker.feed(b"the end" + pack({"op": "x"}))
    message = unpacker.next()
    assert message is not None and message.header["op"] == "x"
    assert len(unpacker.noise) == NOISE_KEPT and unpacker.noise.endswith(b"the end")


@pytest.mark.parametrize("line", [b"{}", b"[1]", b'{"n":-1}', b'{"n":"3"}', b"nonsense", b'{"n":99999999999}', b"\xff"])
def test_a_header_that_cannot_be_read_is_an_error(line: bytes) -> None:
    unpacker = Unpacker()
    unpacker.feed(MARK + line + b"\n")
    with pytest.raises(ProtocolError):
        unpacker.next()


def test_names_that_are_no_unicode_survive() -> None:
    unpacker = Unpacker()
    unpacker.feed(pack({"path": b"\xff".decode("utf-8", "surrogateescape")}))
    message = unpacker.next()
    assert message is not None and message.header["path"] == "\udcff"
