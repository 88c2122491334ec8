"""CuPy: elementwise, matrix product, a kernel of our own through NVRTC.

The kernel cache is kept in memory, so that every run compiles and makes the same calls.
"""

import os

os.environ.setdefault("CUPY_CACHE_IN_MEMORY", "1")
import cupy
import numpy

x = numpy.arange(10000, dtype=numpy.float32)
gpu = cupy.asarray(x)
print("elementwise:", bool(numpy.array_equal(cupy.asnumpy(gpu * 2 + 1), x * 2 + 1)))
print("sum:", float(gpu.sum(dtype=cupy.float64)))
a = numpy.random.RandomState(7).rand(256, 256)
product = cupy.asnumpy(cupy.asarray(a) @ cupy.asarray(a))
print("matmul:", bool(numpy.allclose(product, a @ a)))
scale = cupy.RawKernel(
    'extern "C" __global__ void scale(float *p, float f, int n) {'
    " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] *= f; }",
    "scale",
)
scale((40,), (256,), (gpu, numpy.float32(3), numpy.int32(10000)))
print("raw kernel:", bool(numpy.array_equal(cupy.asnumpy(gpu), x * 3)))
