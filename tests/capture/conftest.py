"""Feature sets made by the capture plugin itself, without SGLang: requests are fed to it by hand."""

import sys
import threading
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from runner import identity, tiny
from runner.conversations import Conversation, write_conversations
from runner.extract.records import Records
from runner.manifest import Capture, Engine, Manifest, Model, SampleRow, write_set
from runner.serve.settings import PATCHES

sys.path.insert(0, str(PATCHES / "capture"))

from pointsman_capture.assembly import Assembly
from pointsman_capture.folder import CaptureFolder
from pointsman_capture.settings import Settings
from pointsman_capture.writer import Writers

HIDDEN = 128


@dataclass
class Request:
    """What the plugin looks at of SGLang's Req."""

    rid: str
    origin_input_ids: Sequence[int]
    is_retracted: bool = False
    inflight_middle_chunks: int = 0
    is_finished: bool = False

    def finished(self) -> bool:
        return self.is_finished


def request(name: str, ids: Sequence[int], **fields: Any) -> Request:
    return Request(name, array("q", ids), **fields)


def asked(name: str, count: int, prompt: int = 1) -> dict[str, str]:
    return {"id": name, "file": f"samples/0000/{name}.safetensors", "mask": f"{prompt},{count - prompt}"}


def batch(aux: torch.Tensor, last: torch.Tensor) -> SimpleNamespace:
    """SGLang's LogitsProcessorOutput of one forward pass."""
    return SimpleNamespace(hidden_states=aux, last_hidden_states=last)


@dataclass
class Plugin:
    """Assembly and writers over a folder, and what they recorded."""

    folder: Path
    dtype: str = "auto"
    queue_bytes: int = 1 << 30
    writers: int = 2
    station: Path | None = None
    station_bytes: int = 0
    records: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._told = Records.begin(self.folder)
        settings = Settings(self.folder, self.dtype, self.writers, self.queue_bytes, self.station, self.station_bytes)
        self.capture_folder = CaptureFolder(self.folder)
        self.made = Writers(self.capture_folder, settings)
        self.assembly = Assembly(self.made)

    def wait(self, count: int) -> list[dict[str, Any]]:
        """The records of `count` requests, once they are there."""
        for _ in range(1000):
            self.records += self._told.new()
            if len(self.records) >= count:
                return self.records
            threading.Event().wait(0.01)
        raise AssertionError(f"{len(self.records)} records of {count}")


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path / "out")


@dataclass(frozen=True)
class MadeSet:
    """A whole feature set, and the folders of synth and of the target that belong to it."""

    out: Path
    samples: Path
    target: Path
    conversations: list[Conversation]
    manifest: Manifest

    def file(self, number: int) -> Path:
        return self.out / f"samples/0000/{self.conversations[number].id}.safetensors"


States = Callable[[Conversation], tuple[torch.Tensor, torch.Tensor, int]]


def make_set(
    root: Path, target: Path, conversations: list[Conversation], states: States, indices: tuple[int, ...], hidden: int
) -> MadeSet:
    """Let the plugin write the states that `states` gives (aux [T, 3H], last [T, H], next token)."""
    out, samples = root / "features", root / "samples"
    samples.mkdir(parents=True)
    write_conversations(samples, conversations, tokenizer_digest=identity.tokenizer_digest(target), dropped={})
    plugin, next_tokens, dtype = Plugin(out), {}, "float32"
    for conversation in conversations:
        aux, last, next_tokens[conversation.id] = states(conversation)
        dtype = str(aux.dtype).removeprefix("torch.")
        count = len(conversation.input_ids)
        question = {
            "id": conversation.id,
            "file": f"samples/0000/{conversation.id}.safetensors",
            "mask": ",".join(map(str, conversation.mask_runs)),
        }
        req = request(conversation.id, conversation.input_ids)
        plugin.assembly.take(req, question, batch(aux, last), slice(0, count), True)
    found = {record["id"]: record for record in plugin.wait(len(conversations))}
    rows = [SampleRow(**found[c.id], next_token=next_tokens[c.id]) for c in conversations]
    ids = tuple(index - 1 for index in indices)
    manifest = write_set(
        out,
        rows,
        model=Model(
            name=target.name,
            path=str(target),
            revision=identity.weights_revision(target),
            config_digest=identity.config_digest(target),
            model_type="llama",
            vocab_size=tiny.VOCAB,
        ),
        engine=Engine(name="sglang", version="0.5.23", patch_digest="0" * 64),
        capture=Capture(indices=indices, layer_ids=ids, captured=indices, family="llama"),
        dtype=dtype,
        hidden_size=hidden,
        tokenizer_digest=identity.tokenizer_digest(target),
        source_digest="0" * 64,
        created_at="2026-01-01T00:00:00.000Z",
    )
    return MadeSet(out, samples, target, conversations, manifest)


def conversation(name: str, length: int, seed: int) -> Conversation:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(8, tiny.VOCAB, (length,), generator=generator).tolist()
    return Conversation(id=name, input_ids=tuple(ids), supervised=((length // 2, length),))


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random Llama in float32."""
    folder = tmp_path_factory.mktemp("target") / "tiny-llama"
    folder.mkdir()
    tiny.write_llama(folder, "float32")
    return folder


@pytest.fixture
def random_set(tmp_path: Path, target: Path) -> MadeSet:
    """Five samples whose states are random numbers: enough for all that does not compute them again."""

    def states(conversation: Conversation) -> tuple[torch.Tensor, torch.Tensor, int]:
        generator = torch.Generator().manual_seed(len(conversation.input_ids))
        count = len(conversation.input_ids)
        return (
            torch.randn(count, 3 * HIDDEN, generator=generator),
            torch.randn(count, HIDDEN, generator=generator),
            0,
        )

    conversations = [conversation(f"s{i}", length, i) for i, length in enumerate((9, 12, 12, 20, 31))]
    return make_set(tmp_path, target, conversations, states, (2, 4, 5), HIDDEN)
