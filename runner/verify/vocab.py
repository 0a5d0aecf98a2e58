"""Evidence for a vocabulary map. Needs no torch."""

from pathlib import Path

import numpy as np

from runner.dataset import FeatureSet
from runner.protocol.errors import ProtocolError, StageError
from runner.protocol.evidence import Check
from runner.protocol.files import read_json
from runner.vocab import ACCOUNT, FILE, VocabMap, count_supervised

COVERAGE = 0.9  # below it, one supervised token in ten is left out of training and can never be drafted


def check_vocab(subject: Path, features: Path | None, full: bool) -> list[Check]:
    """The map's two halves agree, it is the one its account speaks of, and it covers what is generated.

    `full` counts the supervised tokens of `features` again.
    """
    try:
        vocab = VocabMap.load(subject)
        account = read_json(str(subject / ACCOUNT))
    except (StageError, ProtocolError, OSError) as error:
        return [Check("maps", False, found=str(error), expected=f"{FILE} and {ACCOUNT}")]
    checks = [
        Check("maps", True, found=f"{len(vocab.kept)} of {vocab.vocab_size} tokens", expected="d2t and t2d agree"),
        Check(
            "account",
            account.get("digest") == vocab.digest,
            found=vocab.digest[:12],
            expected=str(account.get("digest"))[:12],
            detail="digest of the map, and the one that vocab.json names",
        ),
        _coverage(float(account.get("coverage", 0.0)), "by its account"),
    ]
    if features is None:
        return checks
    try:
        known = FeatureSet.open(features)
        checks.append(
            Check(
                "vocab_size",
                known.manifest.model.vocab_size == vocab.vocab_size,
                found=vocab.vocab_size,
                expected=known.manifest.model.vocab_size,
            )
        )
        if full:
            checks.append(_recounted(vocab, known, account.get("supervised_tokens")))
    except StageError as error:
        checks.append(Check("features", False, found=error.message, expected="a whole feature set"))
    return checks


def _coverage(share: float, how: str) -> Check:
    return Check("coverage", share >= COVERAGE, found=f"{share:.2%}", expected=f"at least {COVERAGE:.0%}", detail=how)


def _recounted(vocab: VocabMap, features: FeatureSet, told: object) -> Check:
    """Every kept token is at least as frequent as every other."""
    samples = (features.read_tokens(number) for number in range(len(features)))
    counts = count_supervised(((ids.astype(np.int64), mask) for ids, mask in samples), vocab.vocab_size)
    inside = counts[vocab.t2d]
    outside = counts[~vocab.t2d]
    most_frequent = not outside.size or int(inside.min()) >= int(outside.max())
    total = int(counts.sum())
    return Check(
        "recounted",
        most_frequent and total == told,
        found=f"{total} supervised tokens",
        expected=f"{told}, and the most frequent ones kept",
    )
