"""From packed batches to one file a request."""

from pathlib import Path

import torch
from safetensors.torch import load_file

from tests.capture.conftest import HIDDEN, Plugin, asked, batch, request


def rows(count: int, start: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """States whose every value tells its row."""
    column = torch.arange(start, start + count, dtype=torch.float32)[:, None]
    return column.repeat(1, 3 * HIDDEN), (column + 0.5).repeat(1, HIDDEN)


def written(plugin: Plugin, name: str) -> dict[str, torch.Tensor]:
    return load_file(plugin.folder / f"samples/0000/{name}.safetensors")


def test_batch_mates_are_told_apart(plugin: Plugin) -> None:
    packed = batch(*rows(10))
    plugin.assembly.take(request("a", range(4)), asked("a", 4), packed, slice(0, 4), True)
    plugin.assembly.take(request("b", range(6)), asked("b", 6, 2), packed, slice(4, 10), True)
    plugin.wait(2)
    assert written(plugin, "a")["aux_hidden_states"][:, 0].tolist() == [0, 1, 2, 3]
    b = written(plugin, "b")
    assert b["aux_hidden_states"][:, -1].tolist() == [4, 5, 6, 7, 8, 9]
    assert b["last_hidden_states"][:, 0].tolist() == [4.5, 5.5, 6.5, 7.5, 8.5, 9.5]
    assert b["loss_mask"].tolist() == [0, 0, 1, 1, 1, 1]
    assert b["input_ids"].tolist() == list(range(6)) and b["input_ids"].dtype == torch.int32


def test_chunks_are_joined_in_order_across_batches(plugin: Plugin) -> None:
    long, other = request("long", range(7), inflight_middle_chunks=1), request("other", range(2))
    plugin.assembly.take(long, asked("long", 7), batch(*rows(3)), slice(0, 3), False)
    packed = batch(*rows(6, start=100))
    plugin.assembly.take(other, asked("other", 2), packed, slice(0, 2), True)
    long.inflight_middle_chunks = 0
    plugin.assembly.take(long, asked("long", 7), packed, slice(2, 6), True)
    plugin.wait(2)
    assert written(plugin, "long")["aux_hidden_states"][:, 0].tolist() == [0, 1, 2, 102, 103, 104, 105]
    assert written(plugin, "other")["aux_hidden_states"][:, 0].tolist() == [100, 101]


def test_a_retracted_request_begins_again(plugin: Plugin) -> None:
    req = request("r", range(5), inflight_middle_chunks=1)
    plugin.assembly.take(req, asked("r", 5), batch(*rows(3)), slice(0, 3), False)
    req.is_retracted = True
    plugin.assembly.take(req, asked("r", 5), batch(*rows(2)), slice(0, 2), False)
    req.is_retracted, req.inflight_middle_chunks = False, 0
    plugin.assembly.take(req, asked("r", 5), batch(*rows(5, start=50)), slice(0, 5), True)
    plugin.wait(1)
    assert written(plugin, "r")["aux_hidden_states"][:, 0].tolist() == [50, 51, 52, 53, 54]


def test_aborted_and_discarded_requests_leave_no_file(plugin: Plugin) -> None:
    plugin.assembly.take(request("a", range(3), is_finished=True), asked("a", 3), batch(*rows(3)), slice(0, 3), False)
    plugin.assembly.take(request("d", range(3)), asked("d", 3), batch(*rows(3)), slice(0, 3), False)
    plugin.assembly.take(request("k", range(3)), asked("k", 3), batch(*rows(3)), slice(0, 3), True)
    assert [record["id"] for record in plugin.wait(1)] == ["k"]
    assert sorted(path.name for path in plugin.folder.glob("samples/*/*")) == ["k.safetensors"]


def test_a_request_aborted_between_its_chunks_is_forgotten(plugin: Plugin) -> None:
    dead = request("dead", range(9), inflight_middle_chunks=1)
    plugin.assembly.take(dead, asked("dead", 9), batch(*rows(4)), slice(0, 4), False)
    dead.is_finished = True
    living = request("living", range(9), inflight_middle_chunks=1)
    plugin.assembly.take(living, asked("living", 9), batch(*rows(4)), slice(0, 4), False)
    assert list(plugin.assembly._parts) == ["living"]


def test_a_cached_prefix_is_an_error_and_no_file(plugin: Plugin) -> None:
    plugin.assembly.take(request("c", range(8)), asked("c", 8), batch(*rows(5)), slice(0, 5), True)
    (record,) = plugin.wait(1)
    assert record["id"] == "c" and "5 rows for 8 tokens" in record["error"]
    assert not list(plugin.folder.glob("samples/*/*"))


def test_two_requests_with_the_same_tokens_are_two_files(plugin: Plugin) -> None:
    packed = batch(*rows(6))
    for name, start in (("one", 0), ("two", 3)):
        plugin.assembly.take(request(name, [5, 6, 7]), asked(name, 3), packed, slice(start, start + 3), True)
    plugin.wait(2)
    assert written(plugin, "one")["aux_hidden_states"][0, 0] == 0
    assert written(plugin, "two")["aux_hidden_states"][0, 0] == 3


def test_states_are_stored_in_the_dtype_asked_for(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, dtype="bfloat16")
    aux, last = rows(4)
    plugin.assembly.take(request("h", range(4)), asked("h", 4), batch(aux / 3, last), slice(0, 4), True)
    plugin.wait(1)
    assert torch.equal(written(plugin, "h")["aux_hidden_states"], (aux / 3).bfloat16())
