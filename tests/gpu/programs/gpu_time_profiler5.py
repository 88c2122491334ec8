"""torch.profiler, started and stopped five times in one run, with unprofiled work and pauses between. Prints the
kernels it saw.

What the profiler counts must not depend on cutap.
"""

import collections
import os
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
os.environ.setdefault("KINETO_LOG_LEVEL", "5")
import torch
from torch.profiler import ProfilerActivity, profile

torch.manual_seed(3)
x = torch.randn(256, 256, device="cuda")


def work(rounds):
    y = x
    for _ in range(rounds):
        y = torch.tanh(y @ x * 0.01).softmax(dim=1)
    torch.cuda.synchronize()
    return float(y.double().sum())


def session(rounds):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        # CUPTI may lose the first record of a session, without cutap too (pytorch#192021); this kernel is not counted.
        torch.cuda._sleep(1000)
        torch.cuda.synchronize()
        value = work(rounds)
    events = [event for event in profiler.events() if "CUDA" in str(event.device_type)]
    kernels = collections.Counter(event.name for event in events if not event.name.startswith(("Memcpy", "Memset")))
    counted = {name: count for name, count in kernels.items() if "spin_kernel" not in name}
    bad = sum(event.time_range.end < event.time_range.start for event in events)
    return value, counted, bad


work(3)
session(1)  # The first profile starts CUPTI, which takes long.
for number in range(5):
    value, counted, bad = session(10 + number)
    print(f"session {number}: {sum(counted.values())} kernels, bad times {bad}, value {value:.6f}")
    for name, count in sorted(counted.items()):
        print(f"    {count} {name}")
    print(f"unprofiled: {work(20):.6f}")
    time.sleep(0.5)
