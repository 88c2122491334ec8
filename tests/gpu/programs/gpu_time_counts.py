"""A small training loop (`plain`), or the same under torch.profiler (`profile`), which prints the counts of kernels by
name.
"""

import collections
import json
import os
import re
import sys

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch

torch.backends.cudnn.benchmark = False


def work():
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(32, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(32, 32, 3, padding=1)]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(100):
        x = torch.randn(32, 32, 64, 64, device="cuda")
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()


if sys.argv[1] == "profile":
    from torch.profiler import ProfilerActivity, profile

    # The first session starts CUPTI; of each later one the first record may be lost (pytorch#192021), so it is no work.
    for part in (lambda: None, work):
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            torch.cuda._sleep(1000)
            torch.cuda.synchronize()
            part()
    events = [event for event in profiler.events() if "CUDA" in str(event.device_type)]
    names = [event.name for event in events if not event.name.startswith(("Memcpy", "Memset"))]
    # Annotations, as Optimizer.step#SGD.step. Names of lambda functions have # behind braces.
    names = [name for name in names if not re.fullmatch(r"[\w.]+#[\w.]+", name)]
    names = [name for name in names if "spin_kernel" not in name]
    print(json.dumps(collections.Counter(names)))
else:
    work()
