"""Hosts for tests: real sshds, and attempts to run on them."""
