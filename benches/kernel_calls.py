#!/usr/bin/env python3
"""What a recorded request to the kernel driver costs: instructions, system calls, time. And what the layer `syscall` costs calls that make none.

    benches/kernel_calls.py --cutap CUTAP [--out FILE]

The requests go to a stand-in in the program, which answers without a system call; so all that is added is cutap's. Instructions are
counted by callgrind and do not depend on how busy the machine is. Needs valgrind, strace and gcc.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = [
    ("free", "NV_ESC_RM_FREE: 16 bytes"),
    ("control", "NV_ESC_RM_CONTROL: 32 bytes, and 268 behind a pointer"),
    ("elsewhere", "the same, the 268 bytes not on the stack"),
    ("alloc", "NV_ESC_RM_ALLOC of a channel: 48 bytes, and 368 behind a pointer"),
    ("uvm", "UVM_MAP_EXTERNAL_ALLOCATION: 9264 bytes"),
    ("getenv", "getenv"),
]
FEW, MANY = 200, 1200
# The time of a saxpy on an H200: tests/gpu/results/2026-11-24-kernel-h200.md.
SAXPY_MS = 329
TRANSCRIPT = os.path.join(HERE, "../crates/rm/tests/transcripts/vecadd.txt")


def run(words, **more):
    done = subprocess.run(words, capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"kernel_calls.py: {' '.join(words)}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return done


def build(folder):
    source = os.path.join(HERE, "kernel_calls.c")
    library = os.path.join(folder, "libnvidia-ml.so.1")
    run(["gcc", "-O1", "-shared", "-fPIC", "-DLIBRARY", "-Wl,-soname,libnvidia-ml.so.1", "-o", library, source])
    program = os.path.join(folder, "kernel_calls")
    run(["gcc", "-O1", "-rdynamic", "-Wl,-rpath," + folder, "-o", program, source, library])
    return program


def of_a_vector_addition():
    """How many requests of each kind a real run makes; those of other kinds count as `free`, the getenvs are 100."""
    counts = dict.fromkeys((kind for kind, _ in KINDS), 0)
    with open(TRANSCRIPT, encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if line.startswith("nvidia"):
                escape = {"2a": "control", "2b": "alloc"}.get(words[1][-2:], "free")
                counts["uvm" if words[0] == "nvidia-uvm" and int(words[1], 16) == 33 else escape] += 1
    counts["getenv"] = 100
    return counts


def under(cutap, folder, layers, tool, program, kind, count):
    """Runs the program under a tool; recorded, where layers are given, into a run directory that nobody drains."""
    script = 'if [ -n "$2" ]; then eval "$("$0" env -e "$2" -o "$1")"; fi; shift 2; exec "$@"'
    where = os.path.join(tempfile.mkdtemp(dir=folder), "run")
    return run(["sh", "-c", script, cutap, where, layers, *tool, program, kind, str(count)])


def per_call(number):
    """By how much a number grows with each call."""
    return (number(MANY) - number(FEW)) / (MANY - FEW)


def instructions(cutap, folder, layers, program, kind):
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]

    def collected(count):
        said = under(cutap, folder, layers, tool, program, kind, count).stderr
        return int(re.search(r"Collected : (\d+)", said).group(1))

    return per_call(collected)


def system_calls(cutap, folder, layers, program, kind):
    """By name."""

    def counted(count):
        log = os.path.join(folder, "strace.log")
        under(cutap, folder, layers, ["strace", "-f", "-c", "-o", log], program, kind, count)
        with open(log, encoding="utf-8") as lines:
            rows = [line.split() for line in lines]
        return {row[-1]: int(row[3]) for row in rows if len(row) >= 5 and row[3].isdigit() and row[-1] != "total"}

    few, many = counted(FEW), counted(MANY)
    found = {name: (many[name] - few.get(name, 0)) / (MANY - FEW) for name in many}
    return {name: round(number, 2) for name, number in found.items() if number > 0.05}


def nanoseconds(cutap, folder, layers, program, kind):
    times = [float(under(cutap, folder, layers, [], program, kind, 2000).stdout) for _ in range(9)]
    return statistics.median(times)


def idle_driver_call(cutap, folder):
    """Instructions of a recorded driver call that makes no request, without and with the layer."""
    source = os.path.join(HERE, "../tests/programs/runtimes/instructions.c")
    program = os.path.join(folder, "instructions")
    run(["gcc", "-O1", "-I", os.path.join(HERE, "../tests/programs/runtimes"), "-o", program, source, "-ldl"])
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]

    def collected(layers):
        script = 'eval "$("$0" env --sim -e "$2" -o "$1")"; shift 2; exec "$@"'

        def of(count):
            where = os.path.join(tempfile.mkdtemp(dir=folder), "run")
            said = run(["sh", "-c", script, cutap, where, layers, *tool, program, "cuCtxGetCurrent", str(count)]).stderr
            return int(re.search(r"Collected : (\d+)", said).group(1))

        return per_call(of)

    return collected("driver"), collected("driver,syscall")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cutap", required=True)
    parser.add_argument("--out")
    options = parser.parse_args()
    cutap = os.path.realpath(options.cutap)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        program = build(folder)
        rows, total = [], 0.0
        counts = of_a_vector_addition()
        for kind, text in KINDS:
            plain = instructions(cutap, folder, "", program, kind)
            recorded = instructions(cutap, folder, "kernel", program, kind)
            calls = system_calls(cutap, folder, "kernel", program, kind)
            before, after = (nanoseconds(cutap, folder, layers, program, kind) for layers in ("", "kernel"))
            added = after - before
            total += counts[kind] * added
            names = ", ".join(f"{number:g} {name}" for name, number in sorted(calls.items())) or "none"
            rows.append(f"| {text} | {recorded - plain:.0f} | {names} | {added:.0f} |")
        without, with_layer = idle_driver_call(cutap, folder)
    made = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    text = "\n".join([
        "| request | instructions added | system calls added | ns added |",
        "| --- | ---: | --- | ---: |",
        *rows,
        "",
        f"A recorded driver call that makes no request: {without:.0f} instructions, {with_layer:.0f} with the layer.",
        f"A vector addition ({made}): {total / 1e6:.2f} ms, {total / 1e4 / SAXPY_MS:.2f} % of a saxpy of {SAXPY_MS} ms.",
        "",
    ])
    print(text, end="")
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
