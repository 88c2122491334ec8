"""A few training steps with two habits that `cutap explain` reports: the second recording of `cutap demo`."""

import torch

model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data, wanted = torch.randn(24, 64, 256), torch.randint(0, 10, (24, 64))
total = 0.0
for batch, labels in zip(data, wanted):
    # Copies of pageable memory, and a wait in each step.
    batch, labels = batch.to("cuda", non_blocking=True), labels.to("cuda", non_blocking=True)
    loss = torch.nn.functional.cross_entropy(model(batch), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
print(f"loss {total / 24:.1f}")
