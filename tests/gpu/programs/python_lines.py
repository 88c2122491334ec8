"""1,000 random allocations, launches and waits of PyTorch. Each writes its kind and line, by sys._getframe, to LINES."""

import json
import os
import random
import sys

os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
import torch

expected = []


def here(kind):
    expected.append([kind, sys._getframe(1).f_lineno])


def allocate(tensors):
    if random.random() < 0.5:
        here("allocate"); tensors.append(torch.empty(1 << random.randrange(10, 20), dtype=torch.uint8, device="cuda"))
    else:
        here("allocate"); tensors.append(torch.empty(4096, dtype=torch.float32, device="cuda"))


def launch(x):
    if random.random() < 0.5:
        here("launch"); x.add_(1)
    else:
        here("launch"); x.mul_(2)


def wait():
    here("wait"); torch.cuda.synchronize()


def step(x, tensors):
    which = random.random()
    if which < 0.4:
        allocate(tensors)
    elif which < 0.8:
        launch(x)
    else:
        wait()


def main():
    random.seed(7)
    x = torch.ones(256, device="cuda")
    x.add_(1)
    x.mul_(2)
    torch.cuda.synchronize()
    expected.clear()
    torch.cuda.nvtx.range_push("measured")
    tensors = []
    for _ in range(1000):
        step(x, tensors)
    torch.cuda.nvtx.range_pop()
    with open(os.environ["LINES"], "w") as file:
        json.dump(expected, file)
    print(len(expected), "operations", int(x[0].item() != 0))


main()
