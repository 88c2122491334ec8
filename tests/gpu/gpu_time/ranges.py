"""Ranges of NVTX of frameworks and libraries: the same output as without cutap, the ranges that are expected, and a
training whose steps are ranges, with GPU time. Also with Nsight Systems around cutap, and torch.profiler inside.
"""

import collections
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor

import tools
from tools import python, result, say

# What runs, the words of ranges_library.py, and a pattern of a range that must be there. None: ranges are listed only.
LIBRARIES = {
    "emit_nvtx": ("emit", r"^aten::mm"),
    "CuPy": ("cupy", r"^inner range$"),
    "JAX": ("jax", None),
    "NCCL": ("nccl", r"AllReduce"),
    "package nvtx": ("package", r"^decorated$"),
    "torch.profiler": ("profiler", r"^inside the profiler$"),
}


def ranges_of(name):
    """Names of ranges with their numbers, by domain."""
    found = collections.Counter()
    for line in tools.lines_of("show", "--json", "-e", "nvtx", tools.file_of(name), having=('"range":"range"',)):
        found[line["name"]] += 1
    return found


def library(label, word, pattern):
    name, command = "ranges_" + word, python("ranges_library.py", word)
    plain = tools.plain(command)
    if plain.out.startswith("skip"):
        return None, "ranges " + label, plain.out.strip()
    traced = tools.record(name, command)
    found = ranges_of(name)
    listed = ", ".join(f"{count} {of}" for of, count in found.most_common(5))
    text = f"exit {plain.code} and {traced.code}, {sum(found.values())} ranges: {listed[:150] or 'none'}"
    same = plain.code == traced.code == 0 and plain.out == traced.out
    if not same:
        text += f"; output {plain.out.strip()[:60]!r} and {traced.out.strip()[:60]!r}; {traced.last_error()}"
    has_range = pattern is None or any(re.search(pattern, of) for of in found)
    return same and has_range, "ranges " + label, text


def training():
    command = python("torch_ranges.py")
    plain, traced = tools.plain(command), tools.record("training", command)
    same = plain.code == traced.code == 0 and plain.out == traced.out
    rows = tools.rows("training")
    result(same and rows.are_good(), "ranges training", f"exit {plain.code} and {traced.code}; {rows.text()}")
    for word, needed in (("range", ("forward", "backward", "optimizer")), ("step", ("step",))):
        done = tools.cutap("report", "--by", word, "--top", "8", tools.file_of("training"))
        for line in done.out.splitlines()[:9]:
            say("  " + line)
        good = done.code == 0 and all(text in done.out for text in needed) and "gpu" in done.out.lower()
        result(good, f"report --by {word}", f"exit {done.code}, {len(done.out.splitlines())} lines with GPU time")
    lines = tools.lines_of("report", "--by", "step", "--json", tools.file_of("training"))
    steps = [line for line in lines if line["type"] == "step"]
    slowest = max(steps, key=lambda line: line.get("took_ns", 0), default={})
    say("  slowest step: " + json.dumps(slowest)[:250])
    result(len(steps) >= 20, "steps", f"{len(steps)} steps of 20 and one with emit_nvtx")


def around():
    """Nsight Systems around cutap: both see the ranges, and the output is the same."""
    nsys = tools.machine.find_nsys()
    if not nsys:
        result(None, "ranges under Nsight Systems", "there is no nsys")
        return
    command = python("torch_ranges.py")
    plain = tools.plain(command)
    flags = ["profile", "--trace=nvtx,cuda", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true"]
    recorded = [tools.CUTAP, "record", "-o", tools.file_of("around"), "--", *command]
    done = tools.run([nsys, *flags, "-o", os.path.join(tools.WORK, "around"), *recorded], 150)
    found = ranges_of("around")
    said = [line for line in done.out.splitlines() if line in plain.out.splitlines()]
    text = f"exit {done.code}, {sum(found.values())} ranges in cutap's recording"
    result(done.code == 0 and len(said) > 0 and found["forward"] >= 20, "ranges under Nsight Systems", text)


def main():
    with ThreadPoolExecutor(tools.number("JOBS", 4)) as pool:
        tried = [pool.submit(tools.tried, library, label, *words) for label, words in LIBRARIES.items()]
        for of in tried:
            result(*of.result())
    training()
    around()


main()
