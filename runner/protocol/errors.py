"""The errors that cross the contract.

ProtocolError          unreadable or wrong version of a file or message
StageError             written to the status file as {kind, message, hint}
├ DataError            an input is missing, damaged or does not fit
├ CaptureMismatch      recorded capture indices or conventions disagree with what is asked for
├ PatchMismatch        the SGLang found is not the one that the patch knows
├ ServerError          the serving process did not start, died or answered wrongly
├ NonFiniteLoss        a loss or gradient is NaN or infinite
├ DiskFull             no space left for what has to be written
└ Interrupted          a signal asked the stage to stop; what is needed to resume was saved
"""

from typing import Dict, Optional


class ProtocolError(Exception):
    """A file or message of the contract that cannot be read, or has an unknown version."""


class StageError(Exception):
    """A stage cannot go on; `hint` says what a person can do about it."""

    exit_code = 1

    def __init__(self, message: str, hint: Optional[str] = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def to_json(self) -> Dict[str, Optional[str]]:
        return {"kind": type(self).__name__, "message": self.message, "hint": self.hint}


class DataError(StageError):
    """An input is missing, damaged or does not fit."""


class CaptureMismatch(StageError):
    """Recorded capture indices or conventions disagree with what is asked for."""


class PatchMismatch(StageError):
    """The SGLang found is not the one that the patch knows."""


class ServerError(StageError):
    """The serving process did not start, died or answered wrongly."""


class NonFiniteLoss(StageError):
    """A loss or gradient is NaN or infinite."""


class DiskFull(StageError):
    """No space left for what has to be written."""


class Interrupted(StageError):
    """A signal asked the stage to stop; what is needed to resume was saved."""

    exit_code = 143
