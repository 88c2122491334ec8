"""A training whose steps, forward and backward passes are ranges of NVTX; then one step with emit_nvtx."""

import torch

torch.manual_seed(0)
layers = [torch.nn.Conv2d(8, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3, padding=1)]
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
nvtx = torch.cuda.nvtx


def step(number):
    nvtx.range_push(f"step {number}")
    x = torch.randn(16, 8, 32, 32, device="cuda")
    with nvtx.range("forward"):
        loss = model(x).square().mean()
    optimizer.zero_grad()
    with nvtx.range("backward"):
        loss.backward()
    with nvtx.range("optimizer"):
        optimizer.step()
    if number == 12:
        torch.cuda.synchronize()
        _ = [torch.empty(1 << 20, device="cuda").sum().item() for _ in range(50)]
    nvtx.range_pop()
    return loss


for number in range(20):
    loss = step(number)
nvtx.mark("trained")
with torch.autograd.profiler.emit_nvtx():
    loss = step(20)
torch.cuda.synchronize()
print(torch.isfinite(loss).item())
