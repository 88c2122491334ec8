"""Says in one sentence why there is no usable GPU here; silent, exit 0, if there is one."""

import ctypes
import sys

try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError as error:
    print(f"there is no NVIDIA driver library here ({error})")
    sys.exit(1)
count = ctypes.c_int(0)
code = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
if code != 0 or count.value == 0:
    print(f"the driver offers no GPU (cuInit and cuDeviceGetCount: error {code}, {count.value} devices)")
    sys.exit(1)
