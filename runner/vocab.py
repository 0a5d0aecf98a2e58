"""The drafter's vocabulary: which of the target's tokens it can propose, and the two maps between them.

`t2d` [V] bool says who is in; `d2t` [Vd] int64 holds offsets: target id = draft id + d2t[draft id]. Draft ids
ascend by target id, so nonzero(t2d) == d2t + arange(Vd). Needs no torch.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

from runner.dataset import FeatureSet
from runner.flags import option, parse
from runner.hf import load_config, text_config
from runner.protocol.errors import DataError
from runner.protocol.files import write_bytes, write_json
from runner.protocol.status import Progress
from runner.stage import status, write_result

Ints = npt.NDArray[np.int64]
FILE, ACCOUNT = "vocab.safetensors", "vocab.json"


@dataclass(frozen=True, kw_only=True)
class VocabOptions:
    """Choose the draft vocabulary: the target's tokens that are generated most often."""

    features: Path = option("data folder of extract")
    out: Path = option("where vocab.safetensors and vocab.json go")
    draft_vocab: int = option("tokens of the draft vocabulary", 32000)
    target: Path | None = option("folder of the target model, for its vocabulary size (default: the manifest's)", None)


@dataclass(frozen=True)
class VocabMap:
    """`kept` [Vd]: target ids, ascending."""

    kept: Ints
    vocab_size: int

    @property
    def t2d(self) -> npt.NDArray[np.bool_]:
        mask = np.zeros(self.vocab_size, dtype=np.bool_)
        mask[self.kept] = True
        return mask

    @property
    def d2t(self) -> Ints:
        return self.kept - np.arange(len(self.kept), dtype=np.int64)

    @property
    def digest(self) -> str:
        """Names the map: the same in a checkpoint, an export and the file they were made from."""
        return hashlib.sha256(self.kept.astype("<i8").tobytes() + str(self.vocab_size).encode()).hexdigest()

    def save(self, folder: Path) -> None:
        write_bytes(str(folder / FILE), save({"d2t": self.d2t, "t2d": self.t2d}))

    @staticmethod
    def load(folder: Path) -> "VocabMap":
        """Raises DataError when the file is missing or its two maps disagree."""
        path = folder / FILE
        try:
            tensors = load(path.read_bytes())
            return VocabMap.of(tensors["d2t"], tensors["t2d"])
        except (OSError, SafetensorError, KeyError) as error:
            raise DataError(f"{path}: no vocabulary map ({error})", "run vocab first") from error
        except DataError as error:
            raise DataError(f"{path}: {error.message}", error.hint) from error

    @staticmethod
    def of(d2t: npt.NDArray[np.generic], t2d: npt.NDArray[np.generic]) -> "VocabMap":
        """From the two maps as they are stored. Raises DataError when they are not two views of one choice."""
        complaint = disagreement(d2t, t2d)
        if complaint:
            raise DataError(complaint, "run vocab again; a map is never repaired by hand")
        return VocabMap(np.flatnonzero(t2d).astype(np.int64), len(t2d))


def disagreement(d2t: npt.NDArray[np.generic], t2d: npt.NDArray[np.generic]) -> str | None:
    """What is wrong with a pair of maps, or None."""
    if t2d.dtype != np.bool_ or t2d.ndim != 1:
        return f"t2d is {t2d.dtype}{list(t2d.shape)}, not bool [V]"
    if d2t.dtype != np.int64 or d2t.ndim != 1:
        return f"d2t is {d2t.dtype}{list(d2t.shape)}, not int64 [Vd]"
    kept = np.flatnonzero(t2d)
    if len(kept) != len(d2t):
        return f"t2d keeps {len(kept)} tokens, d2t has {len(d2t)}"
    offsets = kept - np.arange(len(kept))
    if np.array_equal(d2t, offsets):
        return None
    if np.array_equal(d2t, kept):
        return "d2t holds target ids; it must hold offsets (target id - draft id)"
    return f"d2t and t2d choose different tokens, first at draft id {int(np.flatnonzero(d2t != offsets)[0])}"


def count_supervised(samples: Iterable[tuple[Ints, npt.NDArray[np.uint8]]], vocab_size: int) -> Ints:
    """How often each target id [V] occurs among supervised tokens; `samples` yields input_ids and loss_mask.

    Raises DataError for an id outside the vocabulary.
    """
    counts = np.zeros(vocab_size, dtype=np.int64)
    for input_ids, loss_mask in samples:
        supervised = input_ids[loss_mask.astype(bool)]
        if supervised.size and not 0 <= int(supervised.min()) <= int(supervised.max()) < vocab_size:
            raise DataError(f"token id {int(supervised.max())} in a vocabulary of {vocab_size}")
        counts += np.bincount(supervised, minlength=vocab_size)
    return counts


def choose(counts: Ints, draft_vocab: int) -> VocabMap:
    """The `draft_vocab` most frequent ids, ties to the lower id; so unused low ids fill what frequency leaves open."""
    if not 0 < draft_vocab <= len(counts):
        raise DataError(f"a draft vocabulary of {draft_vocab} tokens out of {len(counts)}", "lower --draft-vocab")
    order = np.argsort(-counts, kind="stable")[:draft_vocab]
    return VocabMap(np.sort(order).astype(np.int64), len(counts))


def main(argv: Sequence[str]) -> int:
    options = parse(VocabOptions, argv, "python -m runner vocab")
    features = FeatureSet.open(options.features)
    vocab_size = _vocab_size(options, features)
    counts = count_supervised(_labels(features), vocab_size)
    vocab = choose(counts, options.draft_vocab)
    options.out.mkdir(parents=True, exist_ok=True)
    vocab.save(options.out)
    supervised, distinct = int(counts.sum()), int(np.count_nonzero(counts))
    account = {
        "vocab_size": vocab_size,
        "draft_vocab_size": len(vocab.kept),
        "digest": vocab.digest,
        "samples": len(features),
        "supervised_tokens": supervised,
        "distinct_tokens": distinct,
        "coverage": float(counts[vocab.kept].sum() / supervised) if supervised else 0.0,
        "padded": int(np.count_nonzero(counts[vocab.kept] == 0)),
    }
    write_json(str(options.out / ACCOUNT), account)
    write_result(options.out, "vocab", **account)
    status().update(
        "done",
        message=f"{len(vocab.kept)} of {vocab_size} tokens cover {account['coverage']:.2%} of "
        f"{supervised} supervised tokens ({distinct} distinct)",
        force=True,
    )
    return 0


def _labels(features: FeatureSet) -> Iterator[tuple[Ints, npt.NDArray[np.uint8]]]:
    for number in range(len(features)):
        input_ids, loss_mask = features.read_tokens(number)
        status().update("running", Progress(number, len(features), "samples"))
        yield input_ids.astype(np.int64), loss_mask


def _vocab_size(options: VocabOptions, features: FeatureSet) -> int:
    if options.target is None:
        return features.manifest.model.vocab_size
    return int(text_config(load_config(options.target))["vocab_size"])
