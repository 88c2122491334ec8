#!/usr/bin/env python3
"""What recording costs PyTorch, measured so that a machine that changes its speed between processes does not matter.

    benches/paired.py --cutap CUTAP [--python PYTHON] [--blocks N] [--steps N] [--starts N] [--seconds N] [--out FILE.md]
                      [--raw FILE.json] [--sim] [--name MACHINE]

Steps: one process under `cutap record` trains 20 small linear layers (SGD, batch 64) in blocks of steps; before each block
`cutap ctl PID off` or `on` switches recording, in turns. Off, calls go to the driver by one jump. The difference of two blocks that
follow each other is what recording costs; the report has the median of those.
Starts: `import torch` with one tensor on the device, plain and recorded in turns, by the clock from the command on (which is what
counts) and from the import on, and by the processor time of the process itself. Another process holds a context of its own meanwhile,
so that no start has to wake the device. Of the differences of pairs the report has the Hodges-Lehmann estimate with its interval
(Wilcoxon's signed ranks), which is what counts, and beside it their median, the difference of the medians and that of the quickest
quarters. --raw keeps the single starts. A timing is no test.
"""

import argparse
import datetime
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from overhead import Bench

LOOP = """
import json, os, subprocess, sys, time
import torch
cutap, blocks, each = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(20)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(64, 64, device="cuda"), torch.randn(64, 64, device="cuda")
def step():
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    torch.cuda.synchronize()
for n in range(20):
    step()
pairs = []
for block in range(blocks):
    medians = []
    for word in ("off", "on"):
        subprocess.run([cutap, "ctl", str(os.getpid()), word], stdout=subprocess.DEVNULL, check=True)
        for n in range(3):
            step()
        times = []
        for n in range(each):
            begin = time.perf_counter()
            step()
            times.append(time.perf_counter() - begin)
        medians.append(sorted(times)[each // 2] * 1e6)
    pairs.append(medians)
print("PAIRS " + json.dumps(pairs))
"""

HOLDER = """
import sys, torch
torch.ones(1, device="cuda")
print("here", flush=True)
sys.stdin.read()
"""

START = """
import sys, time
begin = time.perf_counter()
import torch
torch.ones(1, device="cuda")
torch.cuda.synchronize()
end, used = time.perf_counter(), time.process_time()
print("START", *(round(s * 1e3, 1) for s in (end - float(sys.argv[1]), end - begin, used)))
"""


