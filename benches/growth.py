#!/usr/bin/env python3
"""How time, bytes and memory grow with the calls of a recording: record, report, show, export, query and DuckDB.

    benches/growth.py --cutap CUTAP [--calls N]... [--ranks N --rank-calls N] [--rate N] [--folder DIR] [--out FILE.md]

growth.c makes the calls on the simulated driver, so that no GPU is needed; gcc builds it. --calls (1000000 and 10000000)
are the steps. --ranks processes of --rank-calls calls each run at once and are read as one job. What is written goes to
/dev/null, or to DIR, which is emptied of it. Wall and processor time and the largest resident memory are the kernel's
account of each process and its children. Without `cutap-query` beside CUTAP, or without the Python module duckdb, their
lines are left out. The last table says what 1,000 ranks cost in an hour, by the largest step, if a rank makes --rate calls
a second (10000). A step is measured once: compare its processor time where other programs run beside it.
"""

import argparse
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time

QUESTION = (
    "select function, count(*) as calls, sum(self_ns) as ns, sum(bytes) as bytes from {calls} "
    "group by function order by ns desc limit 10"
)
RANKS, HOUR = 1000, 3600


class Measured:
    """Wall seconds, processor seconds and largest resident bytes of commands that run at once."""

    def __init__(self, *commands, say=None):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.monotonic()
        with open(os.devnull, "w") as nothing:
            running = [subprocess.Popen(command, stdout=nothing, stderr=subprocess.PIPE) for command in commands]
            self.resident = 0
            for process in running:
                said = process.stderr.read()
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                if process.returncode != 0:
                    sys.exit(f"{' '.join(process.args)} failed: {process.returncode}: {said.decode(errors='replace')}")
                self.resident = max(self.resident, used.ru_maxrss * 1024)
        self.wall = time.monotonic() - begun
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if say:
            print(f"{say}: {self.wall:.1f} s, processor {self.processor:.1f} s", file=sys.stderr, flush=True)


