"""Ranges of the package nvtx around a call of the driver."""

import ctypes

import nvtx

cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)


@nvtx.annotate("decorated", domain="load", color="blue")
def work(number):
    cuda.cuDeviceGetCount(ctypes.byref(ctypes.c_int()))
    return number + 1


with nvtx.annotate("block", domain="load"):
    print(work(2))
