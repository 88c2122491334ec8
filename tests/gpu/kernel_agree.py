"""Compares what ptrace and the layer `syscall` saw of one run: the same ioctls in each thread, with the same bytes.

    kernel_agree.py OUTSIDE.json INSIDE.json

Both are lines of `cutap syscall`. Exit code: 0 they agree, 1 they do not. Prints one line, and the first differences.
"""

import collections
import json
import sys


def ioctls(path):
    """By thread: request, and bytes before and after, of each ioctl of an NVIDIA node."""
    threads = collections.defaultdict(list)
    with open(path, encoding="utf-8") as lines:
        for call in map(json.loads, lines):
            if call.get("call") == "ioctl" and (call.get("path") or "").startswith("/dev/nvidia"):
                before = call.get("before")
                threads[call["tid"]].append((call["request"], before, call.get("after", before)))
    return threads


def main():
    outside, inside = map(ioctls, sys.argv[1:3])
    both = [(tid, n) for tid in sorted({*outside, *inside}) for n in range(max(len(outside[tid]), len(inside[tid])))]
    differ = []
    for tid, n in both:
        a, b = (side[tid][n] if n < len(side[tid]) else None for side in (outside, inside))
        if a != b:
            differ.append(f"thread {tid}, ioctl {n}: outside {a}, inside {b}")
    total = sum(map(len, outside.values()))
    print(f"{total} ioctls in {len(outside)} threads from outside, {sum(map(len, inside.values()))} from inside, {len(differ)} differ")
    for line in differ[:8]:
        print("  " + line[:300])
    return 1 if differ or not total else 0


sys.exit(main())
