#!/usr/bin/env python3
"""What recording costs PyTorch, measured so that a machine that changes its speed between processes does not matter.

    benches/paired.py --cutap CUTAP [--python PYTHON] [--blocks N] [--steps N] [--starts N] [--seconds N] [--streams N] [--program OVERHEAD]
                      [--sim] [--out FILE.md] [--name MACHINE]

Steps: one process under `cutap record` trains 20 small linear layers (SGD, batch 64) in blocks of steps; before each block
`cutap ctl PID off` or `on` switches recording, in turns. Off, calls go to the driver by one jump. The difference of two blocks that
follow each other is what recording costs; the report has the median of those.
Calls: the same for single calls, recorded and counted, with `overhead --switch` (benches/overhead.c), also in pairs of time stamp
readings. Off, a linked-in runtime reports nothing: what it does because it reports is in the difference.
Starts: `import torch` with one tensor on the device, plain and recorded in turns, by the clock and by the processor time of the
process itself. A timing is no test.
"""

import argparse
import concurrent.futures
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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "gpu"))
import machine  # noqa: E402

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

START = """
import os, sys, time
begin = time.perf_counter()
import torch
torch.ones(1, device="cuda")
torch.cuda.synchronize()
took = time.perf_counter() - begin
used = os.times()
print("START", took * 1e3, (used.user + used.system) * 1e3)
"""


def run(words, marker):
    done = subprocess.run(words, capture_output=True, text=True)
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


def calls(o, work):
    cudart = machine.find_cudart()
    if cudart:
        os.environ.setdefault("OVERHEAD_CUDART", cudart)
    file, marker = os.path.join(work, "calls.cutap"), '{"two_timestamps":'
    for what, how in (("recorded", ["record", "-o", file]), ("counted", ["trace", "-C", "-o", "/dev/null"])):
        words = [o.cutap, *how, *(["--sim"] if o.sim else []), "--", os.path.abspath(o.program), "--switch", o.cutap]
        found = json.loads(marker + run([*words, "--burst", "2000", "--bursts", str(o.bursts)], marker))
        pair = found["two_timestamps"]
        yield f"- Single calls, longer when {what} than when off ({o.bursts} pairs of bursts of 2000; median and middle half). Two time stamps: {pair:.1f} ns."
        for name, c in found["calls"].items():
            yield f"  - {name}: {c['more']:.0f} [{c['least']:.0f} to {c['most']:.0f}] ns, {c['more'] / pair:.1f} pairs of time stamps"


def starts(o, work):
    file = os.path.join(work, "start.cutap")
    rows, begin = [], time.monotonic()

    def stream(n_of_stream):
        """Pairs one after the other, on processors of their own if there are several such streams."""
        cores = sorted(os.sched_getaffinity(0))
        part = len(cores) // o.streams
        alone = ",".join(str(c) for c in cores[n_of_stream * part :][:part])
        on = ["taskset", "-c", alone] if o.streams > 1 else []
        recorded = [o.cutap, "record", "-o", f"{file}-{n_of_stream}", "--"]
        for n in range(o.starts):
            if n > 1 and time.monotonic() - begin > o.seconds:
                break
            # Each is first as often as the other.
            pair = [None, None]
            for which in ((0, 1) if n % 2 else (1, 0)):
                before = recorded if which else []
                pair[which] = [float(w) for w in run([*on, *before, o.python, "-c", START], "START").split()]
            rows.append(pair)

    with concurrent.futures.ThreadPoolExecutor(o.streams) as pool:
        list(pool.map(stream, range(o.streams)))
    for n, what in enumerate(("by the clock", "of its processor time")):
        plain, later = ([p[which][n] for p in rows] for which in (0, 1))
        more, median = [b - a for a, b in zip(plain, later)], statistics.median(plain)
        part = lambda ms: f"{ms:.0f} ms, {ms / median * 100:.1f} %"  # noqa: E731
        # What else the machine does only makes a start longer, so the quick ones tell most.
        quick = [statistics.mean(sorted(v)[: max(1, len(v) // 4)]) for v in (plain, later)]
        yield f"- `import torch` and one tensor, {what}: {spread(plain)} ms plain; longer recorded, median of the differences: {spread(more)} ms, {statistics.median(more) / median * 100:.1f} % ({len(rows)} pairs)."
        # By how many values lie above and below, whatever the values are distributed like.
        out = max(0, int(len(more) / 2 - 0.98 * math.sqrt(len(more))))
        low, high = (sorted(more)[at] / median * 100 for at in (out, len(more) - 1 - out))
        yield f"  The median of the differences is between {low:.1f} and {high:.1f} %, 19 times of 20; of {o.streams} at once."
        yield f"  Medians differ by {part(statistics.median(later) - median)}; means of the quickest quarters ({quick[0]:.0f} ms plain) by {part(quick[1] - quick[0])}; the quickest of all ({min(plain):.0f} ms plain) by {part(min(later) - min(plain))}."


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cutap", required=True)
    parser.add_argument("--python", default=shutil.which("python3") or sys.executable, help="a Python with PyTorch")
    parser.add_argument("--blocks", type=int, default=60, help="pairs of blocks of steps; 0: none")
    parser.add_argument("--steps", type=int, default=10, help="steps of a block")
    parser.add_argument("--program", help="overhead, as benches/build.sh builds it")
    parser.add_argument("--bursts", type=int, default=31, help="pairs of bursts of a call")
    parser.add_argument("--starts", type=int, default=11, help="pairs of starts; 0: none")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no pair of starts after these")
    parser.add_argument("--streams", type=int, default=1, help="so many pairs of starts at once, each on cores of its own")
    parser.add_argument("--sim", action="store_true", help="steps on the simulated driver; starts need a GPU")
    parser.add_argument("--out", help="write the report there too")
    parser.add_argument("--name", default=platform.node(), help="what to call this machine")
    o = parser.parse_args()
    o.cutap = os.path.abspath(o.cutap)
    head = f"# What recording costs PyTorch, in pairs, {datetime.date.today().isoformat()}, {o.name}\n\n{os.cpu_count()} cores, Linux {platform.release()}. `benches/paired.py` says how.\n"
    with tempfile.TemporaryDirectory(prefix="cutap-paired.") as work:
        lines = [*(calls(o, work) if o.program else []), *(steps(o, work) if o.blocks else []), *(starts(o, work) if o.starts and not o.sim else [])]
    text = head + "\n" + "\n".join(lines) + "\n"
    print(text, end="")
    if o.out:
        with open(o.out, "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main()
