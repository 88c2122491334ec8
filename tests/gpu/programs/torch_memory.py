"""What PyTorch's allocator says of its own memory, and the lines that made tensors. torch_memory.py

tensors|training|refused|backward. `backward` also prints of each node of autograd what anomaly mode says of its line, and
how many blocks it asked for."""

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


nodes = {}


def forward(model, batch):
    hidden = model[0](batch)
    hidden = torch.nn.functional.relu(hidden)
    return model[1](hidden)


def line_of(node):
    """The innermost line of this file that made the node, by what anomaly mode keeps of it."""
    own = [text for text in node.metadata.get("traceback_", []) if os.path.basename(__file__) in text.split(",")[0]]
    if not own:
        return None
    _, line, function = own[-1].splitlines()[0].split(",")
    return f"{os.path.basename(__file__)}:{line.split()[-1]} {function.split()[-1]}"


def count():
    return torch.cuda.memory_stats()["allocation.all.allocated"]


def watch(node, began):
    """Counts the blocks of each node that lies behind this one."""
    todo, seen = [node], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        todo += [next_node for next_node, _ in node.next_functions]
        made = line_of(node)
        name = f"{began}, backward of {made}" if made else f"{began}, backward node {node.name().rsplit('::')[-1]}"
        before = []
        node.register_prehook(lambda *_, before=before: before.append(count()))
        def after(*_, before=before, name=name):
            nodes[name] = nodes.get(name, 0) + count() - before.pop()
        node.register_hook(after)


def backward():
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.Linear(2048, 512)).to("cuda:0")
    batch = torch.full((4096, 512), 0.5, device="cuda:0")
    file = os.path.basename(__file__)
    for _ in range(5):
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            output = forward(model, batch)
            loss = output.square().mean()
        model.zero_grad()
        frame = sys._getframe()
        watch(loss.grad_fn, f"{file}:{frame.f_lineno + 1} backward")
        loss.backward()
    return model


parts = {"tensors": tensors, "training": training, "refused": refused, "backward": backward}
kept = parts[sys.argv[1]]()
torch.cuda.synchronize()
print(json.dumps({
    "peak": torch.cuda.max_memory_allocated(), "live": torch.cuda.memory_allocated(),
    "reserved": torch.cuda.memory_reserved(), "lines": lines, "nodes": {name: count for name, count in nodes.items() if count},
}))
# The interpreter's end would free the tensors, and what lives at the end is compared.
sys.stdout.flush()
os._exit(0)
