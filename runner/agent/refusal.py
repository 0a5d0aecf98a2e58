"""Why the agent did not do what it was asked for."""


class Refused(Exception):
    """`kind` is one short word that code may branch on; the message is for people."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
