"""The bot's errors. (`bot.core.errors.WrongState` is the core's own: the run is not where an order supposes it.)

BotError
├ OperatorError        answered in the thread with a hint, never a traceback
│  ├ CommandError      the order cannot be carried out as it is written
│  └ NotAllowed        the speaker may not give this order; says who may
├ ChatUnavailable      the chat gave no usable answer; repeat later
├ StoreUnavailable     the database gave no answer; whether a change was stored is not known, repeat later
├ ConfigError          a file of the operator's is wrong; names file and line
└ HostError
   ├ HostUnreachable   state is kept and becomes UNKNOWN; unreachable is not failed
   ├ HostKeyChanged    nothing is sent; old and new fingerprint are shown
   └ LaunchFailed      the host refused or could not start the attempt; reason and the end of stderr
"""


class BotError(Exception):
    """Anything the bot knows how to answer."""


class OperatorError(BotError):
    """Answered in the thread with a hint."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class CommandError(OperatorError):
    """The order cannot be carried out as it is written."""


class NotAllowed(OperatorError):
    """The speaker may not give this order."""


class ConfigError(BotError):
    """A file of the operator's is wrong: `where` is file and line."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where


class StoreUnavailable(BotError):
    """The database gave no answer. A change may have been stored all the same: repeat what can be repeated."""


class HostError(BotError):
    """Something between us and the host."""

    def __init__(self, host: str, message: str) -> None:
        super().__init__(f"{host}: {message}")
        self.host = host
        self.message = message


class HostUnreachable(HostError):
    """No answer within the deadline. Says nothing of the attempts there."""


class HostKeyChanged(HostError):
    """The host showed another key than the one that is trusted."""


class LaunchFailed(HostError):
    """The host refused or could not start the attempt. `kind` is one short word (no-space, gpus-busy, conflict, …)."""

    def __init__(self, host: str, message: str, kind: str = "failed") -> None:
        super().__init__(host, message)
        self.kind = kind


class ChatUnavailable(BotError):
    """The chat gave no usable answer; `retry_after_s` when it is known how long calls of this kind have to wait.

    `fatal`: no repeat helps before a person repairs something (token, scope, invitation). `code`: the chat's
    own word for a refusal (`message_not_found`), "" when it is not known whether the call was carried out.
    `whole`: every other call would fail alike (no connection, a dead token).
    """

    def __init__(
        self,
        message: str,
        retry_after_s: float | None = None,
        *,
        fatal: bool = False,
        code: str = "",
        whole: bool = False,
    ) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.fatal = fatal
        self.code = code
        self.whole = whole
