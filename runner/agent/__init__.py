"""The remote side: launches, watches and ends attempts. Standard library only, 3.8+, Linux.

It is sent down a channel and runs from memory; nothing needs to be installed on the host.
"""
