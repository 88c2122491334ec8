"""Eight threads, each with its own stream, start their first call together.

A warm-up in the main thread and barriers at both ends keep the number of calls the
same in every run: each thread then holds its own cuBLAS handle at the same time.
"""

import os
import threading

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch

THREADS = 8
torch.manual_seed(5)
data = [torch.randn(128, 128) for _ in range(THREADS)]


def work(x):
    for _ in range(20):
        x = torch.tanh(x @ x * 0.01)
    return float(x.double().sum().item())


expected = [work(x.cuda()) for x in data]
torch.cuda.synchronize()
results = [None] * THREADS
streams = [torch.cuda.Stream() for _ in range(THREADS)]
start, finish = threading.Barrier(THREADS), threading.Barrier(THREADS)


def run(number):
    start.wait()
    with torch.cuda.stream(streams[number]):
        results[number] = work(data[number].cuda())
        streams[number].synchronize()
    finish.wait()


threads = [threading.Thread(target=run, args=(i,)) for i in range(THREADS)]
for t in threads:
    t.start()
for t in threads:
    t.join()
for number, value in enumerate(results):
    print(f"thread {number}: {value:.6f}, as in the main thread: {value == expected[number]}")
