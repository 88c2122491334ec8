"""What PyTorch's allocator says of its own memory, and the lines that made tensors. torch_memory.py tensors|training"""

import json
import os
import sys

import torch

lines = {}


def here(count):
    """Notes that the line that calls this makes so many blocks."""
    frame = sys._getframe(1)
    name = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno} {frame.f_code.co_qualname}"
    lines[name] = lines.get(name, 0) + count
    return "cuda:0"


def tensors():
    kept = []
    for n in range(51):
        kept.append(torch.empty(1000 + 4096 * n, device=here(1)))
        torch.empty(300_000, device=here(1))
    return kept


def training():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512)).to("cuda:0")
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(5):
        batch = torch.empty(4096, 512, device=here(1))
        batch.fill_(0.5)
        loss = (model(batch) - batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model, optimizer, batch, loss


def refused():
    try:
        torch.empty(1 << 45, dtype=torch.uint8, device="cuda:0")
    except torch.cuda.OutOfMemoryError:
        return [torch.empty(1000, device=here(1))]


kept = {"tensors": tensors, "training": training, "refused": refused}[sys.argv[1]]()
torch.cuda.synchronize()
print(json.dumps({
    "peak": torch.cuda.max_memory_allocated(), "live": torch.cuda.memory_allocated(),
    "reserved": torch.cuda.memory_reserved(), "lines": lines,
}))
# The interpreter's end would free the tensors, and what lives at the end is compared.
sys.stdout.flush()
os._exit(0)
