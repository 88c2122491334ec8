"""Training steps on the simulated driver, as ranges of NVTX: what the questions of `engines.py` have to answer.

usage: steps.py STEPS
Each step copies, launches as many kernels as its number says, and waits. One step allocates more, and one call fails.
"""

import ctypes
import sys

import nvtx

PTX = b""".version 7.0
.target sm_50
.address_size 64
.visible .entry forward(.param .u64 p)
{
  ret;
}
.visible .entry backward(.param .u64 p)
{
  ret;
}
"""


def main():
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *words):
        result = getattr(cuda, name)(*words)
        assert result == 0, f"{name}: {result}"

    context, module, memory, more = (ctypes.c_void_p() for _ in range(4))
    kernels = [ctypes.c_void_p(), ctypes.c_void_p()]
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), PTX)
    for kernel, name in zip(kernels, [b"forward", b"backward"]):
        call("cuModuleGetFunction", ctypes.byref(kernel), module, name)
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(1 << 20))
    host = ctypes.create_string_buffer(4096)
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
    for step in range(int(sys.argv[1])):
        with nvtx.annotate(f"step {step}"):
            call("cuMemcpyHtoD_v2", memory, host, ctypes.c_size_t(256 * (step + 1)))
            with nvtx.annotate("forward"):
                for n in range(step + 1):
                    call("cuLaunchKernel", kernels[n % 2], 1 + n, 1, 1, 32, 1, 1, 0, None, parameters, None)
            if step == 2:
                call("cuMemAlloc_v2", ctypes.byref(more), ctypes.c_size_t(1 << 22))
                assert cuda.cuMemFree_v2(ctypes.c_void_p(1)) != 0
            call("cuCtxSynchronize")
    call("cuMemFree_v2", more)


main()
