"""What a step refuses."""


class WrongState(Exception):
    """The run is not where the order supposes it to be; the text says where it is."""


class NotNow(WrongState):
    """The run's phase takes no such order."""
