"""What has to be extracted: the conversations, what is there already, and whether it will fit."""

import dataclasses
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO

from runner import conversations, hf, identity
from runner.conversations import Conversation
from runner.drafter import layer_ids
from runner.extract.options import ExtractOptions
from runner.journal import read_journal
from runner.manifest import HEADER_DTYPES, Model, SampleRow
from runner.protocol.errors import CaptureMismatch, DataError, ProtocolError
from runner.protocol.files import read_json, write_json
from runner.serve.settings import PATCHES, served_dtype
from runner.tensorfile import ITEM_BYTES, TensorInfo, read_header


@dataclass
class Plan:
    """`rows` grow as samples are finished; a sample without a row is missing."""

    model: Model
    indices: tuple[int, ...]
    layer_ids: tuple[int, ...]
    dtype: str
    hidden_size: int
    wanted: Sequence[Conversation]
    left_out: dict[str, str]
    facts: dict[str, Any]
    rows: dict[str, SampleRow] = field(default_factory=dict)

    @property
    def bytes_per_token(self) -> int:
        """Of a file's data: states, ids and mask."""
        return (len(self.indices) + 1) * self.hidden_size * ITEM_BYTES[HEADER_DTYPES[self.dtype]] + 5

    def missing(self) -> list[Conversation]:
        """The longest first: a long one at the end would run alone."""
        return sorted(
            (conversation for conversation in self.wanted if conversation.id not in self.rows),
            key=lambda conversation: -len(conversation.input_ids),
        )

    @property
    def tokens(self) -> int:
        return sum(len(conversation.input_ids) for conversation in self.wanted)


def make_plan(options: ExtractOptions) -> Plan:
    """Raises DataError, CaptureMismatch: before a server is started."""
    whole = hf.load_config(options.target)
    config = hf.text_config(whole)
    layers = int(config["num_hidden_layers"])
    indices = options.capture or (2, layers // 2, layers - 3)
    if list(indices) != sorted(set(indices)) or indices[0] < 0 or indices[-1] >= layers:
        raise CaptureMismatch(f"indices {list(indices)} do not ascend within 0 to {layers - 1}")
    model_type = str(whole["model_type"])
    dtype = options.dtype if options.dtype != "auto" else served_dtype(options.target, options.model_dtype)
    source = conversations.read_manifest(options.samples)
    if source["tokenizer_digest"] != identity.tokenizer_digest(options.target):
        raise DataError(f"{options.samples} was tokenised by another tokenizer than {options.target} has")
    wanted, left_out = _choose(options, int(config["vocab_size"]))
    plan = Plan(
        model=Model(
            name=options.target.name,
            path=str(options.target),
            revision=identity.weights_revision(options.target),
            config_digest=identity.config_digest(options.target),
            model_type=model_type,
            vocab_size=int(config["vocab_size"]),
        ),
        indices=indices,
        layer_ids=tuple(layer_ids(indices, model_type)),
        dtype=dtype,
        hidden_size=int(config["hidden_size"]),
        wanted=wanted,
        left_out=left_out,
        facts={
            "tokenizer_digest": source["tokenizer_digest"],
            "source_digest": source["samples"]["digest"],
            "engine_version": metadata.version("sglang"),
            "patch_digest": identity.folder_digest(PATCHES / "capture"),
        },
    )
    _check_identity(options.out, plan)
    plan.rows = _verified_rows(options.out, plan)
    return plan


def _choose(options: ExtractOptions, vocab_size: int) -> tuple[list[Conversation], dict[str, str]]:
    """The conversations to extract; the ids that are left out, and why. Raises DataError."""
    found = list(conversations.read_conversations(options.samples))
    wanted, left_out = [], {}
    for conversation in found[: options.max_samples or None]:
        length = len(conversation.input_ids)
        if not all(0 <= token < vocab_size for token in conversation.input_ids):
            raise DataError(f"conversation {conversation.id} has ids outside of the vocabulary of {vocab_size}")
        if length > options.max_length and options.over_long == "refuse":
            hint = "raise --max-length, or choose --over-long drop or cut"
            raise DataError(f"conversation {conversation.id} has {length} tokens, over {options.max_length}", hint)
        if length > options.max_length and options.over_long == "drop":
            left_out[conversation.id] = f"{length} tokens, over {options.max_length}"
            continue
        conversation = _cut(conversation, options.max_length)
        if conversation.num_supervised == 0:
            left_out[conversation.id] = "no supervised token"
            continue
        wanted.append(conversation)
    if not wanted:
        raise DataError(f"{options.samples}: no conversation to extract")
    return wanted, left_out


def _cut(conversation: Conversation, length: int) -> Conversation:
    if len(conversation.input_ids) <= length:
        return conversation
    spans = tuple((start, min(end, length)) for start, end in conversation.supervised if start < length)
    return dataclasses.replace(conversation, input_ids=conversation.input_ids[:length], supervised=spans)


def _check_identity(out: Path, plan: Plan) -> None:
    """A folder is completed only by what would write the same states. Raises CaptureMismatch."""
    path = out / "identity.json"
    mine = {
        "revision": plan.model.revision,
        "indices": list(plan.indices),
        "dtype": plan.dtype,
        "tokenizer_digest": plan.facts["tokenizer_digest"],
        "engine_version": plan.facts["engine_version"],
        "patch_digest": plan.facts["patch_digest"],
    }
    try:
        found = read_json(str(path))
    except FileNotFoundError:
        out.mkdir(parents=True, exist_ok=True)
        write_json(str(path), mine)
        return
    except ProtocolError as error:
        raise DataError(f"{path}: {error}") from error
    for name, value in mine.items():
        if found.get(name) != value:
            raise CaptureMismatch(f"{out} was begun with {name} {found.get(name)}, not {value}", "give another folder")


def _verified_rows(out: Path, plan: Plan) -> dict[str, SampleRow]:
    """Rows of the journal whose file is whole, and of the same conversation."""
    wanted = {conversation.id: conversation for conversation in plan.wanted}
    rows = {}
    for entry in read_journal(out / "journal.jsonl"):
        row = SampleRow(**entry)
        conversation = wanted.get(row.id)
        if conversation is None:
            continue
        same = (row.num_tokens, row.num_supervised) == (len(conversation.input_ids), conversation.num_supervised)
        if same and _is_whole(out / row.file, row, conversation):
            rows[row.id] = row
        else:
            rows.pop(row.id, None)
    return rows


def _is_whole(path: Path, row: SampleRow, conversation: Conversation) -> bool:
    """Header, size, and the ids and mask themselves: so files that changed places are found, without their states."""
    try:
        tensors = read_header(path)
        if max(info.end for info in tensors.values()) != row.bytes:
            return False
        with path.open("rb") as file:
            ids, mask = (_bytes_of(file, tensors[name]) for name in ("input_ids", "loss_mask"))
    except (DataError, OSError, KeyError):
        return False
    return ids == array("i", conversation.input_ids).tobytes() and mask == conversation.mask


def _bytes_of(file: BinaryIO, info: TensorInfo) -> bytes:
    file.seek(info.start)
    return file.read(info.end - info.start)