def run(words, marker, env=None):
    done = subprocess.run(words, capture_output=True, text=True, env=env)
    lines = [l for l in done.stdout.splitlines() if l.startswith(marker)]
    if done.returncode != 0 or not lines:
        sys.exit(f"paired.py: {' '.join(words[:3])} ... gave exit {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
    return lines[0][len(marker) + 1 :]


def spread(values):
    """Median, and where its middle half lies."""
    q = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
    return f"{q[1]:.0f} [{q[0]:.0f} to {q[2]:.0f}]"


def steps(o, work):
    file = os.path.join(work, "steps.cutap")
    words = [o.cutap, "record", *(["--sim"] if o.sim else []), "-o", file, "--", o.python, "-c", LOOP, o.cutap]
    pairs = json.loads(run([*words, str(o.blocks), str(o.steps)], "PAIRS"))
    off, more = [p[0] for p in pairs], [p[1] - p[0] for p in pairs]
    shown = subprocess.run([o.cutap, "show", "-c", "--json", file], capture_output=True, text=True, check=True).stdout
    calls = sum(json.loads(l).get("calls", 0) for l in shown.splitlines() if l.startswith("{"))
    on = (o.blocks * (o.steps + 3) + 20) or 1
    yield f"- A step with recording off: {spread(off)} us; longer with it on: {spread(more)} us, {statistics.median(more) / statistics.median(off) * 100:.1f} %"
    yield f"  ({o.blocks} pairs of blocks of {o.steps} steps; median and middle half). About {calls // on} calls a step are recorded: {statistics.median(more) * 1000 / max(1, calls // on):.0f} ns each."


def starts(o, work):
    file = os.path.join(work, "start.cutap")
    rows, begin = [], time.monotonic()
    bench = Bench(argparse.Namespace(cutap=o.cutap, program=None, sim=o.sim, built=None, burst=0, bursts=0, sustained=0, cudart=None), work)
    environments = [bench.environment(), None]
    holder = subprocess.Popen([o.python, "-c", HOLDER], env=environments[0], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdout.readline()
    try:
        for n in range(o.starts):
            if n > 2 and time.monotonic() - begin > o.seconds:
                break
            # Each is first as often as the other.
            pair = [None, None]
            for which in ((0, 1) if n % 2 else (1, 0)):
                words = [*([*bench.tool("record", "-o", file), "--"] if which else []), o.python, "-c", START, str(time.perf_counter())]
                pair[which] = [float(w) for w in run(words, "START", environments[which]).split()]
            # The first finds files that nobody has read yet.
            if n:
                rows.append(pair)
    finally:
        holder.communicate(b"")
    if o.raw:
        with open(o.raw, "w", encoding="utf-8") as f:
            f.write("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    for n, what in enumerate(("from the command on", "from the import on", "processor time")):
        plain, later = ([p[which][n] for p in rows] for which in (0, 1))
        more, median = [b - a for a, b in zip(plain, later)], statistics.median(plain)
        part = lambda ms: f"{ms:.0f} ms, {ms / median * 100:.1f} %"  # noqa: E731
        # What else the machine does only makes a start longer, so the quick ones tell most.
        quick = [statistics.mean(sorted(v)[: max(1, len(v) // 4)]) for v in (plain, later)]
        middle, low, high = hodges_lehmann(more)
        yield f"- `import torch` and one tensor, {what}: {spread(plain)} ms plain; longer recorded: {part(middle)}, between {part(low)} and {part(high)} 19 times of 20 ({len(rows)} pairs)."
        yield f"  Differences of pairs: {spread(more)} ms. Medians differ by {part(statistics.median(later) - median)}; means of the quickest quarters ({quick[0]:.0f} ms plain) by {part(quick[1] - quick[0])}; the quickest of all ({min(plain):.0f} ms plain) by {part(min(later) - min(plain))}."


def hodges_lehmann(values):
    """The median of the means of all pairs of values, and where it lies 19 times of 20."""
    means = sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])
    n = len(values)
    out = max(0, int(n * (n + 1) / 4 - 1.96 * math.sqrt(n * (n + 1) * (2 * n + 1) / 24)))
    return statistics.median(means), means[out], means[-1 - out]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cutap", required=True)
    parser.add_argument("--python", default=shutil.which("python3") or sys.executable, help="a Python with PyTorch")
    parser.add_argument("--blocks", type=int, default=60, help="pairs of blocks of steps; 0: none")
    parser.add_argument("--steps", type=int, default=10, help="steps of a block")
    parser.add_argument("--starts", type=int, default=11, help="pairs of starts; 0: none")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no pair of starts after these")
    parser.add_argument("--raw", help="write the single starts there: plain and recorded, each from the command on, from the import on, and processor time, in ms")
    parser.add_argument("--sim", action="store_true", help="on the simulated driver")
    parser.add_argument("--out", help="write the report there too")
    parser.add_argument("--name", default=platform.node(), help="what to call this machine")
    o = parser.parse_args()
    o.cutap = os.path.abspath(o.cutap)
    head = f"# What recording costs PyTorch, in pairs, {datetime.date.today().isoformat()}, {o.name}\n\n{os.cpu_count()} cores, Linux {platform.release()}. `benches/paired.py` says how.\n"
    with tempfile.TemporaryDirectory(prefix="cutap-paired.") as work:
        lines = [*(steps(o, work) if o.blocks else []), *(starts(o, work) if o.starts else [])]
    text = head + "\n" + "\n".join(lines) + "\n"
    print(text, end="")
    if o.out:
        with open(o.out, "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main()
