"""Counts of kernels by name: of torch.profiler (`profile`), of a plain run, or both compared (`compare FILE`)."""

import collections
import json
import sys


def work():
    import torch

    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(8, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3, padding=1)]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(30):
        x = torch.randn(16, 8, 32, 32, device="cuda")
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()


if sys.argv[1] == "compare":
    with open(sys.argv[2], encoding="utf-8") as file:
        expected = json.load(file)
    lines = [json.loads(line) for line in sys.stdin]
    counted = {line["kernel"]: line["calls"] for line in lines if line["type"] == "gpu_kernel"}
    plain = lambda name: name.split("(")[0].replace("void ", "").split("<")[0].strip()  # noqa: E731
    ours, theirs = collections.Counter(), collections.Counter()
    for name, calls in counted.items():
        ours[plain(name)] += calls
    for name, calls in expected.items():
        theirs[plain(name)] += calls
    different = {name: (ours[name], theirs[name]) for name in ours | theirs if ours[name] != theirs[name]}
    print(f"{sum(ours.values())} kernels of cutap, {sum(theirs.values())} of torch.profiler; different: {different}")
    sys.exit(bool(different))
if sys.argv[1] == "profile":
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        work()
    events = [event for event in profiler.events() if "CUDA" in str(event.device_type)]
    names = [event.name for event in events if not event.name.startswith(("Memcpy", "Memset"))]
    print(json.dumps(collections.Counter(names)))
else:
    work()
