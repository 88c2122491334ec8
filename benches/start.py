#!/usr/bin/env python3
"""How much later a small program starts, and ends, under cutap.

    benches/start.py --cutap CUTAP [--old CUTAP] [--sim] [--rounds N] [--out FILE.md] [--name MACHINE]

A C program that says at the beginning of main what time it is, opens libcuda, calls cuInit and ends. Wall time from before it is
started to main, and to its end: plain, under `cutap trace` and under `cutap record`, in turns; with --old under that cutap too.
Beside it `cutap api --list driver`. Needs gcc and Python 3.9. A timing is no test: read the least too.
"""

import argparse
import datetime
import os
import platform
import statistics
import subprocess
import tempfile
import time

SOURCE = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
int main(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%ld.%09ld\n", (long)now.tv_sec, now.tv_nsec);
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuInit");
    return init(0);
}
"""


def timed(command, environment):
    """Milliseconds to main, if the program says it, and to the end."""
    begin = time.clock_gettime(time.CLOCK_MONOTONIC)
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    end = time.clock_gettime(time.CLOCK_MONOTONIC)
    first = done.stdout.split("\n", 1)[0]
    main = float(first) if first.replace(".", "", 1).isdigit() else None
    return (main - begin) * 1e3 if main else None, (end - begin) * 1e3


def simulated(cutap, folder):
    """The environment in which a plain program finds the simulated driver."""
    text = subprocess.run([cutap, "env", "--sim", "-o", os.path.join(folder, "env")], check=True, capture_output=True, text=True).stdout
    line = next(l for l in text.splitlines() if l.startswith("export LD_LIBRARY_PATH="))
    return dict(os.environ, LD_LIBRARY_PATH=line.split("'")[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cutap", required=True)
    parser.add_argument("--old", help="another build, to compare with")
    parser.add_argument("--sim", action="store_true", help="on the simulated driver")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--out", help="write the report there too")
    parser.add_argument("--name", default=platform.node(), help="what to call this machine")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "init")
        subprocess.run(["gcc", "-x", "c", "-", "-o", program, "-ldl"], input=SOURCE, text=True, check=True)
        environment = simulated(options.cutap, folder) if options.sim else dict(os.environ)
        commands = {"plain": [program]}
        for name, cutap in (("", options.cutap), (" (old)", options.old)):
            if cutap:
                commands["trace" + name] = [cutap, "trace", "-o", "/dev/null", "--", program]
                commands["record" + name] = [cutap, "record", "-o", os.path.join(folder, "r.cutap"), "--", program]
        commands["api --list driver"] = [options.cutap, "api", "--list", "driver"]
        times = {name: [] for name in commands}
        for _ in range(options.rounds + 1):
            for name, command in commands.items():
                times[name].append(timed(command, environment))
    lines = [
        f"# How much later a small program starts, {datetime.date.today()}, {options.name}",
        "",
        f"{options.rounds} rounds in turns; milliseconds, median [least]. `benches/start.py`.",
        "",
        "| | to main | to the end |",
        "| --- | --- | --- |",
    ]
    for name, all_of in times.items():
        cells = []
        for side in (0, 1):
            values = [t[side] for t in all_of[1:] if t[side] is not None]  # the first round unpacks
            cells.append(f"{statistics.median(values):.1f} [{min(values):.1f}]" if values else "-")
        lines.append(f"| {name} | {cells[0]} | {cells[1]} |")
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.out:
        with open(options.out, "w") as f:
            f.write(text)


if __name__ == "__main__":
    main()
