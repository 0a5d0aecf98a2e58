"""What a step refuses."""


class WrongState(Exception):
    """The run is not where the order supposes it to be; the text says where it is."""
