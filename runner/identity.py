"""Digests that name a model folder and a tokenizer without reading its weights."""

import hashlib
import json
from pathlib import Path

from runner.protocol.errors import DataError

_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "tiktoken.model",
    "chat_template.jinja",
)


def config_digest(folder: Path) -> str:
    """sha256 of `config.json`. Raises DataError."""
    return _digest_of(folder / "config.json")


def tokenizer_digest(folder: Path) -> str:
    """sha256 over the tokenizer's files. Raises DataError when there is none of them."""
    found = [name for name in _TOKENIZER_FILES if (folder / name).is_file()]
    if not found:
        raise DataError(f"{folder}: no tokenizer")
    total = hashlib.sha256()
    for name in found:
        total.update(f"{name} {_digest_of(folder / name)}\n".encode())
    return total.hexdigest()


def weights_revision(folder: Path) -> str:
    """Names the weights by their files' names, sizes and headers: a terabyte need not be read for it."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise DataError(f"{folder}: no safetensors weights")
    entries = []
    for path in files:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            head = hashlib.sha256(file.read(min(length, 100_000_000))).hexdigest()
            file.seek(-min(4096, path.stat().st_size), 2)
            entries.append([path.name, path.stat().st_size, head, hashlib.sha256(file.read()).hexdigest()])
    return hashlib.sha256(json.dumps(entries).encode()).hexdigest()


def folder_digest(folder: Path) -> str:
    """sha256 over all Python files under a folder: what names a patch."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        total.update(f"{path.relative_to(folder)} {_digest_of(path)}\n".encode())
    return total.hexdigest()


def _digest_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: unreadable: {error}") from error
