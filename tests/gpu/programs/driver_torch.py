"""Parts of PyTorch for a driver: `driver_torch.py NAME`. Each prints results that depend on the GPU's work, and no time
or address, so that two drivers can be compared. `ops` also compares with the CPU."""

import os
import sys

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch
import torch.nn.functional as F

torch.manual_seed(0)
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = False
R = torch.randn


def fill():
    x = torch.zeros(1000, device="cuda")
    x += 1
    x.fill_(3)
    print("sum", x.sum().item())


def sgemm():
    a, b = R(512, 512), R(512, 512)
    error = ((a.cuda() @ b.cuda()).cpu() - a @ b).abs().max().item()
    print("right", error < 1e-3)


def image():
    return R(4, 8, 32, 32)


def tokens():
    return torch.randint(0, 100, (8, 32))


def solved(a, b):
    return torch.linalg.solve(a + 8 * torch.eye(64, device=a.device), b)


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


# Name: function, arguments, largest difference, type on the GPU.
OPS = {
    "add": (torch.add, lambda: (R(1000), R(1000)), 0, None),
    "sin": (torch.sin, lambda: (R(100, 100),), 1e-5, None),
    "softmax": (lambda x: x.softmax(1), lambda: (R(64, 1000),), 1e-5, None),
    "layer_norm": (lambda x: F.layer_norm(x, (1000,)), lambda: (R(64, 1000),), 1e-4, None),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), lambda: (image(),), 1e-4, None),
    "sum": (lambda x: x.sum(0), lambda: (R(1000, 64),), 1e-3, None),
    "cumsum": (lambda x: x.cumsum(1), lambda: (R(64, 1000),), 1e-3, None),
    "sort": (lambda x: x.sort(1).values, lambda: (R(64, 3000),), 0, None),
    "topk": (lambda x: x.topk(5).values, lambda: (R(64, 3000),), 0, None),
    "argmax": (lambda x: x.argmax(1), lambda: (R(64, 3000),), 0, None),
    "unique": (torch.unique, lambda: (tokens(),), 0, None),
    "nonzero": (lambda x: (x > 1).nonzero(), lambda: (R(100, 100),), 0, None),
    "gather": (lambda x, i: x[i], lambda: (R(100, 16), tokens()), 0, None),
    "index_add": (lambda x, i: torch.zeros_like(x).index_add_(0, i, x[i]), lambda: (R(100, 16), tokens()[0]), 1e-4, None),
    "scatter": (lambda x: torch.zeros_like(x).scatter_(1, x.argsort(1), x), lambda: (R(8, 100),), 0, None),
    "where": (lambda x: torch.where(x > 0, x, -x), lambda: (R(1000),), 0, None),
    "cat": (lambda x, y: torch.cat([x, y.t()]), lambda: (R(30, 40), R(40, 30)), 0, None),
    "embedding": (lambda w, i: F.embedding(i, w), lambda: (R(100, 16), tokens()), 0, None),
    "cross_entropy": (lambda x, i: F.cross_entropy(x, i[0]), lambda: (R(32, 100), tokens()), 1e-4, None),
    "bmm": (torch.bmm, lambda: (R(8, 64, 32), R(8, 32, 16)), 1e-3, None),
    "linear": (F.linear, lambda: (R(64, 512), R(128, 512), R(128)), 1e-3, None),
    "conv2d": (F.conv2d, lambda: (image(), R(16, 8, 3, 3)), 1e-3, None),
    "conv_transpose": (F.conv_transpose2d, lambda: (image(), R(8, 4, 3, 3)), 1e-3, None),
    "max_pool": (lambda x: F.max_pool2d(x, 2), lambda: (image(),), 0, None),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"), lambda: (image(),), 1e-4, None),
    "rfft": (lambda x: torch.fft.rfft(x).abs(), lambda: (R(16, 1024),), 1e-3, None),
    "solve": (solved, lambda: (R(64, 64), R(64, 3)), 1e-3, None),
    "matmul_half": (torch.matmul, lambda: (R(1024, 1024), R(1024, 1024)), 0.3, torch.float16),
    "matmul_bfloat": (torch.matmul, lambda: (R(1024, 1024), R(1024, 1024)), 2.0, torch.bfloat16),
    "linear_half": (F.linear, lambda: (R(256, 512), R(512, 512), R(512)), 0.3, torch.float16),
    "attention_half": (attention, lambda: (R(2, 4, 256, 64), R(2, 4, 256, 64), R(2, 4, 256, 64)), 0.05, torch.float16),
    "conv2d_half": (F.conv2d, lambda: (image(), R(16, 8, 3, 3)), 0.2, torch.float16),
}


def ops():
    wrong = 0
    for name, (function, arguments, limit, kind) in OPS.items():
        given = arguments()
        wanted = function(*given).double()
        try:
            moved = [x.cuda().to(kind) if kind and x.is_floating_point() else x.cuda() for x in given]
            got = function(*moved).double().cpu()
            error = (got - wanted).abs().max().item() if got.numel() else 0.0
            is_right = got.shape == wanted.shape and error <= limit
            print(name, "ok" if is_right else f"WRONG by {error:.3g}, limit {limit}", flush=True)
        except Exception as why:
            is_right = False
            print(name, "FAILED", str(why).splitlines()[0][:120], flush=True)
        wrong += not is_right
    print(len(OPS) - wrong, "of", len(OPS), "right")
    return wrong


