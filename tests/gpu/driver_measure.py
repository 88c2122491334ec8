#!/usr/bin/env python3
"""What cutap's driver costs beside NVIDIA's, measured in turns: medians, ratios and goals as a table.

    driver_measure.py CUTAP OUT [--rounds N] [--part PART]...

Parts: first launch streams graph bandwidth use static ioctls torch; without one all, in about eight minutes. CUBIN names
kernels-12.9-sm_90.cubin of crates/cudest/tests/cubins, where it is not beside this folder. A round runs each program once with
each driver; the driver that begins changes from round to round. OUT gets each value. A timing is no test: the exit code is
0 unless a program failed."""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"

# Value: what it is, its unit, the goal for ours divided by theirs.
ROWS = {
    "first": ("main to the first result, driver API", "ms", 1 / 20),
    "first_static": ("main to the first result, static runtime", "ms", 1 / 8),
    "import_tensor": ("import of PyTorch and the first tensor", "ms", None),
    "launch_call": ("launch call", "us", 0.5),
    "launch_wait": ("launch and wait", "us", 0.6),
    "queued": ("queued ordered launches, each", "us", None),
    "ordered_1": ("ordered launches a second, 1 stream", "", 1.5),
    "ordered_16": ("ordered launches a second, 16 streams", "", None),
    "graph_call": ("launch call of a graph of 20 kernels", "us", None),
    "graph_wait": ("graph launch and wait", "us", None),
    "graph_each": ("graphs in a row, each", "us", None),
    "record": ("event record", "us", None),
    "step_gpt": ("training step, GPT in bfloat16", "ms", 1.05),
    "step_small": ("training step, 20 small layers", "ms", 1.05),
    "step_large": ("training step, 8 layers of 4096", "ms", 1.05),
    "memory": ("GPU memory of a context with 16 streams", "MiB", 0.1),
    "ioctls": ("requests to the kernel driver until the end (goal: 80)", "", None),
}


def parse(text):
    return {name: float(value) for name, value in re.findall(r"\b([a-z]\w*)=([-+.\d]+)", text)}


class Bench:
    def __init__(self, cutap, out, cubin):
        self.cutap, self.out, self.cubin, self.failures = cutap, out, cubin, []
        self.program = self.built("libcuda_", ["gcc", "-O2", "-o", "libcuda_", str(HERE / "cudest_libcuda.c"), "-ldl"])
        nvcc = shutil.which("nvcc") or next(iter(sorted(map(str, Path("/usr/local").glob("cuda*/bin/nvcc")))), None)
        static = [nvcc, "-O2", "-cudart", "static", "-arch=sm_90", "-o", "first_static", str(PROGRAMS / "driver_first.cu")]
        self.static = self.built("first_static", static) if nvcc else None

    def built(self, name, command):
        done = subprocess.run(command, cwd=self.out, capture_output=True, text=True)
        if done.returncode:
            print(f"SKIP {name}: {done.stderr.strip()[:200]}")
            return None
        return str(self.out / name)

    def run(self, ours, command, limit=120):
        words = [self.cutap, "run", "--cudest", "--"] if ours else []
        environment = dict(os.environ, PYTHONPATH=str(PROGRAMS))
        try:
            done = subprocess.run([*words, *command], cwd=self.out, capture_output=True, text=True, env=environment, timeout=limit)
        except subprocess.TimeoutExpired:
            self.failures.append(f"{'ours' if ours else 'theirs'}: {' '.join(command)[-80:]}: more than {limit} s")
            return {}, ""
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["?"])[-1]
            self.failures.append(f"{'ours' if ours else 'theirs'}: {' '.join(command)[-80:]}: exit {done.returncode}: {last[:200]}")
            return {}, ""
        return parse(done.stdout), done.stdout

    def part(self, part, ours):
        if part == "torch":
            return self.run(ours, [sys.executable, str(PROGRAMS / "driver_steps.py")])[0]
        if part == "static":
            return self.run(ours, [self.static])[0] if self.static else {}
        if self.program is None:
            return {}
        if part == "ioctls":
            count = self.requests(ours)
            if count == 0:
                self.failures.append(f"{'ours' if ours else 'theirs'}: no request to the kernel driver was recorded")
            return {"ioctls": count} if count else {}
        if part == "use":
            idle = int(subprocess.run(SMI, capture_output=True, text=True).stdout.split()[0])
            text = self.run(ours, [self.program, self.cubin, "use"])[1]
            used = re.search(r"MiB: (\d+)", text)
            return {"memory": int(used.group(1)) - idle} if used else {}
        return self.run(ours, [self.program, self.cubin, part])[0]

    def requests(self, ours):
        """Requests that `cutap record -e syscall` sees."""
        recording = self.out / "requests.cutap"
        words = [self.cutap, "record", "-q", *(["--cudest"] if ours else []), "-e", "syscall", "-o", str(recording)]
        recording.unlink(missing_ok=True)
        subprocess.run([*words, "--", self.program, self.cubin, "first"], cwd=self.out, capture_output=True, timeout=60)
        shown = subprocess.run([self.cutap, "show", "-a", "-e", "syscall", str(recording)], capture_output=True, text=True)
        # A request that lasts long is shown as a call of ioctl.
        request = re.compile(r"\[syscall\] .*\b(NV_ESC_|UVM_)|\] ioctl\(fd=")
        return sum(bool(request.search(line)) for line in shown.stdout.splitlines())


SMI = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cutap")
    parser.add_argument("out")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--part", action="append")
    options = parser.parse_args()
    out = Path(options.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    cubins = HERE / "../../crates/cudest/tests/cubins/kernels-12.9-sm_90.cubin"
    bench = Bench(str(Path(options.cutap).resolve()), out, str(Path(os.environ.get("CUBIN", cubins)).resolve()))
    all_parts = ["first", "static", "launch", "streams", "graph", "bandwidth", "use", "ioctls", "torch"]
    values = {}
    # Short programs are run more often.
    often = {"first": 3, "static": 3, "torch": 1, "ioctls": 1, "use": 1}
    begin = time.monotonic()
    for number in range(options.rounds):
        for part in options.part or all_parts:
            if part in ("ioctls", "use", "bandwidth") and number > 1:
                continue
            for _ in range(often.get(part, 1)):
                for ours in (number % 2 == 1, number % 2 == 0):
                    for name, value in bench.part(part, ours).items():
                        values.setdefault(name, ([], []))[int(ours)].append(value)
        print(f"round {number + 1}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    print(subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout)
    print("| | NVIDIA's | ours | ratio | goal | values |\n| --- | ---: | ---: | ---: | ---: | --- |")
    known = [name for name in ROWS if name in values] + sorted(name for name in values if name not in ROWS and name != "bad")
    for name in known:
        title, unit, goal = ROWS.get(name, (name, "", None))
        theirs, ours = values[name]
        if not theirs or not ours:
            print(f"| {title} | {len(theirs)} values | {len(ours)} values | | | |")
            continue
        one, other = statistics.median(theirs), statistics.median(ours)
        ratio = f"{other / one:.3f}" if one else ""
        goal = "" if goal is None else f"{goal:.2f}"
        each = "; ".join(", ".join(f"{value:g}" for value in side) for side in (theirs, ours))
        print(f"| {title}{', ' + unit if unit else ''} | {one:g} | {other:g} | {ratio} | {goal} | {each} |")
    for failure in sorted(set(bench.failures)):
        print("FAILED", failure)
    return int(bool(bench.failures))


if __name__ == "__main__":
    sys.exit(main())
