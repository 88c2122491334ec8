"""Checks of a program that is profiled (by CUPTI, in itself) while cutap leaves most runtime calls alone.

A runtime that reports to nobody but cutap is told not to; what a profiler asked for must reach it all the same. Like check.py: a
sentence goes to `problems` or to `proved`; nothing here prints.
"""

import os
import tempfile

import check
import processes


def all_the_same(result, tools):
    """The profiler's own output (part of the program's) with one runtime function wanted, and with recording off."""
    folder = tempfile.mkdtemp(dir=tools.work, prefix=result.program.name + ".profiled.")
    limit = 30 + 4 * result.plain.wall
    ways = {
        "trace -e cudaMalloc": ["trace", "-e", "cudaMalloc", "-o", os.path.join(folder, "trace")],
        "record --capture-range=cudaProfilerApi": ["record", "--capture-range=cudaProfilerApi", "-o", os.path.join(folder, "run.cutap")],
    }
    for way, flags in ways.items():
        run = processes.run([tools.cutap, *flags, "--", *result.program.argv], limit)
        if not check.same(result, run, f"cutap {way}", limit):
            return
    result.proved.append("profiled while cutap records one function, and none: the profiler saw the same")
