"""The contract between bot and host: attempt directory, spec, status, evidence. Standard library only, 3.8+."""

VERSION = 1
