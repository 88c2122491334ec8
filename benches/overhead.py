#!/usr/bin/env python3
"""What a CUDA call costs under cutap, CUPTI and Nsight Systems: one program, run under each in turns.

    benches/overhead.py --cutap CUTAP [--sim] [--program overhead] [--built DIR] [--rounds N]
                        [--seconds N] [--out FILE.md] [--columns NAME,...] [--name MACHINE]

Needs Python 3.9 and, for what --built has not, gcc. --program is overhead.c, built (with libcudart_static.a
behind it, or with -DDRIVER_ONLY); --built is a folder with cupti_overhead.so, flag_on.so and hook_nothing.so.
Each round runs every column once; the table has medians over the rounds, and the spread from least to
most. A column that cannot be measured here says why. docs/explanation/cost.md says what the columns mean.
"""

import argparse
import datetime
import glob
import json
import math
import os
import platform
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "gpu"))
import machine  # noqa: E402

CALLS = ("cuCtxGetCurrent", "cudaGetDevice", "cudaGetDevice, shared", "cuEventRecord", "cudaLaunchKernel", "cuLaunchKernel", "cuMemcpyAsync")


class NotHere(Exception):
    """Why a column cannot be measured on this machine."""


class Bench:
    """The programs of one run, and the environment of the driver that it uses."""

    def __init__(self, options, work):
        self.cutap, self.program, self.sim = options.cutap, options.program, options.sim
        self.work, self.built = work, options.built
        self.numbers = ["--burst", str(options.burst), "--bursts", str(options.bursts), "--sustained", str(options.sustained)]
        self.libraries = self.sim_folder() if self.sim else None
        self.cudart = options.cudart or machine.find_cudart()

    def sim_folder(self):
        folder = os.path.join(self.work, "env")
        text = subprocess.run([self.cutap, "env", "--sim", "-o", folder], check=True, capture_output=True, text=True).stdout
        line = next(l for l in text.splitlines() if l.startswith("export LD_LIBRARY_PATH="))
        return line.split("'")[1]

    def environment(self, **more):
        env = dict(os.environ, **more)
        if self.cudart:
            env["OVERHEAD_CUDART"] = self.cudart
        if self.libraries:
            env["LD_LIBRARY_PATH"] = ":".join(filter(None, (self.libraries, env.get("LD_LIBRARY_PATH"))))
        return env

    def library(self, name):
        path = os.path.join(self.built, name)
        if not os.path.exists(path):
            raise NotHere(f"{name} is not built")
        return path

    def run(self, before=(), flags=(), **env):
        """Runs the program behind `before`; what it measured, and the processor seconds of all others."""
        start = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([*before, self.program, *self.numbers, *flags], env=self.environment(**env), capture_output=True, text=True)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        lines = [l for l in done.stdout.splitlines() if l.startswith('{"two_timestamps"')]
        if done.returncode != 0 or not lines:
            raise NotHere(f"exit {done.returncode}: {(done.stderr or done.stdout).strip()[-200:]}")
        result = json.loads(lines[0])
        used = (end.ru_utime + end.ru_stime) - (start.ru_utime + start.ru_stime)
        result["others"] = max(0.0, used - result["cpu"])
        return result

    def tool(self, *words):
        return [self.cutap, *words, *(["--sim"] if self.sim else [])]

    def record(self, *words, flags=()):
        """Under `cutap record`, with what went into rings and file."""
        folder = tempfile.mkdtemp(dir=self.work)
        run, file = os.path.join(folder, "run"), os.path.join(folder, "run.cutap")
        result = self.run([*self.tool("record", *words), "--run-dir", run, "-o", file, "--"], flags)
        result["ring"], result["file"] = ring_bytes(run), os.path.getsize(file)
        shutil.rmtree(folder)
        return result


def ring_bytes(run):
    """Bytes that all threads of a run have written: from the heads of their rings' newest chunks."""
    total = 0
    for path in glob.glob(os.path.join(run, "p*", "t*.ring")):
        with open(path, "rb") as f:
            data = f.read()
        chunk = struct.unpack_from("<I", data, 12)[0]
        newest = (0, 0)
        for at in range(4096, len(data) - 63, chunk):
            sequence, head = struct.unpack_from("<Q", data, at + 8)[0], struct.unpack_from("<I", data, at + 32)[0]
            newest = max(newest, (sequence, head))
        total += max(0, newest[0] - 1) * chunk + newest[1]
    return total


def plain(bench):
    return bench.run(flags=["--expect-driver"])


def not_armed(bench):
    return bench.record("--filter", "cuMemHostAlloc", flags=["--expect-driver"])


def off(bench):
    return bench.record("--capture-range=cudaProfilerApi")


