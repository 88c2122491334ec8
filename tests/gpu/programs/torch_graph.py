"""A CUDA graph is captured once and replayed with new input."""

import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch

torch.manual_seed(6)
weight = torch.randn(64, 64, device="cuda")
static_in = torch.zeros(64, 64, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        static_out = torch.relu(static_in @ weight)
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    static_out = torch.relu(static_in @ weight)
for replay in range(10):
    value = torch.full((64, 64), 0.1 * replay, device="cuda")
    static_in.copy_(value)
    graph.replay()
    same = torch.allclose(static_out, torch.relu(value @ weight))
    print(f"replay {replay}: {float(static_out.double().sum()):.4f}, correct {same}")
