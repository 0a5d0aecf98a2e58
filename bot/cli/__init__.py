"""The verbs of `python -m bot`, one file each."""
