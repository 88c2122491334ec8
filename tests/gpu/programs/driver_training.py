"""Training for a time: `driver_training.py SECONDS`. A transformer in bfloat16 and a convolutional net, in turns. Prints
a loss every 200 steps, the same with each driver, and at the end whether the memory of the process stays."""

import os
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch
import torch.nn.functional as F
from driver_torch import Gpt, R, Residual

torch.use_deterministic_algorithms(True, warn_only=True)


def nets():
    gpt = Gpt().cuda()
    conv = torch.nn.Sequential(
        torch.nn.Conv2d(3, 32, 7, stride=2, padding=3), torch.nn.MaxPool2d(2), Residual(32), torch.nn.Flatten(), torch.nn.Linear(8192, 10)
    ).cuda()
    text = torch.randint(0, 100, (64, 8, 65)).cuda()
    images, labels = R(16, 16, 3, 64, 64).cuda(), torch.randint(0, 10, (16, 16)).cuda()

    def gpt_loss(n):
        part = text[n % 64]
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return F.cross_entropy(gpt(part[:, :64]).flatten(0, 1), part[:, 1:].flatten())

    return [(gpt, gpt_loss), (conv, lambda n: F.cross_entropy(conv(images[n % 16]), labels[n % 16]))]


def host_bytes():
    """Resident memory of the process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def main(seconds):
    both = [(loss, torch.optim.AdamW(net.parameters(), lr=1e-4)) for net, loss in nets()]
    step, end, after_warm_up = 0, time.monotonic() + seconds, None
    while time.monotonic() < end:
        losses = []
        for compute_loss, optimizer in both:
            optimizer.zero_grad()
            loss = compute_loss(step)
            loss.backward()
            optimizer.step()
            losses.append(loss)
        step += 1
        if step % 200 == 0:
            print(f"step {step}: losses " + " ".join(f"{loss.item():.4f}" for loss in losses), flush=True)
        if step == 1000:
            after_warm_up = (torch.cuda.memory_reserved(), host_bytes())
    now = (torch.cuda.memory_reserved(), host_bytes())
    before = after_warm_up or now
    stays = now[0] <= before[0] and now[1] <= before[1] + (64 << 20)
    print("memory stays:", stays, file=sys.stdout if stays else sys.stderr)
    print("memory stays:", stays, "" if stays else f"{before} {now}")


if __name__ == "__main__":
    main(float(sys.argv[1]))
