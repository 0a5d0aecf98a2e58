"""The feature set as training sees it: what was captured, and samples checked when they are read first."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from runner.dataset import FeatureSet
from runner.drafter import layer_ids
from runner.protocol.errors import CaptureMismatch, DataError
from runner.train.batches import Sample
from runner.train.config import TrainConfig
from runner.train.finish import Captured
from runner.train.target import TargetWeights


@dataclass
class CheckedFeatures:
    """A `batches.Source` over a `FeatureSet`. With `checksums`, each file is read through once and compared."""

    features: FeatureSet
    checksums: bool
    _checked: set[int] = field(default_factory=set)

    @property
    def ids(self) -> Sequence[str]:
        return self.features.ids

    @property
    def num_tokens(self) -> Sequence[int]:
        return self.features.num_tokens

    @property
    def num_supervised(self) -> Sequence[int]:
        return self.features.num_supervised

    def read(self, number: int) -> Sample:
        """Raises DataError naming the sample when it is missing, damaged, or was written non-finite."""
        if number not in self._checked:
            self._check(number)
            self._checked.add(number)
        sample = self.features.read(number)
        return Sample(
            input_ids=sample.input_ids,
            loss_mask=sample.loss_mask,
            aux=sample.aux_hidden_states,
            last=sample.last_hidden_states,
        )

    def _check(self, number: int) -> None:
        row = self.features.rows[number]
        if not row.finite:
            raise DataError(f"sample {row.id} ({row.file}): its states are not finite", "extract it again")
        if not self.checksums:
            return
        try:
            found = self.features.checksum(number)
        except OSError as error:
            raise DataError(f"sample {row.id} ({row.file}): {error}", "extract it again") from error
        if found != row.checksum:
            raise DataError(
                f"sample {row.id} ({row.file}): its bytes changed since they were written", "extract it again"
            )


def open_features(config: TrainConfig) -> tuple[CheckedFeatures, Captured]:
    """Open the set and see that it fits target and export. Raises DataError, CaptureMismatch."""
    features = FeatureSet.open(config.features)
    manifest, target = features.manifest, TargetWeights.open(config.target).config
    capture = manifest.capture
    if capture.final_norm != "post":
        raise CaptureMismatch(
            f"last_hidden_states are {capture.final_norm}-norm, training needs post-norm", "extract again"
        )
    if tuple(capture.captured) != tuple(capture.indices):
        raise CaptureMismatch(
            f"the engine captured {list(capture.captured)}, the manifest says {list(capture.indices)}", "extract again"
        )
    if list(capture.layer_ids) != layer_ids(capture.indices, capture.family):
        raise CaptureMismatch(
            f"layer ids {list(capture.layer_ids)} of the manifest do not mean {list(capture.indices)} when served",
            "extract again",
        )
    for name, found in (("hidden_size", manifest.hidden_size), ("vocab_size", manifest.model.vocab_size)):
        if int(target[name]) != found:
            raise DataError(
                f"{config.features} has {name} {found}, {config.target} has {target[name]}",
                "give the target that was extracted",
            )
    captured = Captured(indices=tuple(capture.indices), family=capture.family, manifest_digest=features.digest)
    return CheckedFeatures(features, config.check_samples == "checksum"), captured
