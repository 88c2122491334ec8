#!/usr/bin/env python3
"""How fast a recording is read, and in how much memory: report, show and export on a file of many calls.

    benches/reading.py --cutap CUTAP --stretch STRETCH --recording SHORT.cutap [--calls N] [--slow-calls N]
                       [--rounds N] [--out FILE.md]

STRETCH is crates/trace/examples/stretch.rs; it makes a recording of --calls calls (100 million) out of a short one, whose calls
come again and again at later times. --slow-calls (2 million) is for what reads every argument; with as many as
--calls it is the same file. What is written goes to /dev/null. Wall time and the largest
resident memory are the kernel's account of the process; the medians over the rounds are written. Standard library only.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time


def measured(command):
    """Wall seconds, processor seconds, largest resident MiB."""
    with open(os.devnull, "w") as nothing:
        begun = time.monotonic()
        process = subprocess.Popen(command, stdout=nothing, stderr=nothing)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} failed: {process.returncode}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--cutap", required=True)
    words.add_argument("--stretch", required=True)
    words.add_argument("--recording", required=True)
    words.add_argument("--calls", type=int, default=100_000_000)
    words.add_argument("--slow-calls", type=int, default=2_000_000)
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--out")
    words = words.parse_args()
    folder = tempfile.mkdtemp(prefix="cutap-reading-", dir=os.path.dirname(os.path.abspath(words.recording)))
    lines = []
    try:
        files = {}
        for name, calls in (("large", words.calls), ("small", words.slow_calls)):
            if name == "small" and calls == words.calls:
                files[name] = files["large"]
                continue
            path = os.path.join(folder, name)
            said = subprocess.run([words.stretch, words.recording, path, str(calls)], check=True, capture_output=True, text=True)
            files[name] = (path, int(said.stdout.split()[0]), os.path.getsize(path))
        for label, name, arguments in [
            ("report", "large", ["report"]),
            ("report --by thread", "large", ["report", "--by", "thread"]),
            ("report --tree", "large", ["report", "--tree"]),
            ("report --errors", "large", ["report", "--errors"]),
            ("show -c", "small", ["show", "-c"]),
            ("show", "small", ["show"]),
            ("report --leaks", "small", ["report", "--leaks"]),
            ("export --perfetto", "small", ["export", "--perfetto", os.devnull]),
        ]:
            path, calls, size = files[name]
            rounds = [measured([words.cutap, *arguments, path]) for _ in range(words.rounds)]
            wall, processor = (statistics.median(r[n] for r in rounds) for n in (0, 1))
            most = max(r[2] for r in rounds)
            lines.append(f"| {label} | {calls / 1e6:.1f} | {wall:.2f} | {processor:.2f} | {calls / wall / 1e6:.2f} | {most:.0f} |")
            print(lines[-1], flush=True)
        path, calls, size = files["large"]
        head = [
            f"# Reading, {time.strftime('%Y-%m-%d')}",
            "",
            f"{platform.processor() or platform.machine()}, {len(os.sched_getaffinity(0))} processors, load {os.getloadavg()[0]:.1f} at the end. "
            f"`{os.path.basename(words.recording)}` stretched: {calls} calls in {size} bytes ({size / calls:.1f} a call).",
            "",
            "| command | million calls | wall s | processor s | million calls a second | largest resident MiB |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        if words.out:
            with open(words.out, "w") as file:
                file.write("\n".join(head + lines) + "\n")
    finally:
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
        os.rmdir(folder)


main()
