"""torch.profiler (so CUPTI, in this process) around a small fixed workload.

The profiler asks the driver for the same table of callbacks as cutap; what it records
must not depend on cutap. Prints how many kernels, copies, runtime and driver calls and operators it saw, by name.
"""

import collections
import json
import os
import tempfile

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
os.environ.setdefault("KINETO_LOG_LEVEL", "5")
import torch
from torch.profiler import ProfilerActivity, profile


def work(host):
    a = host.to("cuda")
    b = (a @ a).relu() + a
    torch.cuda.synchronize()
    return b.sum().cpu()


torch.manual_seed(9)
host = torch.randn(256, 256)
work(host)
# The first profile starts CUPTI, which may lose the first records; only the second counts.
for _ in range(2):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in range(4):
            result = work(host)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "trace.json")
    profiler.export_chrome_trace(path)
    with open(path, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
seen = collections.Counter((event.get("cat"), event["name"]) for event in events if event.get("ph") == "X")
told = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "cpu_op")
for (category, name), number in sorted(seen.items(), key=str):
    if category in told:
        print(f"{category} {number} {name}")
print("kernels seen:", any(category == "kernel" for category, _ in seen))
print("finite:", bool(torch.isfinite(result)))
