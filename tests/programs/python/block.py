# Calls before, in and after a block of cutap.recording(). `tests/e2e/tests/python_module.rs` runs it.
import ctypes

import cutap

cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
version = ctypes.c_int()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
for n in range(10):
    cuda.cuDriverGetVersion(ctypes.byref(version))
with cutap.recording():
    for n in range(7):
        cuda.cuCtxSynchronize()
for n in range(10):
    cuda.cuDriverGetVersion(ctypes.byref(version))
print("recorded:", cutap.is_recorded())
