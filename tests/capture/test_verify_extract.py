"""Evidence on feature sets: each kind of damage is found and named, and a sound set is proven."""

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from runner import hf, tiny, verify
from runner.conversations import Conversation
from runner.dataset import FeatureSet
from runner.extract.records import Records
from runner.manifest import read_manifest, read_rows, write_set
from runner.protocol.errors import Interrupted
from runner.protocol.evidence import Check, Evidence
from runner.protocol.files import read_json
from runner.verify import extract_full, recompute, spans
from tests.capture.conftest import MadeSet, conversation, make_set

INDICES = (2, 4, 5)


def look(made: MadeSet, *flags: str) -> Evidence:
    argv = ["extract", "--subject", str(made.out), "--samples", str(made.samples), "--target", str(made.target)]
    assert verify.main([*argv, *flags]) == 0
    return Evidence.from_json(read_json(str(made.out / "evidence.json")))


def failed(evidence: Evidence) -> set[str]:
    return {check.name for check in evidence.checks if check.ok is False}


def named(evidence: Evidence, name: str) -> Check:
    return next(check for check in evidence.checks if check.name == name)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def grow(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def remove(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("damage", [truncate, grow, zero, remove])
def test_the_quick_look_names_a_file_that_is_not_whole(random_set: MadeSet, damage: Callable[[Path], None]) -> None:
    damage(random_set.file(3))
    evidence = look(random_set, "--quick")
    assert evidence.verdict == "contradicted" and failed(evidence) == {"headers"}
    assert [bad.id for bad in evidence.bad] == ["s3"]


def test_the_quick_look_needs_no_torch(random_set: MadeSet) -> None:
    program = (
        "import sys; from runner import verify; code = verify.main(sys.argv[1:]);"
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules; sys.exit(code)"
    )
    argv = ["extract", "--subject", str(random_set.out), "--samples", str(random_set.samples), "--quick"]
    subprocess.run([sys.executable, "-c", program, *argv], check=True, capture_output=True)
    assert read_json(str(random_set.out / "evidence.json"))["verdict"] == "proven"


def test_a_flipped_bit_is_found_by_the_full_look_alone(random_set: MadeSet) -> None:
    path = random_set.file(1)
    body = bytearray(path.read_bytes())
    body[-40] ^= 4
    path.write_bytes(body)
    assert look(random_set, "--quick").verdict == "proven"
    evidence = look(random_set, "--full", "--recompute", "0")
    assert "checksums" in failed(evidence) and [bad.id for bad in evidence.bad] == ["s1"]


def test_two_files_that_changed_places_are_both_named(random_set: MadeSet) -> None:
    first, second = random_set.file(1), random_set.file(2)  # of the same length
    a, b = first.read_bytes(), second.read_bytes()
    first.write_bytes(b)
    second.write_bytes(a)
    evidence = look(random_set, "--full", "--recompute", "0")
    assert {"checksums", "ids"} <= failed(evidence)
    assert {bad.id for bad in evidence.bad} == {"s1", "s2"}


def rewrite(made: MadeSet, number: int, **fields: object) -> None:
    """Change one row of the table, with a manifest that agrees."""
    manifest = read_manifest(made.out)
    rows = read_rows(made.out, manifest.samples)
    rows[number] = dataclasses.replace(rows[number], **fields)
    kept = {f.name: getattr(manifest, f.name) for f in dataclasses.fields(manifest) if f.name != "samples"}
    write_set(made.out, rows, **kept)


def test_values_that_are_not_finite_are_named_by_either_look(random_set: MadeSet) -> None:
    rewrite(random_set, 4, finite=False)
    assert [bad.id for bad in look(random_set, "--quick").bad] == ["s4"]


def test_an_empty_mask_is_named(random_set: MadeSet) -> None:
    rewrite(random_set, 0, num_supervised=0)
    evidence = look(random_set, "--quick")
    assert "mask" in failed(evidence) and [bad.id for bad in evidence.bad] == ["s0"]


def test_a_sample_that_is_not_in_the_set_is_named(random_set: MadeSet) -> None:
    manifest = read_manifest(random_set.out)
    rows = read_rows(random_set.out, manifest.samples)[:-1]
    kept = {f.name: getattr(manifest, f.name) for f in dataclasses.fields(manifest) if f.name != "samples"}
    write_set(random_set.out, rows, **kept)
    evidence = look(random_set, "--quick")
    assert [(bad.id, bad.why) for bad in evidence.bad] == [("s4", "not in the set")]


def test_what_was_left_out_by_the_rule_is_not_missed(random_set: MadeSet) -> None:
    test_a_sample_that_is_not_in_the_set_is_named(random_set)
    result = {"version": 1, "left_out": {"s4": "31 tokens, over 30"}}
    (random_set.out / "result.json").write_text(json.dumps(result))
    evidence = look(random_set, "--quick")
    assert evidence.verdict == "proven" and "31 tokens" in named(evidence, "left_out").detail


def test_another_target_is_found_out(random_set: MadeSet, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    tiny.write_llama(other, "float32", seed=9)
    evidence = look(dataclasses.replace(random_set, target=other), "--quick")
    assert failed(evidence) == {"target"}


def test_bad_files_are_put_aside_for_extract_to_make_again(random_set: MadeSet) -> None:
    truncate(random_set.file(3))
    look(random_set, "--quick", "--quarantine")
    assert not random_set.file(3).exists() and (random_set.out / "quarantine/s3.safetensors").exists()


def test_quarantined_samples_are_made_again_and_the_set_is_proven(
    random_set: MadeSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bit that flipped and files that changed places: named, put aside, extracted again by a server."""
    from runner.extract.run import run
    from tests.capture.test_extract_session import Engine, options

    engine = Engine(tmp_path / "extracted")
    monkeypatch.setattr("runner.extract.session.serve", engine.serve)
    run(options(random_set, engine))
    made = dataclasses.replace(random_set, out=engine.out)
    body = bytearray(made.file(4).read_bytes())
    body[len(body) // 2] ^= 1
    made.file(4).write_bytes(body)
    bodies = made.file(1).read_bytes(), made.file(2).read_bytes()
    made.file(2).write_bytes(bodies[0])
    made.file(1).write_bytes(bodies[1])
    evidence = look(made, "--full", "--recompute", "0", "--quarantine")
    assert {bad.id for bad in evidence.bad} == {"s1", "s2", "s4"}
    engine.asked.clear()
    run(options(random_set, engine))
    assert dict(engine.asked) == {"s1": 1, "s2": 1, "s4": 1}
    assert not look(made, "--full", "--recompute", "0").bad


def test_a_full_look_that_was_cut_short_is_resumed(random_set: MadeSet, monkeypatch: pytest.MonkeyPatch) -> None:
    read, seen = extract_full._look_at, []

    def until_the_fourth(features: FeatureSet, number: int, wanted: dict[str, Conversation]) -> extract_full.Look:
        if number == 3:
            raise Interrupted("stopped")
        seen.append(number)
        return read(features, number, wanted)

    monkeypatch.setattr(extract_full, "_look_at", until_the_fourth)
    with pytest.raises(Interrupted):
        look(random_set, "--full", "--recompute", "0", "--workers", "1")
    assert seen[:3] == [0, 1, 2]
    grown = random_set.file(1)  # changed after it was looked at: looked at again
    grown.write_bytes(grown.read_bytes())
    seen.clear()
    monkeypatch.setattr(extract_full, "_look_at", lambda f, n, w: (seen.append(n), read(f, n, w))[1])
    assert not look(random_set, "--full", "--recompute", "0", "--workers", "1").bad
    assert seen == [1, 3, 4]
    seen.clear()
    look(random_set, "--full", "--recompute", "0", "--workers", "1")
    assert seen == [0, 1, 2, 3, 4], "a look that came to its end is no excuse for the next"


def test_samples_to_compute_again_are_chosen_by_chance_from_all_lengths(random_set: MadeSet) -> None:
    row = read_rows(random_set.out, random_set.manifest.samples)[0]
    rows = [dataclasses.replace(row, id=str(length), num_tokens=length) for length in range(1, 101)]
    chosen = {seed: [each.num_tokens for each in recompute.choose(rows, 5, seed)] for seed in "abc"}
    assert all(lengths[-1] == 100 and lengths == sorted(lengths) for lengths in chosen.values())
    for lengths in chosen.values():
        assert [sum(length > edge for edge in (0, 24, 49, 74)) for length in lengths] == [1, 2, 3, 4, 4]
    assert chosen["a"] != chosen["b"] and chosen["a"] == [each.num_tokens for each in recompute.choose(rows, 5, "a")]
    assert [each.num_tokens for each in recompute.choose(rows, 1, "a")] == [100]
    assert len(recompute.choose(rows, 200, "a")) == 100 and not recompute.choose(rows, 0, "a")


# From here on the states are the target's own, by transformers: what the engine should have written.


def true_states(target: Path, indices: tuple[int, ...], final: str = "post", dtype: torch.dtype = torch.float32):
    model = hf.load_causal_lm(target, torch.float32)

    def states(asked: Conversation) -> tuple[torch.Tensor, torch.Tensor, int]:
        with torch.no_grad():
            out = model(torch.tensor([asked.input_ids]), output_hidden_states=True)
            post = out.hidden_states[-1][0]
            last = {"post": post, "twice": model.model.norm(post)}[final]
        aux = torch.cat([out.hidden_states[index][0] for index in indices], dim=-1)
        return aux.to(dtype), last.to(dtype), int(out.logits[0, -1].argmax())

    return states


LENGTHS = (3, 40, 17)


def made_by(states, target: Path, root: Path) -> MadeSet:
    conversations = [conversation(f"t{i}", length, 50 + i) for i, length in enumerate(LENGTHS)]
    return make_set(root, target, conversations, states, INDICES, 128)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_sound_set_is_proven(target: Path, tmp_path: Path, dtype: torch.dtype) -> None:
    made = made_by(true_states(target, INDICES, dtype=dtype), target, tmp_path)
    evidence = look(made, "--full")
    assert evidence.verdict == "proven", [check for check in evidence.checks if not check.ok]
    names = {check.name for check in evidence.checks}
    assert {"checksums", "values", "next_token", "recomputed", "layers", "duplicates", "ids"} <= names
    assert Path(evidence.pictures[0]).read_bytes().startswith(b"\x89PNG")


def test_layers_off_by_one_are_found_out(target: Path, tmp_path: Path) -> None:
    evidence = look(made_by(true_states(target, (1, 3, 4)), target, tmp_path), "--full")
    assert {"recomputed", "layers"} <= failed(evidence)
    assert named(evidence, "layers").found == "[1, 3, 4]"


def test_a_norm_applied_twice_is_found_out(target: Path, tmp_path: Path) -> None:
    made = made_by(true_states(target, INDICES, final="twice"), target, tmp_path)
    assert "recomputed" in failed(look(made, "--full"))


def test_rows_shifted_by_one_token_are_found_out(target: Path, tmp_path: Path) -> None:
    true = true_states(target, INDICES)

    def shifted(asked: Conversation) -> tuple[torch.Tensor, torch.Tensor, int]:
        aux, last, token = true(asked)
        return aux.roll(1, 0), last.roll(1, 0), token

    evidence = look(made_by(shifted, target, tmp_path), "--full")
    assert {"recomputed", "next_token"} <= failed(evidence)


@pytest.fixture
def too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """The target does not fit in memory whole; a span of it does."""
    monkeypatch.setattr(recompute, "room_missing", lambda target: "the target needs 2000 GB, 24 GB are free")


@pytest.mark.usefixtures("too_large")
@pytest.mark.parametrize("write", [tiny.write_llama, tiny.write_deepseek_v3, tiny.write_kimi_k25])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_of_a_large_target_both_ends_are_computed_again(
    tmp_path: Path, write: Callable[[Path, str], None], dtype: torch.dtype
) -> None:
    target = tmp_path / "large"
    target.mkdir()
    write(target, "float32")
    found = named(look(made_by(true_states(target, INDICES, dtype=dtype), target, tmp_path), "--full"), "recomputed")
    assert found.ok, found
    assert "2000 GB" in found.detail and "not recomputed: 4, 5" in found.detail


@pytest.mark.usefixtures("too_large")
@pytest.mark.parametrize("indices", [(1, 4, 5), (3, 4, 5), (2, 4, 6), (2, 4, 4)])
def test_a_slip_at_either_end_is_found_in_a_large_target(
    target: Path, tmp_path: Path, indices: tuple[int, ...]
) -> None:
    evidence = look(made_by(true_states(target, indices), target, tmp_path), "--full")
    assert "recomputed" in failed(evidence)


@pytest.mark.usefixtures("too_large")
def test_a_norm_applied_twice_is_found_in_a_large_target(target: Path, tmp_path: Path) -> None:
    made = made_by(true_states(target, INDICES, final="twice"), target, tmp_path)
    assert "recomputed" in failed(look(made, "--full"))


@pytest.mark.usefixtures("too_large")
def test_what_cannot_be_loaded_even_in_part_is_left_open(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spans, "memory_missing", lambda what, size: f"{what} needs {size} bytes, none are free")
    evidence = look(made_by(true_states(target, INDICES), target, tmp_path), "--full")
    found = named(evidence, "recomputed")
    assert evidence.verdict == "unsettled" and found.ok is None
    assert "2000 GB" in found.detail and "layers 0 to 2" in found.detail


def test_without_the_target_what_was_not_proven_is_said(random_set: MadeSet) -> None:
    argv = ["extract", "--subject", str(random_set.out), "--full"]
    verify.main(argv)
    evidence = Evidence.from_json(read_json(str(random_set.out / "evidence.json")))
    assert evidence.verdict == "unsettled"
    assert named(evidence, "recomputed").ok is None


def test_records_of_an_earlier_server_are_forgotten(random_set: MadeSet) -> None:
    assert list(random_set.out.glob("capture/records-*"))
    assert not list(Records.begin(random_set.out).new())
