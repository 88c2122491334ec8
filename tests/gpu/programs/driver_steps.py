"""Times of PyTorch with a driver, in milliseconds: `import_tensor=` from the begin of the program to the first tensor that
was read back, and `step_NAME=`, medians of training steps that end with a wait."""

import time

begin = time.perf_counter()
import torch

assert torch.full((1000,), 3.0, device="cuda").sum().item() == 3000
print(f"import_tensor={(time.perf_counter() - begin) * 1e3:.1f}", end=" ")

import statistics

import torch.nn.functional as F
from driver_torch import Gpt, R


def median_step(net, loss_of, autocast):
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    times = []
    for step in range(60):
        start = time.perf_counter()
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=autocast):
            loss = loss_of(net)
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        if step >= 20:
            times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


text = torch.randint(0, 100, (8, 65)).cuda()
gpt_loss = lambda net: F.cross_entropy(net(text[:, :64]).flatten(0, 1), text[:, 1:].flatten())
x, y = R(64, 64).cuda(), R(64, 64).cuda()
mlp = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(20)]).cuda()
large = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(8)]).cuda()
wide = R(4096, 4096).cuda()
print(f"step_gpt={median_step(Gpt().cuda(), gpt_loss, True):.3f}", end=" ")
print(f"step_small={median_step(mlp, lambda net: F.mse_loss(net(x), y), False):.3f}", end=" ")
print(f"step_large={median_step(large, lambda net: net(wide).square().mean(), True):.3f}")
