#!/usr/bin/env python3
"""What recording costs a small-kernel PyTorch training loop: 20 linear layers, SGD, batch 64.

    benches/training.py --cutap CUTAP [--python PYTHON] [--built DIR] [--rounds N] [--steps N]
                        [--columns NAME,...] [--out FILE.md] [--name MACHINE]

Each round runs the loop once in each column, in turns: plain, recorded by cutap into a file (all layers),
under CUPTI callbacks, under Nsight Systems where it is. Needs a GPU and PyTorch; --built is the folder that
benches/build.sh filled. A column that cannot be measured here says why. A timing is no test.
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

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from overhead import NotHere, cell, measure, notes, nsys_bytes, nsys_words, processor  # noqa: E402
import machine  # noqa: E402

# Printed by the loop: seconds from the start of the process to the first tensor on the GPU, and each step.
LOOP = """
import sys, time, os
begin = float(sys.argv[1])
import torch
first = torch.ones(1, device="cuda")
torch.cuda.synchronize()
ready = time.time() - begin
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(20)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(64, 64, device="cuda"), torch.randn(64, 64, device="cuda")
steps = []
for n in range(int(sys.argv[2])):
    start = time.perf_counter()
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    torch.cuda.synchronize()
    steps.append(time.perf_counter() - start)
import json
print("LOOP " + json.dumps({"ready": ready, "steps": steps[len(steps) // 5:]}))
"""


class Loop:
    """The loop, and where its columns write."""

    def __init__(self, options, work):
        self.cutap, self.python, self.built, self.work = options.cutap, options.python, options.built, work
        self.steps = options.steps

    def run(self, before=(), **env):
        command = [*before, self.python, "-c", LOOP, repr(time.time()), str(self.steps)]
        done = subprocess.run(command, env=dict(os.environ, **env), capture_output=True, text=True)
        lines = [l for l in done.stdout.splitlines() if l.startswith("LOOP ")]
        if done.returncode != 0 or not lines:
            raise NotHere(f"exit {done.returncode}: {(done.stderr or done.stdout).strip()[-200:]}")
        result = json.loads(lines[0][5:])
        return {"step": statistics.median(result["steps"]) * 1e6, "ready": result["ready"] * 1e3}


def recorded(loop):
    file = os.path.join(loop.work, "run.cutap")
    result = loop.run([loop.cutap, "record", "-o", file, "--"])
    result["file"] = os.path.getsize(file)
    if not os.path.exists(loop.work + "/calls"):
        # Once: how many calls such a file holds.
        rows = subprocess.run([loop.cutap, "show", "-c", "--json", file], capture_output=True, text=True, check=True).stdout
        with open(loop.work + "/calls", "w", encoding="utf-8") as f:
            f.write(str(sum(json.loads(l).get("calls", 0) for l in rows.splitlines() if l.startswith("{"))))
    with open(loop.work + "/calls", encoding="utf-8") as f:
        result["calls"] = int(f.read())
    os.remove(file)
    return result


def cupti(loop):
    library = machine.find_cupti()
    if library is None:
        raise NotHere("there is no CUPTI")
    injected = os.path.join(loop.built, "cupti_overhead.so")
    if not os.path.exists(injected):
        raise NotHere("cupti_overhead.so is not built")
    return loop.run(CUDA_INJECTION64_PATH=injected, CUPTI_LIB=library, CUPTI_MODE="callback")


def nsys(loop):
    words, output = nsys_words(loop.work)
    result = loop.run(words)
    result["file"] = nsys_bytes(output)
    return result


COLUMNS = {"plain": Loop.run, "recorded": recorded, "CUPTI callbacks": cupti, "Nsight Systems": nsys}


def report(results, missing):
    """The lines of the table."""
    base = {what: statistics.median(r[what] for r in results["plain"]) for what in ("step", "ready")}
    yield "| column | median step, us | longer than plain | to the first tensor, ms | longer than plain |"
    yield "| --- | --- | --- | --- | --- |"
    for name, rows in results.items():
        words = []
        for what in ("step", "ready"):
            middle = statistics.median(r[what] for r in rows)
            words += [cell([r[what] for r in rows]), f"{(middle / base[what] - 1) * 100:+.1f} %"]
        yield f"| {name} | " + " | ".join(words) + " |"
    yield ""
    for row in results.get("recorded", [])[:1]:
        yield f"- One recording: {row['calls']} calls in {row['file']} bytes, {row['file'] / max(1, row['calls']):.1f} bytes a call."
    yield from notes(results, missing)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cutap", required=True)
    parser.add_argument("--python", default=shutil.which("python3") or sys.executable, help="a Python with PyTorch")
    parser.add_argument("--built", default=HERE, help="folder of the libraries of this bench")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no round after these")
    parser.add_argument("--steps", type=int, default=500, help="training steps; the first fifth is not counted")
    parser.add_argument("--columns", help="only these, and plain")
    parser.add_argument("--out", help="write the report there too")
    parser.add_argument("--name", default=platform.node(), help="what to call this machine")
    options = parser.parse_args()
    options.cutap = os.path.abspath(options.cutap)
    asked = [c.strip() for c in options.columns.split(",")] if options.columns else list(COLUMNS)
    for name in asked:
        if name not in COLUMNS:
            parser.error(f"no column {name!r}; there are: {', '.join(COLUMNS)}")
    names = [c for c in COLUMNS if c == "plain" or c in asked]
    with tempfile.TemporaryDirectory(prefix="cutap-training.") as work:
        results, missing = measure(COLUMNS, Loop(options, work), names, options.rounds, options.seconds)
    if "plain" not in results:
        sys.exit(f"training.py: the loop does not run plain: {missing.get('plain')}")
    head = [
        f"# What recording costs PyTorch training, {datetime.date.today().isoformat()}, {options.name}",
        "",
        f"20 linear layers of 64, SGD, batch 64; {len(results['plain'])} rounds in turns, {options.steps} steps each, the first fifth not counted. "
        f"{os.cpu_count()} cores ({processor()}), Linux {platform.release()}. Median over the rounds [least to most]. `benches/training.py`.",
        "",
    ]
    text = "\n".join([*head, *report(results, missing)]) + "\n"
    print(text, end="")
    if options.out:
        with open(options.out, "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main()
