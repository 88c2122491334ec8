"""Trains a small network, 1020 steps, then replays a captured graph 100 times; prints results and times of a step."""

import time

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs = torch.randn(64, 512, device="cuda")
labels = torch.randint(0, 10, (64,), device="cuda")


def step():
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    return loss


for _ in range(20):
    step()
torch.cuda.synchronize()
times = []
for _ in range(5):
    begin = time.perf_counter()
    for _ in range(200):
        loss = step()
    torch.cuda.synchronize()
    times.append((time.perf_counter() - begin) / 200 * 1e6)
print(f"loss {loss.item():.6f}; microseconds of a step: {' '.join(f'{t:.0f}' for t in times)}")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    output = torch.relu(model(inputs))
for _ in range(100):
    graph.replay()
torch.cuda.synchronize()
print(f"sum {output.sum().item():.4f}")
