"""Steps of training that are nothing but small kernels: 20 linear layers, SGD, batch 64."""

import sys

import torch

model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(20)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(64, 64, device="cuda"), torch.randn(64, 64, device="cuda")
for _ in range(int(sys.argv[1])):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
torch.cuda.synchronize()
print("trained")
