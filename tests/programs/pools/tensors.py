# 102 tensors of a pool that has few pieces of CUDA's memory, as PyTorch's. It prints what the pool says itself, and for
# each line how many bytes it had at the pool's peak. `tests/e2e/tests/pools.rs` runs it.
import ctypes
import json
import os
import sys

cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
ctypes.CDLL(os.path.join(sys.argv[1], "libc10.so"), mode=ctypes.RTLD_GLOBAL)
pool = ctypes.CDLL(os.path.join(sys.argv[1], sys.argv[2]))
for name in ["pool_malloc", "pool_peak", "pool_reserved", "pool_sum"]:
    getattr(pool, name).restype = ctypes.c_size_t
c10 = ctypes.CDLL(os.path.join(sys.argv[1], "libc10.so"))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "site-packages"))
import pooled
from pooled import Tensor, at_peak, count, live
pooled.pool = pool


def forward(kept):
    first = Tensor(700_000)
    kept.append(Tensor(100_000))
    second = Tensor(300_001)
    return first, second


def step(kept):
    activations = forward(kept)
    return len(activations), Tensor(5000)


cache = Tensor(1 << 20)
kept = []
for n in range(25):
    step(kept)
del kept[20:]
print(json.dumps({
    "peak": pool.pool_peak(0), "reserved": pool.pool_reserved(0), "told": c10.c10_told(), "sum": pool.pool_sum(5),
    "live": c10.c10_bytes(), "at_peak": at_peak, "lines": {k: v for k, v in live.items()}, "count": count,
}))
sys.stdout.flush()
if sys.argv[3:] == ["refused"]:
    Tensor(100 << 20)
os._exit(0)
