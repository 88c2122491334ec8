#!/usr/bin/env python3
"""What the registry costs at the start: two cutap binaries in turns, and `cutap api --list`.

    benches/start.py --old CUTAP --new CUTAP [--rounds N]

Wall time of `cutap trace --sim -o /dev/null -- PROGRAM`, where PROGRAM only calls cuInit. Interleaved
(old, new, list, old, ...), medians and minima. A timing is no test: the machine's noise is larger than
what is looked for, so read the minima too.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time

SOURCE = "#include <dlfcn.h>\nint main(void) { int (*init)(unsigned) = (int (*)(unsigned))dlsym(dlopen(\"libcuda.so.1\", 2), \"cuInit\"); return init(0); }\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", required=True)
    parser.add_argument("--new", required=True)
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "init")
        subprocess.run(["gcc", "-x", "c", "-", "-o", program, "-ldl"], input=SOURCE, text=True, check=True)
        trace = ["trace", "--sim", "-o", "/dev/null", "--", program]
        commands = {
            "trace, old": [options.old, *trace],
            "trace, new": [options.new, *trace],
            "api --list driver, new": [options.new, "api", "--list", "driver"],
        }
        times = {name: [] for name in commands}
        for _ in range(options.rounds + 1):
            for name, command in commands.items():
                begin = time.perf_counter()
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                times[name].append((time.perf_counter() - begin) * 1e3)
    for name, all_of in times.items():
        rest = all_of[1:]  # the first unpacks
        print(f"{name}: median {statistics.median(rest):.1f} ms, least {min(rest):.1f} ms, {len(rest)} rounds")


if __name__ == "__main__":
    main()
