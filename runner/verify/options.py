"""The flags of verify: the same for every stage; each takes what it needs."""

import os
from dataclasses import dataclass
from pathlib import Path

from runner.flags import option


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """Look at a stage's data folder and write evidence.json, into the attempt's directory or --out."""

    subject: Path = option("data folder of the stage")
    quick: bool = option("counts, headers, sizes and digests alone: no byte of the states, no torch", False)
    full: bool = option("also checksums, every value, recomputation", False)
    target: Path | None = option("folder of the target model", None)
    samples: Path | None = option("data folder of synth", None)
    features: Path | None = option("data folder of extract", None)
    vocab: Path | None = option("data folder of vocab", None)
    draft: Path | None = option("folder of the served drafter", None)
    recompute: int = option("samples to compute again with transformers", 3)
    workers: int = option("threads that read files; 0: all cores", 0)
    quarantine: bool = option("move files of bad samples aside, so that extract makes them again", False)
    out: Path | None = option("folder for evidence.json, outside of an attempt (default: the subject)", None)

    @property
    def is_full(self) -> bool:
        return self.full and not self.quick

    @property
    def evidence_folder(self) -> Path:
        attempt = os.environ.get("POINTSMAN_ATTEMPT_DIR")
        return self.out or (Path(attempt) if attempt else self.subject)
