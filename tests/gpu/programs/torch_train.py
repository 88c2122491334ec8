"""Fifty training steps of a small convolutional net with SGD; fixed seed, fixed losses."""

import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch

torch.use_deterministic_algorithms(True)
torch.backends.cudnn.benchmark = False
torch.manual_seed(4)
inputs = torch.randn(64, 1, 16, 16)
labels = torch.randint(0, 10, (64,))
net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 8, 3),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Linear(8 * 14 * 14, 64),
    torch.nn.ReLU(),
    torch.nn.Linear(64, 10),
).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
criterion = torch.nn.CrossEntropyLoss()
inputs, labels = inputs.cuda(), labels.cuda()
first = last = 0.0
for step in range(50):
    optimizer.zero_grad()
    loss = criterion(net(inputs), labels)
    loss.backward()
    optimizer.step()
    last = loss.item()
    if step == 0:
        first = last
    if step % 10 == 9:
        print(f"step {step + 1}: loss {last:.6f}")
print("learned:", last < first)