def mlp():
    net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = R(32, 64).cuda(), torch.randint(0, 10, (32,)).cuda()
    for step in range(20):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            print(f"step {step + 1}: loss {loss.item():.5f}")


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)
        )

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = (p.view(n, length, 4, width // 4).transpose(1, 2) for p in self.qkv(self.first(x)).split(width, 2))
        x = x + self.out(attention(q, k, v).transpose(1, 2).reshape(n, length, width))
        return x + self.mlp(self.second(x))


class Gpt(torch.nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.token, self.place = torch.nn.Embedding(100, width), torch.nn.Embedding(64, width)
        self.blocks = torch.nn.Sequential(Block(width), Block(width))
        self.head = torch.nn.Linear(width, 100)

    def forward(self, x):
        places = torch.arange(x.shape[1], device=x.device)
        return self.head(self.blocks(self.token(x) + self.place(places)))


def train(net, batch, steps, autocast=None):
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for step in range(steps):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=autocast or torch.bfloat16, enabled=autocast is not None):
            loss = batch(net)
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step + 1}: loss {loss.item():.3f}")


def gpt(autocast=None):
    net, text = Gpt().cuda(), torch.randint(0, 100, (8, 65)).cuda()
    text[:, 1::2] = text[:, :-1:2]
    train(net, lambda net: F.cross_entropy(net(text[:, :-1][:, :64]).flatten(0, 1), text[:, 1:].flatten()), 30, autocast)
    with torch.no_grad():
        line = text[:1, :8]
        for _ in range(16):
            line = torch.cat([line, net(line)[:, -1:].argmax(2)], 1)
    print("generated", line[0, 8:].tolist() if autocast is None else line.shape)


def gpt_bfloat():
    gpt(torch.bfloat16)


class Residual(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        conv = lambda: torch.nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.body = torch.nn.Sequential(
            conv(), torch.nn.BatchNorm2d(width), torch.nn.ReLU(), conv(), torch.nn.BatchNorm2d(width)
        )

    def forward(self, x):
        return (x + self.body(x)).relu()


def resnet():
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 32, 7, stride=2, padding=3),
        torch.nn.MaxPool2d(2),
        Residual(32),
        Residual(32),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(32, 10),
    ).cuda()
    x, y = R(16, 3, 64, 64).cuda(), torch.randint(0, 10, (16,)).cuda()
    train(net, lambda net: F.cross_entropy(net(x), y), 20)


def graph():
    x, stream, captured = torch.zeros(1000, device="cuda"), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        x.add_(1)
    torch.cuda.synchronize()
    with torch.cuda.graph(captured):
        x.mul_(2)
        x.add_(1)
    for _ in range(5):
        captured.replay()
    print("replayed", x.sum().item())


def streams():
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    x = torch.zeros(1 << 20, device="cuda")
    torch.cuda.synchronize()
    for step in range(200):
        with torch.cuda.stream(first):
            x.mul_(3).add_(1)
            done = first.record_event()
        second.wait_event(done)
        with torch.cuda.stream(second):
            x.remainder_(1009)
            done = second.record_event()
        first.wait_event(done)
    torch.cuda.synchronize()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    x.add_(1)
    end.record()
    end.synchronize()
    print("value", x[0].item(), "time passes", 0 < start.elapsed_time(end) < 1000)


def memory():
    pieces = [torch.full((1 << 24,), n, device="cuda", dtype=torch.int32) for n in range(20)]
    pinned = torch.arange(1 << 20).pin_memory()
    moved = pinned.to("cuda", non_blocking=True)
    print("sums", [p[::4096].sum().item() for p in pieces[:3]], moved.sum().item())
    try:
        torch.empty(1 << 45, device="cuda")
    except torch.OutOfMemoryError:
        print("out of memory, and after it", torch.ones(10, device="cuda").sum().item())


def expandable():
    """Segments that grow and shrink: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True."""
    total = 0
    for step in range(1, 6):
        pieces = [torch.full((step << 20,), n + step, device="cuda", dtype=torch.int32) for n in range(30)]
        total += sum(p[:: 1 << 18].sum().item() for p in pieces[:: step + 1])
        del pieces[::2]
        torch.cuda.empty_cache()
        grown = torch.ones(step << 23, device="cuda")
        total += int(grown.sum().item())
    is_expandable = any(segment["is_expandable"] for segment in torch.cuda.memory_snapshot())
    print("sum", total, "expandable", is_expandable)
    mlp()


def compiled():
    f = torch.compile(lambda x: (x.sin() + 1).sum(1))
    x = R(64, 512)
    print("right", torch.allclose(f(x.cuda()).cpu(), (x.sin() + 1).sum(1), atol=1e-3))


def triton():
    import triton
    import triton.language as tl
    from driver_triton import add

    x, y = R(10000).cuda(), R(10000).cuda()
    out = torch.empty_like(x)
    add[(triton.cdiv(10000, 1024),)](x, y, out, 10000, BLOCK=1024)
    print("equal", torch.equal(out, x + y), tl.__name__)


def threads():
    from concurrent.futures import ThreadPoolExecutor

    def work(n):
        with torch.cuda.stream(torch.cuda.Stream()):
            x = torch.full((1000,), float(n), device="cuda")
            for _ in range(50):
                x = x * 2 - n
            return x.sum().item()

    with ThreadPoolExecutor(16) as pool:
        print("sums", list(pool.map(work, range(64))))


if __name__ == "__main__":
    sys.exit(min(globals()[sys.argv[1]]() or 0, 1))
