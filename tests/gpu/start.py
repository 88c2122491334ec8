#!/usr/bin/env python3
"""What a recording costs a whole program, from before its start to its end: plain, and with each way of cutap, in random order.

    tests/gpu/start.py --cutap CUTAP [--old CUTAP] [--rounds N] [--way WAY]... NAME PROGRAM [ARGUMENT...]

With --way only these ways are run, beside plain. With --old the layer `syscall` is recorded by that cutap too. Runs of one program differ by 5 % on the same machine: with N rounds
a median is known to 1.25 * 5 % / sqrt(N).
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time


def ways(cutap, old, folder, program):
    def record(by, layers):
        return [by, "record", "-e", layers, "-o", f"{folder}/run.cutap", "--force", "--", *program]

    yield "plain", program
    yield "kernel", record(cutap, "syscall")
    if old:
        yield "kernel, old", record(old, "kernel")
    yield "driver,runtime", record(cutap, "driver,runtime")
    yield "syscall,driver,runtime", record(cutap, "syscall,driver,runtime")
    traced = [cutap, "syscall", "trace", "--ptrace"]
    yield "ptrace", [*traced, "-o", f"{folder}/trace", "--", *program]
    yield "ptrace, JSON", [*traced, "--json", "-o", f"{folder}/trace", "--", *program]


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--cutap", required=True)
    words.add_argument("--old")
    words.add_argument("--rounds", type=int, default=21)
    words.add_argument("--way", action="append", default=[])
    words.add_argument("name")
    words.add_argument("program", nargs=argparse.REMAINDER)
    given = words.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        commands = dict(ways(given.cutap, given.old, folder, given.program))
        unknown = set(given.way) - set(commands)
        if unknown:
            sys.exit(f"start.py: there is no way {', '.join(sorted(unknown))}; give one of: {', '.join(commands)}")
        if given.way:
            commands = {way: command for way, command in commands.items() if way == "plain" or way in given.way}
        taken = {way: [] for way in commands}
        subprocess.run(given.program, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        order = random.Random(given.rounds)
        for _ in range(given.rounds):
            for way in order.sample(sorted(commands), len(commands)):
                begun = time.monotonic()
                done = subprocess.run(commands[way], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                taken[way].append((time.monotonic() - begun) * 1000)
                if done.returncode != 0:
                    sys.exit(f"{given.name}, {way}: ended with {done.returncode}")
    plain = statistics.median(taken["plain"])
    print(f"{given.name}: whole process, {given.rounds} rounds, plain median {plain:.1f} ms")
    for way, all_taken in taken.items():
        median, least, most = statistics.median(all_taken), min(all_taken), max(all_taken)
        print(f"  {way}: {median:.1f} ms ({least:.0f} to {most:.0f}), {100 * (median / plain - 1):+.1f} %")


main()
