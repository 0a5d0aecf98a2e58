"""What will be extracted, what is there already, and what is refused before a server starts."""

import dataclasses
from pathlib import Path

import pytest

from runner import identity
from runner.conversations import Conversation, write_conversations
from runner.extract.options import ExtractOptions
from runner.extract.plan import Plan, make_plan
from runner.extract.run import run
from runner.journal import Journal
from runner.manifest import read_rows
from runner.protocol.errors import CaptureMismatch, DataError, DiskFull
from tests.capture.conftest import MadeSet, conversation


def options(made: MadeSet, **fields: object) -> ExtractOptions:
    given = {"target": made.target, "samples": made.samples, "out": made.out, "dtype": "float32", "capture": (2, 4, 5)}
    return ExtractOptions(**{**given, **fields})  # type: ignore[arg-type]


def keep_journal(made: MadeSet) -> None:
    with Journal(made.out / "journal.jsonl") as journal:
        for row in read_rows(made.out, made.manifest.samples):
            journal.append(dataclasses.asdict(row))


def resupply(made: MadeSet, conversations: list[Conversation]) -> None:
    digest = identity.tokenizer_digest(made.target)
    write_conversations(made.samples, conversations, tokenizer_digest=digest)


def missing(plan: Plan) -> list[str]:
    return [conversation.id for conversation in plan.missing()]


def test_the_longest_are_asked_first(random_set: MadeSet) -> None:
    plan = make_plan(options(random_set))
    assert missing(plan) == ["s4", "s3", "s1", "s2", "s0"]
    assert plan.layer_ids == (1, 3, 4) and plan.tokens == 84


def test_whole_files_are_kept_and_others_made_again(random_set: MadeSet) -> None:
    keep_journal(random_set)
    random_set.file(0).unlink()
    random_set.file(3).write_bytes(random_set.file(3).read_bytes()[:-1])
    random_set.file(4).write_bytes(bytes(random_set.file(4).stat().st_size))
    assert set(missing(make_plan(options(random_set)))) == {"s0", "s3", "s4"}


def test_files_that_changed_places_are_made_again(random_set: MadeSet) -> None:
    """Both have twelve tokens: headers and sizes fit either row."""
    keep_journal(random_set)
    one, other = random_set.file(1), random_set.file(2)
    bodies = one.read_bytes(), other.read_bytes()
    other.write_bytes(bodies[0])
    one.write_bytes(bodies[1])
    assert set(missing(make_plan(options(random_set)))) == {"s1", "s2"}


def test_a_changed_mask_is_found_by_resuming(random_set: MadeSet) -> None:
    keep_journal(random_set)
    body = bytearray(random_set.file(3).read_bytes())
    body[-1] ^= 1  # the mask lies last
    random_set.file(3).write_bytes(body)
    assert missing(make_plan(options(random_set))) == ["s3"]


def test_a_journal_cut_short_costs_one_sample(random_set: MadeSet) -> None:
    keep_journal(random_set)
    path = random_set.out / "journal.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert missing(make_plan(options(random_set))) == ["s4"]


def test_a_conversation_that_changed_is_made_again(random_set: MadeSet) -> None:
    keep_journal(random_set)
    resupply(random_set, [conversation("s0", 10, 0), *random_set.conversations[1:]])
    assert missing(make_plan(options(random_set))) == ["s0"]


def test_an_extended_set_leaves_what_is_there(random_set: MadeSet) -> None:
    keep_journal(random_set)
    resupply(random_set, [*random_set.conversations, conversation("new", 7, 99)])
    assert missing(make_plan(options(random_set))) == ["new"]


@pytest.mark.parametrize("change", [{"capture": (2, 4, 6)}, {"dtype": "bfloat16"}])
def test_a_folder_is_not_completed_with_other_states(random_set: MadeSet, change: dict[str, object]) -> None:
    make_plan(options(random_set))
    with pytest.raises(CaptureMismatch, match="was begun with"):
        make_plan(options(random_set, **change))


@pytest.mark.parametrize("indices", [(4, 2, 5), (2, 2, 5), (2, 4, 8)])
def test_indices_that_do_not_ascend_in_the_model_are_refused(random_set: MadeSet, indices: tuple[int, ...]) -> None:
    with pytest.raises(CaptureMismatch, match="do not ascend"):
        make_plan(options(random_set, capture=indices))


def test_the_rule_for_long_conversations(random_set: MadeSet) -> None:
    with pytest.raises(DataError, match="s4 has 31 tokens, over 25"):
        make_plan(options(random_set, max_length=25))
    dropped = make_plan(options(random_set, max_length=25, over_long="drop"))
    assert dropped.left_out == {"s4": "31 tokens, over 25"} and len(dropped.wanted) == 4
    cut = make_plan(options(random_set, max_length=25, over_long="cut"))
    last = cut.wanted[-1]
    assert len(last.input_ids) == 25 and last.supervised == ((15, 25),)
    assert last.input_ids == random_set.conversations[-1].input_ids[:25]


def test_a_cut_that_leaves_nothing_to_supervise_leaves_the_sample_out(random_set: MadeSet) -> None:
    plan = make_plan(options(random_set, max_length=15, over_long="cut"))
    assert plan.left_out == {"s4": "no supervised token"}


def test_ids_outside_of_the_vocabulary_are_refused_before_they_crash_the_server(random_set: MadeSet) -> None:
    resupply(random_set, [Conversation(id="x", input_ids=(5, 512), supervised=((1, 2),))])
    with pytest.raises(DataError, match="outside of the vocabulary"):
        make_plan(options(random_set))


def test_another_tokenizer_is_refused(random_set: MadeSet) -> None:
    write_conversations(random_set.samples, random_set.conversations, tokenizer_digest="another")
    with pytest.raises(DataError, match="another tokenizer"):
        make_plan(options(random_set))


def test_a_set_that_will_not_fit_is_refused_at_once(random_set: MadeSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.extract.run.free_bytes", lambda path: 100_000)
    with pytest.raises(DiskFull, match="will be written"):
        run(options(random_set))


def test_a_complete_journal_needs_no_server(random_set: MadeSet, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_journal(random_set)
    (random_set.out / "manifest.json").unlink()
    monkeypatch.setattr("runner.extract.run.Session", None)
    run(options(random_set))
    assert (random_set.out / "manifest.json").is_file()


def test_resuming_ten_thousand_samples_is_decided_by_their_headers(random_set: MadeSet, tmp_path: Path) -> None:
    """Many rows of one file: the decision reads a header a row and no states."""
    one = random_set.conversations[0]
    many = [dataclasses.replace(one, id=f"m{number}") for number in range(2000)]
    resupply(random_set, many)
    row = read_rows(random_set.out, random_set.manifest.samples)[0]
    with Journal(random_set.out / "journal.jsonl") as journal:
        for each in many[:-1]:
            journal.append(dataclasses.asdict(dataclasses.replace(row, id=each.id)))
    assert missing(make_plan(options(random_set))) == ["m1999"]
