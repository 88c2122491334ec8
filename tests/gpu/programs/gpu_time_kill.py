"""A training loop without end, to be killed: a line with the process, then one a step, with CLOCK_MONOTONIC."""

import os
import time

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(32, 256, device="cuda")
print("pid", os.getpid(), flush=True)
step = 0
while True:
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.cuda.synchronize()
    step += 1
    print(f"step {step} {time.monotonic_ns()}", flush=True)
    time.sleep(0.003)
