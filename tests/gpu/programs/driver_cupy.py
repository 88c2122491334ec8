"""CuPy for a driver: elementwise, reductions, a raw kernel, products, sorting, two streams. No time or address."""

import cupy
import numpy

a = cupy.arange(10000, dtype=cupy.float32)
b = cupy.sqrt(a * 2 + 1)
print("elementwise", bool(numpy.allclose(b.get(), numpy.sqrt(numpy.arange(10000, dtype=numpy.float32) * 2 + 1))))
double = cupy.RawKernel('extern "C" __global__ void twice(float *a) { a[threadIdx.x] *= 2; }', "twice")
double((1,), (32,), (a,))
print("raw kernel", float(a[31]), float(a[32]))
print("sum", int(cupy.arange(100000, dtype=cupy.int64).sum()))
m = cupy.asarray(numpy.random.default_rng(0).standard_normal((64, 64), dtype=numpy.float32))
print("product", bool(numpy.allclose((m @ m).get(), m.get() @ m.get(), atol=1e-3)))
print("sorted", bool((cupy.sort(m.ravel()).get() == numpy.sort(m.get().ravel())).all()))
streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
parts = []
for n, stream in enumerate(streams):
    with stream:
        parts.append(cupy.full(1000, n + 1).sum())
for stream in streams:
    stream.synchronize()
print("streams", [int(part) for part in parts])
