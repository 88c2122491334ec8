#!/usr/bin/env python3
"""What being counted or recorded costs single calls, switched within one process.

    benches/calls.py --cutap CUTAP --built DIR [--around [--fenced]] [--rounds N] [--pairs N] [--sim] [--out FILE.md] [--name MACHINE]

DIR is what benches/build.sh made. A process times bursts of 200 calls (2000 of those that queue nothing) that are seen and that are
not, in turns (`overhead --switch`), and gives the median of the differences of neighbours: neither a clock that differs between processes nor calls that vary
by more than cutap costs matter then. A round is a process each: off, which is the driver's own pointer beside the one that cutap gave out
(`--own`); counted and recorded, switched off and on; and the empty callback (flag_on.c), which is what a runtime does because
somebody listens and is no cost of cutap's. Counted and recorded calls of the linked-in runtime are compared with calls that it reports to
an empty callback while cutap is off (`--beside-empty`), in one process too. A timing is no test.
"""

import argparse
import ctypes
import datetime
import os
import platform
import statistics
import sys
import tempfile

from overhead import Bench, NotHere


def driver_path():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError as why:
        raise NotHere(f"no driver: {why}") from why
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next(line.split(maxsplit=5)[5].strip() for line in maps if "/libcuda.so" in line)


class Around(Bench):
    """Behind the driver that notes when it is entered and left."""

    def __init__(self, options, work):
        super().__init__(options, work)
        self.driver = os.path.join(self.libraries, "libcuda.so.1") if self.libraries else driver_path()
        self.shim = os.path.dirname(self.library("timestamp_shim/libcuda.so.1"))
        self.flags = ["--around", *(["--fenced"] if options.fenced else [])]

    def environment(self, **more):
        env = super().environment(TIMESTAMP_SHIM_DRIVER=self.driver, **more)
        env["LD_LIBRARY_PATH"] = ":".join(filter(None, (self.shim, env.get("LD_LIBRARY_PATH"))))
        return env

    def run(self, before=(), flags=(), **env):
        return super().run(before, [*flags, *self.flags], **env)

    def tool(self, *words):
        return [self.cutap, *words]  # the simulated driver is behind this one already


def measured(o, work):
    # The last is for what --switch does not do.
    bench = (Around if o.around else Bench)(argparse.Namespace(**vars(o), program=os.path.join(o.built, "overhead"), burst=200, bursts=o.pairs, sustained=1), work)
    in_range = ["--capture-range=cudaProfilerApi", "-o"]
    beside = ["--switch", "--beside-empty"]
    hows = {
        "counted": lambda: bench.run([*bench.tool("trace", "-C", *in_range, "/dev/null"), "--"], beside),
        "off": lambda: bench.run([*bench.tool("record", *in_range, os.path.join(work, "calls.cutap")), "--"], ["--own"]),
        "recorded": lambda: bench.run([*bench.tool("record", *in_range, os.path.join(work, "calls.cutap")), "--"], beside),
        "empty": lambda: bench.run(flags=["--switch"], LD_PRELOAD=bench.library("flag_on.so")),
    }
    return [{column: how() for column, how in hows.items()} for _ in range(o.rounds)]


def middle(values):
    """Median, and all of them from least to most."""
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def table(rounds):
    pair = statistics.median(r[c]["two_timestamps"] for r in rounds for c in r)
    yield f"Two readings of the time stamp counter: {pair:.1f} ns (median of all processes at their start; pairs of readings below are those between the bursts)."
    yield ""
    yield "| call | alone, ns | off: more | counted: more than off | recorded: more than off | in pairs of readings | empty callback: more |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for name in rounds[0]["counted"]["calls"]:
        of = lambda column, what="more": [r[column]["calls"][name][what] for r in rounds]  # noqa: E731
        runtime = name.startswith("cuda")
        linked_in = runtime and "shared" not in name
        pairs = [more / pair for more, pair in zip(of("recorded"), of("recorded", "pair"))]
        yield (
            f"| {name}{' *' if linked_in else ''} | {statistics.median(of('empty', 'off')):.1f} | {'' if runtime else middle(of('off'))} | "
            f"{middle(of('counted'))} | {middle(of('recorded'))} | {middle(pairs)} | {middle(of('empty')) if linked_in else ''} |"
        )
    yield ""
    yield "\\* counted and recorded: more than off with an empty callback."


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cutap", required=True)
    parser.add_argument("--built", required=True, help="folder that benches/build.sh filled")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=1000, help="pairs of bursts of each call in a process")
    parser.add_argument("--around", action="store_true", help="leave out what the driver's own launch or copy takes")
    parser.add_argument("--fenced", action="store_true", help="with --around: each reading waits for all before it")
    parser.add_argument("--sim", action="store_true", help="on the simulated driver")
    parser.add_argument("--cudart", help="a shared libcudart; without it what Python has, if any")
    parser.add_argument("--out", help="write the report there too")
    parser.add_argument("--name", default=platform.node(), help="what to call this machine")
    o = parser.parse_args()
    o.cutap, o.built = os.path.abspath(o.cutap), os.path.abspath(o.built)
    try:
        with tempfile.TemporaryDirectory(prefix="cutap-calls.") as work:
            rounds = measured(o, work)
    except NotHere as why:
        sys.exit(f"calls.py: {why}")
    how = (", around the driver" if o.around else "") + (", fenced" if o.fenced else "")
    lines = [
        f"# Calls, counted and recorded, switched within a process{how}, {datetime.date.today().isoformat()}, {o.name}",
        "",
        f"{os.cpu_count()} cores, Linux {platform.release()}. {o.rounds} rounds of four processes, {o.pairs} pairs of bursts of 200 or 2000 calls; median of the",
        "rounds, and the least and the most of them. `benches/calls.py` says how.",
        "",
        *table(rounds),
    ]
    lines += ["", "Each process, and where its median lies 19 times of 20 (nanoseconds):", ""]
    for name in rounds[0]["counted"]["calls"]:
        for column in rounds[0]:
            each = [r[column]["calls"][name] for r in rounds if name in r[column]["calls"]]
            lines += [] if not each else [f"- {name}, {column}: " + ", ".join(f"{c['more']:.1f} [{c['low']:.1f} to {c['high']:.1f}]" for c in each)]
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if o.out:
        with open(o.out, "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main()
