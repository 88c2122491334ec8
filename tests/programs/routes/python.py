"""ctypes, as every Python binding without a compiler does it: dlopen and dlsym, in the parent and in a forked child."""
import ctypes
import os

cuda = ctypes.CDLL("libcuda.so.1")
version, pointer = ctypes.c_int(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0
assert cuda.cuDriverGetVersion(ctypes.byref(version)) == 0 and version.value == 12090
assert cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(0)) == 1
child = os.fork()
if child == 0:
    os._exit(cuda.cuMemFree_v2(ctypes.c_uint64(1)))
assert os.waitpid(child, 0)[1] == 0
try:
    cuda.cuNobodyKnows
    raise SystemExit("cuNobodyKnows was found")
except AttributeError:
    print("ok")
