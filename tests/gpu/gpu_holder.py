"""Holds memory of GPU 0 by the driver alone: `python gpu_holder.py BYTES`. Prints `up` once it does."""

import ctypes
import sys
import time

cuda = ctypes.CDLL("libcuda.so.1")
device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
for rc in (
    cuda.cuInit(0),
    cuda.cuDeviceGet(ctypes.byref(device), 0),
    cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device),
    cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(int(sys.argv[1]))),
):
    if rc != 0:
        sys.exit(f"CUDA error {rc}")
print("up", flush=True)
time.sleep(600)
