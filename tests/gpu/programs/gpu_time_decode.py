"""A decode loop with a graph for each of 30 batch sizes, as inference servers make them; each is replayed 20 times.

GPU_TIME_PAUSE names a folder: the program writes its number to `ready1` there and waits for `go1` before it captures,
and again with `ready2` and `go2` before it replays.
"""

import os
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch

FOLDER = os.environ.get("GPU_TIME_PAUSE")


def pause(number):
    if not FOLDER:
        return
    torch.cuda.synchronize()
    with open(f"{FOLDER}/ready{number}.new", "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    os.rename(f"{FOLDER}/ready{number}.new", f"{FOLDER}/ready{number}")
    while not os.path.exists(f"{FOLDER}/go{number}"):
        time.sleep(0.01)


torch.manual_seed(0)
device = torch.device("cuda")
norm = torch.nn.LayerNorm(128).to(device)
block = torch.nn.Sequential(torch.nn.Linear(128, 512), torch.nn.GELU(), torch.nn.Linear(512, 128)).to(device)
head = torch.nn.Linear(128, 1000).to(device)
sizes = [1, 2, 4, *range(8, 8 * 28, 8)]
inputs = torch.randn(max(sizes), 128, device=device)


def step(batch):
    hidden = inputs[:batch]
    for _ in range(4):
        hidden = hidden + block(norm(hidden))
    return head(hidden).argmax(dim=1)


with torch.no_grad():
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for batch in sizes:
            step(batch)
    torch.cuda.current_stream().wait_stream(stream)
    pause(1)
    pool, graphs = None, {}
    for batch in reversed(sizes):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            output = step(batch)
        pool = pool or graph.pool()
        graphs[batch] = graph, output
    pause(2)
    for batch in sizes:
        graph, output = graphs[batch]
        for _ in range(20):
            graph.replay()
        print(f"batch {batch}: {int(output.sum())}, {len(output)} tokens")
print(len(graphs), "graphs")
