"""A feature set as training reads it: samples mapped from their files, nothing copied."""

import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from runner.manifest import (
    Manifest,
    SampleRow,
    complain_of_tensors,
    file_checksum,
    manifest_digest,
    read_manifest,
    read_rows,
)
from runner.protocol.errors import DataError
from runner.tensorfile import TensorInfo, read_header

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One conversation of T tokens, 3 captured layers (in the order of the manifest's indices) and hidden size H.

    The tensors are views of the mapped file. They are private: writing to them changes memory, never the file.
    """

    id: str
    input_ids: npt.NDArray[np.int32]  # [T]
    loss_mask: npt.NDArray[np.uint8]  # [T]
    aux_hidden_states: "Tensor"  # [T, 3H]
    last_hidden_states: "Tensor"  # [T, H], after the final norm


@dataclass(frozen=True)
class FeatureSet:
    """The data folder of extract."""

    folder: Path
    manifest: Manifest
    rows: Sequence[SampleRow]

    @staticmethod
    def open(folder: Path) -> "FeatureSet":
        """Reads manifest and table alone. Raises DataError when the set is not whole."""
        manifest = read_manifest(folder)
        return FeatureSet(folder, manifest, read_rows(folder, manifest.samples))

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def digest(self) -> str:
        return manifest_digest(self.folder)

    @cached_property
    def ids(self) -> list[str]:
        return [row.id for row in self.rows]

    @cached_property
    def num_tokens(self) -> list[int]:
        return [row.num_tokens for row in self.rows]

    @cached_property
    def num_supervised(self) -> list[int]:
        return [row.num_supervised for row in self.rows]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {row.id: number for number, row in enumerate(self.rows)}

    def number_of(self, sample_id: str) -> int:
        """Raises DataError when there is no such sample."""
        try:
            return self._numbers[sample_id]
        except KeyError as error:
            raise DataError(f"{self.folder}: no sample {sample_id!r}") from error

    def read(self, number: int) -> Sample:
        """Map one sample, and have the kernel read all of it, not page by page as it is touched.

        Raises DataError naming it when it is missing or does not fit its row in the table.
        """
        row = self.rows[number]
        self.prefetch(number)
        mapped, tensors = self._map(row)
        return Sample(
            id=row.id,
            input_ids=_array(mapped, tensors["input_ids"], np.int32),
            loss_mask=_array(mapped, tensors["loss_mask"], np.uint8),
            aux_hidden_states=_tensor(mapped, tensors["aux_hidden_states"]),
            last_hidden_states=_tensor(mapped, tensors["last_hidden_states"]),
        )

    def read_tokens(self, number: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
        """input_ids and loss_mask alone: needs no torch. Raises DataError."""
        mapped, tensors = self._map(self.rows[number])
        return _array(mapped, tensors["input_ids"], np.int32), _array(mapped, tensors["loss_mask"], np.uint8)

    def checksum(self, number: int) -> str:
        """Of all bytes of a sample's file, as its row has it. Raises OSError."""
        return file_checksum(self.folder / self.rows[number].file)

    def prefetch(self, number: int) -> None:
        """Ask the kernel to read a sample's file ahead. Returns at once; says nothing of a file that is missing."""
        try:
            handle = os.open(self.folder / self.rows[number].file, os.O_RDONLY)
        except OSError:
            return
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_WILLNEED)
        finally:
            os.close(handle)

    def _map(self, row: SampleRow) -> tuple[mmap.mmap, dict[str, TensorInfo]]:
        path = self.folder / row.file
        try:
            tensors = read_header(path)
            complaint = complain_of_tensors(self.manifest, row.num_tokens, tensors)
            if complaint:
                raise DataError(complaint)
            with path.open("rb") as file:
                # A private mapping: torch wants writable memory, the file stays as it is.
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), tensors
        except DataError as error:
            raise DataError(
                f"sample {row.id} ({row.file}): {error.message}", "verify the set, extract it again"
            ) from error
        except OSError as error:
            raise DataError(f"sample {row.id} ({row.file}): {error}") from error


def _array(mapped: mmap.mmap, info: TensorInfo, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    count = int(np.prod(info.shape))
    return np.frombuffer(mapped, dtype=dtype, count=count, offset=info.start).reshape(info.shape)


def _tensor(mapped: mmap.mmap, info: TensorInfo) -> "Tensor":
    import torch

    dtype = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}[info.dtype]
    count = int(np.prod(info.shape))
    return torch.frombuffer(mapped, dtype=dtype, count=count, offset=info.start).reshape(info.shape)
