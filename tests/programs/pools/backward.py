# Backward passes as PyTorch makes them: nodes are made here, and run in another thread. It prints what the blocks of each
# line should be called, and how many there are. `tests/e2e/tests/pools.rs` runs it.
import ctypes
import json
import os
import sys
import threading

folder = sys.argv[1]
cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
ctypes.CDLL(os.path.join(folder, "libc10.so"), mode=ctypes.RTLD_GLOBAL)
pool = ctypes.CDLL(os.path.join(folder, "libc10_cuda.so"))
torch = ctypes.CDLL(os.path.join(folder, "libtorch_cpu.so"))
engine = ctypes.CDLL(os.path.join(folder, "libtorch_python.so"))
torch.start(pool.pool_malloc, cuda.cuCtxSetCurrent, context)
torch.new_node.restype = ctypes.c_void_p
engine.backward.restype = ctypes.c_long
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "site-packages"))
import graph
from graph import Graph
graph.new_node, graph.engine = torch.new_node, engine.backward


def forward(graph):
    graph.node("mm", 1000)
    for n in range(3):
        graph.node("mm", 5000 + n)
    graph.node("accumulate", 700)


def step():
    graph = Graph()
    forward(graph)
    graph.node("throws", 0)
    graph.node("mm", 100)
    return graph.backward()


def here():
    graph = Graph()
    graph.node("mm", 300)
    return graph.backward(here=True)


def inside():
    inner, outer = Graph(), Graph()
    inner.node("mm", 10)
    outer.node("inner", 20, inner)
    return outer.backward()


ran = []
for n in range(20):
    ran += [step(), here(), inside()]
threads = [threading.Thread(target=lambda: [step() for n in range(20)]) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert set(ran) == {6001, 1000}, set(ran)
print(json.dumps({"count": graph.count, "ran": len(ran)}))
sys.stdout.flush()
os._exit(0)