def size(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


def has_duckdb():
    return subprocess.run([sys.executable, "-c", "import duckdb"], capture_output=True).returncode == 0


def duckdb(folder):
    sql = QUESTION.format(calls=f"'{folder}/calls/*/*/*.parquet'")
    return [sys.executable, "-c", f"import duckdb; duckdb.sql('set threads = 2'); print(duckdb.sql({sql!r}).fetchall())"]


def step(words, program, files, tables):
    """What reading these recordings takes: the name of a line, what was measured, and bytes."""
    with_arguments, without = tables, tables + "-without"
    for folder in (with_arguments, without):
        shutil.rmtree(folder, ignore_errors=True)
    cutap = words.cutap
    lines = [("record", *program)]
    for name, command, written in [
        ("report", [cutap, "report", *files], None),
        ("show", [cutap, "show", *files], None),
        ("export --json", [cutap, "export", "--json", os.devnull, *files], None),
        ("export --parquet", [cutap, "export", "--parquet", with_arguments, *files], with_arguments),
        ("export --parquet --no-arguments", [cutap, "export", "--parquet", without, "--no-arguments", *files], without),
    ]:
        measured = Measured(command, say=name)
        lines.append((name, measured, size(written) if written else None))
    if os.path.exists(os.path.join(os.path.dirname(os.path.abspath(cutap)), "cutap-query")):
        asked = Measured([cutap, "query", with_arguments, QUESTION.format(calls="calls")], say="query")
        lines.append(("query of tables", asked, None))
    if has_duckdb():
        lines.append(("DuckDB, of tables", Measured(duckdb(with_arguments), say="DuckDB"), None))
    for folder in (with_arguments, without):
        shutil.rmtree(folder, ignore_errors=True)
    return lines


def number(value, unit=1):
    return "-" if value is None else f"{value / unit:.2f}" if value / unit < 100 else f"{value / unit:,.0f}"


def ratio(now, before):
    return "-" if not now or not before else f"{now / before:.1f}"


def table(name, calls, lines, before):
    """A step as a table; `before` is the one before."""
    text = [
        f"## {name}",
        "",
        "| command | wall s | ratio | processor s | ratio | MB written | ratio | calls a processor second | MiB resident |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    earlier = {line[0]: line for line in before or []}
    for line in lines:
        name, measured, written = line
        _, other, other_written = earlier.get(name, (name, None, None))
        text.append(
            f"| {name} | {number(measured.wall)} | {ratio(measured.wall, other and other.wall)} | {number(measured.processor)} | "
            f"{ratio(measured.processor, other and other.processor)} | {number(written, 1e6)} | {ratio(written, other_written)} | "
            f"{calls / max(measured.processor, 0.01):,.0f} | {measured.resident / 2**20:.0f} |"
        )
    return text + [""]


def on_paper(calls, lines, rate):
    all_calls = RANKS * HOUR * rate
    text = [
        f"## {RANKS} ranks for an hour, on paper",
        "",
        f"At {rate:,} calls a second of each rank: {all_calls:,} calls, by bytes and processor seconds a call of the last step.",
        "`record` includes the program and the simulated driver.",
        "",
        "| command | bytes a call | GB | microseconds of a processor a call | core hours |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, measured, written in lines:
        each = written / calls if written else None
        text.append(
            f"| {name} | {number(each)} | {number(each and each * all_calls, 1e9)} | {measured.processor / calls * 1e6:.2f} | "
            f"{measured.processor / calls * all_calls / 3600:,.0f} |"
        )
    return text + [""]


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--cutap", required=True)
    words.add_argument("--calls", type=int, action="append")
    words.add_argument("--ranks", type=int, default=0)
    words.add_argument("--rank-calls", type=int, default=1_000_000)
    words.add_argument("--rate", type=int, default=10_000)
    words.add_argument("--folder", default=tempfile.gettempdir())
    words.add_argument("--out")
    words = words.parse_args()
    folder = tempfile.mkdtemp(prefix="cutap-growth-", dir=words.folder)
    text = [
        f"# Growth, {time.strftime('%Y-%m-%d')}",
        "",
        f"{platform.machine()}, {len(os.sched_getaffinity(0))} processors, load {os.getloadavg()[0]:.1f} at the start. "
        "`benches/growth.c` on the simulated driver. Ratios are to the step before.",
        "",
    ]
    try:
        program = os.path.join(folder, "growth")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "growth.c")
        subprocess.run(["gcc", "-O2", "-o", program, source, "-ldl"], check=True)
        before, largest = None, None
        for calls in sorted(words.calls or [1_000_000, 10_000_000]):
            path = os.path.join(folder, "run.cutap")
            recorded = Measured([words.cutap, "record", "--sim", "-qo", path, "--", program, str(calls)], say=f"record {calls}")
            lines = step(words, (recorded, size(path)), [path], os.path.join(folder, "tables"))
            text += table(f"{calls:,} calls", calls, lines, before)
            before, largest = lines, (calls, lines)
        if words.ranks:
            paths = [os.path.join(folder, f"job.{rank}.cutap") for rank in range(words.ranks)]
            commands = [
                ["env", f"RANK={rank}", words.cutap, "record", "--sim", "-qo", path, "--", program, str(words.rank_calls)]
                for rank, path in enumerate(paths)
            ]
            recorded = Measured(*commands, say=f"record {words.ranks} ranks")
            lines = step(words, (recorded, sum(map(size, paths))), paths, os.path.join(folder, "tables"))
            calls = words.ranks * words.rank_calls
            text += table(f"{words.ranks} ranks of {words.rank_calls:,} calls, at once", calls, lines, None)
        text += on_paper(*largest, words.rate)
        if words.out:
            with open(words.out, "w") as file:
                file.write("\n".join(text))
        print("\n".join(text))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
