#!/usr/bin/env python3
"""Runs every test program with and without cutap on a real GPU and compares.

Started by run.sh, which builds what has to be compiled. First all checks of output
and counts, several programs side by side; then wall times, one run at a time,
alternating plain and traced for as long as the time budget allows.
Exit code: 0 all the same, 1 something differs, 2 nothing could be tested.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import check
import extras
import machine
import programs
import report

PAIRS = 3


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cutap", required=True, help="the cutap binary")
    parser.add_argument("--built", required=True, help="folder of the compiled programs and the CUPTI counter")
    parser.add_argument("--out", help="folder for results.md and details.log")
    parser.add_argument("--only", action="append", help="run only this program (may be repeated)")
    parser.add_argument("--nsys", help="Nsight Systems' nsys; else CUTAP_NSYS, PATH's, or where NVIDIA's packages have it")
    parser.add_argument("--limit", type=float, default=90, help="seconds that one run may take (default 90)")
    parser.add_argument("--budget", type=float, default=240, help="seconds after which no more timing is begun (default 240)")
    return parser.parse_args()


def say(begin, text):
    print(f"[{time.monotonic() - begin:5.0f} s] {text}", file=sys.stderr, flush=True)


def refuse(sentence):
    print(f"compare.py: {sentence}", file=sys.stderr)
    sys.exit(2)


def make_tools(options, work):
    cutap = shutil.which(options.cutap)
    if cutap is None:
        refuse(f"{options.cutap} is not an executable file; give the cutap binary with --cutap")
    counter = os.path.join(options.built, "cupti_counter.so")
    cupti = machine.find_cupti() or ""
    reason = ""
    if not os.path.exists(counter):
        reason = "the CUPTI counter could not be built (no C compiler?)"
    elif not cupti:
        reason = "no libcupti: neither in this Python's packages (nvidia-cuda-cupti) nor in a toolkit"
    nsys = shutil.which(options.nsys) if options.nsys else machine.find_nsys()
    if options.nsys and nsys is None:
        refuse(f"{options.nsys} is not an executable file; give Nsight Systems' nsys with --nsys")
    return check.Tools(os.path.abspath(cutap), os.path.abspath(counter), cupti, reason, work, options.limit, nsys or "")


def choose(options):
    every = programs.all_programs(os.path.abspath(options.built))
    if options.only:
        names = [program.name for program in every]
        for name in options.only:
            if name not in names:
                refuse(f"no program is called {name}; there are: {', '.join(names)}")
        every = [program for program in every if program.name in options.only]
    return [p for p in every if not p.skip], [p for p in every if p.skip]


def check_all(results, tools, workers, begin):
    """Output and counts: plain runs first, then everything that needs a plain run to compare with."""
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda result: check.run_plain(result, tools), results))
    say(begin, "plain runs done")
    usable = [result for result in results if not result.problems]

    def all_of(result):
        check.check_all(result, tools)
        extras.check_extras(result, tools)

    # The longest ones first, so that none is left alone at the end.
    usable.sort(key=lambda result: -result.plain.wall)
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(all_of, usable))
    say(begin, "traced and CUPTI runs done, counts compared")


def time_all(results, tools, budget, begin):
    """Wall times, alternating; each timed program once, then again while there is time."""
    for _ in range(PAIRS):
        for result in results:
            # A program that hung or failed has no time worth knowing.
            if not result.program.timed or result.plain.code != 0 or result.hung:
                continue
            spent = time.monotonic() - begin
            need = 2 * (max(result.plain_walls + result.traced_walls or [result.plain.wall]))
            if spent + need > budget:
                continue
            plain = check.run_plain(result, tools)
            traced = check.summary(result, tools)
            if plain.code == 0 and traced.code == 0:
                result.plain_walls.append(plain.wall)
                result.traced_walls.append(traced.wall)
    say(begin, "timing done")


def write(options, tools, results, skipped, begin):
    """Writes the report as it stands; gives its text. Called twice: half a result beats none."""
    described = machine.describe(tools.cutap, tools.cupti, tools.nsys)
    text = report.markdown(described, results, skipped, tools.no_cupti, time.monotonic() - begin)
    if options.out:
        os.makedirs(options.out, exist_ok=True)
        for name, content in (("results.md", text), ("details.log", report.details(results))):
            with open(os.path.join(options.out, name), "w", encoding="utf-8") as f:
                f.write(content)
    return text


def main():
    options = arguments()
    begin = time.monotonic()
    chosen, skipped = choose(options)
    with tempfile.TemporaryDirectory(prefix="cutap-gpu-") as work:
        tools = make_tools(options, work)
        results = [check.Result(program) for program in chosen]
        workers = max(1, min(8, (os.cpu_count() or 1) // 2))
        say(begin, f"{len(results)} programs, {workers} at a time; skipped: {len(skipped)}")
        check_all(results, tools, workers, begin)
        write(options, tools, results, skipped, begin)
        time_all(results, tools, options.budget, begin)
        text = write(options, tools, results, skipped, begin)
    failed = [result for result in results if report.problems(result)]
    for line in report.details(failed).splitlines()[:400]:
        print(line[:2000], file=sys.stderr)
    print(text)
    if not results:
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
