"""A parent that uses the driver through ctypes and starts two children that do too.

Usage: children.py DRIVER_API_PROGRAM. Tests that children are followed and that
counts add up over processes; the output order is fixed by waiting for each child.
"""

import ctypes
import subprocess
import sys

cuda = ctypes.CDLL("libcuda.so.1")
count = ctypes.c_int()
print("parent cuInit:", cuda.cuInit(0))
print("parent cuDeviceGetCount:", cuda.cuDeviceGetCount(ctypes.byref(count)))
for number in (1, 2):
    child = subprocess.run([sys.argv[1]], capture_output=True, text=True)
    print(f"child {number}: exit {child.returncode}")
    print(child.stdout, end="")
print("parent cuDeviceGetCount:", cuda.cuDeviceGetCount(ctypes.byref(count)))
