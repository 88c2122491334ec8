"""Interleaved rounds of a program that prints a time: plain, under cutap, Nsight Systems and others; medians with
spread.
"""

import os
import re
import statistics
import time

import tools
from tools import result, say

NUMBER = re.compile(r"^\d+(?:\.\d+)?$", re.MULTILINE)
ROUNDS = tools.number("ROUNDS", 7)
PLAIN, RECORD, GPU_TIME, NSYS = "plain", "record", "record --gpu-time", "Nsight Systems"


def methods(name, command, more):
    """What runs the program in each way: label and a function that gives a Run."""
    ways = {
        PLAIN: lambda: tools.plain(command),
        RECORD: lambda: tools.record(name, command, flags=("-q",)),
        GPU_TIME: lambda: tools.record(name, command, flags=("-q", "--gpu-time")),
    }
    if nsys := tools.machine.find_nsys():
        report = os.path.join(tools.WORK, "nsys." + name)
        flags = [
            "--trace=cuda",
            "--cuda-graph-trace=node",
            "--sample=none",
            "--cpuctxsw=none",
            "--force-overwrite=true",
        ]
        ways[NSYS] = lambda: tools.run([nsys, "profile", *flags, "-o", report, *command])
    for label, other in more.items():
        ways[label] = lambda other=other: tools.plain(other)
    return ways


def rounds(ways, seconds):
    """Times of each way, in rounds. A round that would end after the limit of time is not begun."""
    times, longest = {}, 0
    begin = time.monotonic()
    for number in range(ROUNDS):
        now = time.monotonic()
        if number and now + longest - begin > seconds:
            break
        # Each round begins with another way.
        labels = list(ways)
        for label in labels[number % len(labels) :] + labels[: number % len(labels)]:
            done = ways[label]()
            if found := NUMBER.findall(done.out):
                times.setdefault(label, []).append(float(found[-1]))
            elif label not in times:
                say(f"  {label}: no number; {done.last_error()}")
        longest = max(longest, time.monotonic() - now)
    return times


def table(name, unit, ways, times, nsys):
    """Prints the times; their medians, and what each way adds to the plain one."""
    count = max(map(len, times.values()), default=0)
    say(f"  {name}: {unit}, {count} rounds; what it adds to plain by medians, and of what Nsight Systems adds")
    say(f"  {'':20}{'median':>10}{'least':>10}{'most':>10}{'adds':>10}{'of nsys':>9}")
    middle = {label: statistics.median(of) for label, of in times.items()}
    added = {label: of - middle.get(PLAIN, 0) for label, of in middle.items()}
    numbers = lambda label: (middle[label], min(times[label]), max(times[label]), added[label])  # noqa: E731
    for label in ways:
        if label in times:
            of = f"{added[label] / added[nsys]:.2f}" if added.get(nsys, 0) > 0 and label != PLAIN else ""
            say(f"  {label:20}" + "".join(f"{us:>10.2f}" for us in numbers(label)) + f"{of:>9}")
    return middle, added


def measure(name, unit, command, more=(), seconds=200):
    """Prints the table and says whether the goal of --gpu-time is reached."""
    ways = methods(name, command, dict(more))
    times = rounds(ways, seconds)
    _, added = table(name, unit, ways, times, NSYS)
    if not {PLAIN, GPU_TIME} <= times.keys():
        result(False, "cost " + name, "no times")
    elif NSYS not in times:
        result(None, "cost " + name, f"adds {added[GPU_TIME]:.2f}; no Nsight Systems to compare with")
    else:
        text = f"--gpu-time adds {added[GPU_TIME]:.2f}, Nsight Systems {added[NSYS]:.2f}; the goal is half of that"
        result(added[GPU_TIME] <= added[NSYS] / 2, "cost " + name, text)
