"""Copies from the GPU to pinned host memory on a stream of their own, beside the model's work."""

import torch

_streams: dict = {}


class Transfer:
    """The copies of one batch. On the CPU there is nothing to copy and nothing to wait for."""

    def __init__(self):
        self._event = None
        self._stream = None

    def copy(self, tensor):
        """The same values on the host; valid after `wait`. What SGLang has copied already is taken as it is."""
        if tensor.device.type == "cpu":
            return tensor
        device = tensor.device
        if device not in _streams:
            _streams[device] = torch.cuda.Stream(device)
        self._stream = _streams[device]
        self._stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(self._stream):
            host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            host.copy_(tensor, non_blocking=True)
        tensor.record_stream(self._stream)  # or the allocator hands its memory out while it is being read
        return host

    def record(self):
        if self._stream is not None:
            self._event = torch.cuda.Event()
            self._event.record(self._stream)

    def wait(self):
        """Called by a writer thread: the scheduler's thread never waits for a copy."""
        if self._event is not None:
            self._event.synchronize()
