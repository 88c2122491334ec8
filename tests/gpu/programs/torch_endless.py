"""Training steps until somebody ends it; the file named by argument 1 holds how many are whole.

Each step ends with one cudaDeviceSynchronize, and its number is written when that has returned: what is recorded
of a process that was killed can be held against it. With argument 2, so many steps and a clean end.
"""

import os
import sys

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch

torch.manual_seed(4)
inputs = torch.randn(64, 32, device="cuda")
labels = torch.randint(0, 10, (64,), device="cuda")
net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
criterion = torch.nn.CrossEntropyLoss()
steps = int(sys.argv[2]) if len(sys.argv) > 2 else None
with open(sys.argv[1], "wb", buffering=0) as said:
    done = 0
    while done != steps:
        optimizer.zero_grad()
        criterion(net(inputs), labels).backward()
        optimizer.step()
        torch.cuda.synchronize()
        done += 1
        os.pwrite(said.fileno(), b"%12d\n" % done, 0)