def counted(bench):
    return bench.run([*bench.tool("trace", "-C", "-o", "/dev/null"), "--"])


def recorded(bench):
    return bench.record()


def driver_recorded(bench):
    """No runtime: its flags stay 0, and a call of it costs what the driver calls in it cost."""
    return bench.record("--filter", "driver")


def empty_callback(bench):
    return bench.run(LD_PRELOAD=bench.library("flag_on.so"))


def hook(bench):
    return bench.run([*bench.tool("run", "--hook", bench.library("hook_nothing.so")), "--"])


def cupti(mode):
    def column(bench):
        if bench.sim:
            raise NotHere("CUPTI needs a real driver")
        library = machine.find_cupti()
        if library is None:
            raise NotHere("there is no CUPTI")
        return bench.run(CUDA_INJECTION64_PATH=bench.library("cupti_overhead.so"), CUPTI_LIB=library, CUPTI_MODE=mode)

    return column


NSYS = ("profile", "--trace=cuda", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true")


def nsys_words(work, *more):
    """How a program is run under Nsight Systems, and what its files begin with."""
    found = machine.find_nsys()
    if found is None:
        raise NotHere("there is no nsys (CUTAP_NSYS may name one)")
    output = os.path.join(work, "nsys")
    return [found, *NSYS, *more, "-o", output], output


def nsys_bytes(output):
    """Size of what it wrote; the raw file where it could make no report. Removed, for the next round."""
    files = [p for p in (output + ".nsys-rep", output + ".qdstrm") if os.path.exists(p)]
    if not files:
        raise NotHere("nsys wrote no file")
    size = os.path.getsize(files[0])
    for path in files:
        os.remove(path)
    return size


def nsys(*more):
    """Without more it leaves out what it calls less relevant, cuCtxGetCurrent and cudaGetDevice among them."""

    def column(bench):
        if bench.sim:
            raise NotHere("Nsight Systems needs a real driver")
        words, output = nsys_words(bench.work, *more)
        result = bench.run(words)
        result["file"] = nsys_bytes(output)
        # An empty report has a megabyte at most; each call takes some bytes, however well they are packed.
        made = sum(c["made"] for c in result["calls"].values())
        if result["file"] < 2 * made:
            raise NotHere(f"nsys wrote {result['file']} bytes for {made} calls: it traced none")
        return result

    return column


COLUMNS = {
    "plain": plain,
    "not armed": not_armed,
    "armed and off": off,
    "counted": counted,
    "recorded": recorded,
    "empty runtime callback": empty_callback,
    "hook that does nothing": hook,
    "CUPTI callback": cupti("callback"),
    "CUPTI activity": cupti("activity"),
    "Nsight Systems": nsys(),
    "Nsight Systems, all calls": nsys("--cuda-trace-all-apis=true"),
}


def measure(columns, bench, names, rounds, seconds):
    """These columns in turns: the results of each, and why others have none. No round begins after so many seconds."""
    results, missing = {name: [] for name in names}, {}
    begin = time.monotonic()
    for n in range(rounds):
        if n and time.monotonic() - begin > seconds:
            break
        for name in names:
            if name in missing:
                continue
            try:
                results[name].append(columns[name](bench))
            except NotHere as why:
                missing[name] = str(why)
        print(f"round {n + 1} of {rounds}", file=sys.stderr)
    return {name: all_of for name, all_of in results.items() if all_of and name not in missing}, missing


def cell(values, base=None):
    """Median, and the spread; what it is more than `base`."""
    if not values:
        return "-"
    middle = statistics.median(values)
    more = "" if base is None else f" ({middle - base:+.1f})"
    return f"{middle:.1f}{more} [{min(values):.1f} to {max(values):.1f}]"


def tables(results, missing):
    """The lines of the report."""
    stamp = statistics.median(r["two_timestamps"] for all_of in results.values() for r in all_of)
    yield f"Two readings of the time stamp counter: {stamp:.1f} ns, measured in the same runs. Recorded is to add at most {2 * stamp:.1f} ns."
    for kind, title in (("burst", "in bursts that fit the ring"), ("sustained", "sustained")):
        yield ""
        yield f"## Nanoseconds a call, {title}"
        yield ""
        yield "Median over the rounds, (what it is more than plain), [least to most]."
        yield ""
        names = [name for name in COLUMNS if name in results]
        yield "| call | " + " | ".join(names) + " |"
        yield "| --- |" + " --- |" * len(names)
        for call in (c for c in CALLS if any(c in r["calls"] for r in results["plain"])):
            values = {name: [r["calls"][call][kind] for r in results[name] if call in r["calls"]] for name in names}
            base = statistics.median(values["plain"]) if values.get("plain") else None
            yield f"| {call} | " + " | ".join(cell(values[name], None if name == "plain" else base) for name in names) + " |"
    yield ""
    yield "## More than plain, in pairs of readings"
    yield ""
    yield "Each time divided by what two readings of the counter cost in the same process, for the clock differs between processes: recorded is to add"
    yield "at most 2 for each recorded call. In bursts, then sustained; a call of the runtime is two recorded ones, its own and the driver's in it."
    yield ""
    yield "| call | " + " | ".join(names) + " |"
    yield "| --- |" + " --- |" * len(names)
    for call in (c for c in CALLS if any(c in r["calls"] for r in results["plain"])):
        def pairs(name, kind):
            return statistics.median(r["calls"][call][kind] / r["two_timestamps"] for r in results[name] if call in r["calls"])
        more = [f"{pairs(n, 'burst') - pairs('plain', 'burst'):.1f}, {pairs(n, 'sustained') - pairs('plain', 'sustained'):.1f}" for n in names]
        yield f"| {call} | " + " | ".join(more) + " |"
    yield ""
    yield "## What flows beside it"
    yield ""
    yield "Over the whole program. Processor time of others is the collector's, and that of the process in front of it."
    yield ""
    yield "| column | events a second | ring, MB/s | ring, bytes an event | file, bytes an event | processor time of others |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, all_of in results.items():
        made = statistics.median(sum(c["made"] for c in r["calls"].values()) for r in all_of)
        wall = statistics.median(r["seconds"] for r in all_of)
        others = statistics.median(r["others"] / r["seconds"] for r in all_of)
        ring = [r["ring"] for r in all_of if "ring" in r]
        file = [r["file"] for r in all_of if "file" in r]
        words = [f"{made / wall / 1e6:.2f} M"]
        words += [f"{statistics.median(ring) / wall / 1e6:.1f}", f"{statistics.median(ring) / made:.1f}"] if ring else ["-", "-"]
        words += [f"{statistics.median(file) / made:.1f}"] if file else ["-"]
        yield f"| {name} | " + " | ".join(words) + f" | {others * 100:.0f} % of one core |"
    yield ""
    yield from notes(results, missing)


def notes(results, missing):
    """Which Nsight Systems that was, and what could not be measured."""
    if "Nsight Systems" in results and (found := machine.find_nsys()):
        yield f"- Nsight Systems here: {machine.nsys_version(found)}"
    for name, why in missing.items():
        yield f"- {name}: not here: {why}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cutap", required=True)
    parser.add_argument("--sim", action="store_true", help="on the simulated driver")
    parser.add_argument("--program", required=True, help="overhead.c, built")
    parser.add_argument("--built", default=HERE, help="folder of the libraries of this bench")
    parser.add_argument("--cudart", help="a shared libcudart, whose cudaGetDevice is timed too; PyTorch's is found")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no round after these")
    parser.add_argument("--burst", type=int, default=4000)
    parser.add_argument("--bursts", type=int, default=15)
    parser.add_argument("--sustained", type=int, default=150, help="milliseconds for each call")
    parser.add_argument("--columns", help="only these, and plain")
    parser.add_argument("--out", help="write the report there too")
    parser.add_argument("--name", default=platform.node(), help="what to call this machine")
    options = parser.parse_args()
    options.cutap, options.program = os.path.abspath(options.cutap), os.path.abspath(options.program)
    names = list(COLUMNS)
    if options.columns:
        asked = [c.strip() for c in options.columns.split(",")]
        unknown = [c for c in asked if c not in COLUMNS]
        if unknown:
            parser.error(f"no column {unknown[0]!r}; there are: {', '.join(COLUMNS)}")
        names = [c for c in COLUMNS if c == "plain" or c in asked]
    with tempfile.TemporaryDirectory(prefix="cutap-overhead.") as work:
        results, missing = measure(COLUMNS, Bench(options, work), names, options.rounds, options.seconds)
    if "plain" not in results:
        sys.exit(f"overhead.py: the program does not run plain: {missing.get('plain')}")
    driver = "the simulated driver" if options.sim else "the real driver"
    head = [
        f"# What a call costs, {datetime.date.today().isoformat()}, {options.name}, {driver}",
        "",
        f"{len(results['plain'])} rounds, all columns in turns in each. {os.cpu_count()} cores ({processor()}), Linux {platform.release()}, "
        f"load {os.getloadavg()[0]:.1f} at the end. `benches/overhead.py`; docs/explanation/cost.md says what the columns mean.",
        "",
    ]
    text = "\n".join([*head, *tables(results, missing)]) + "\n"
    print(text, end="")
    if options.out:
        with open(options.out, "w", encoding="utf-8") as f:
            f.write(text)


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return next((l.split(":", 1)[1].strip() for l in f if l.startswith("model name")), platform.machine())


if __name__ == "__main__":
    main()
