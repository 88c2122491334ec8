"""Nsight Systems around cutap, and cutap around Nsight Systems: the program says the same, and each counts what it counts alone.

`nsys profile cutap record PROG` and `cutap record nsys profile PROG`. Like check.py: a sentence goes to `problems` or to `proved`;
nothing here prints.
"""

import collections
import glob
import json
import os
import re
import sqlite3
import tempfile
from dataclasses import dataclass

import processes
import qdstrm

PROFILE = ("profile", "--trace=cuda", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true", "-o")
# nsys names what a runtime function's interface is: cudaMalloc_v3020.
SINCE = re.compile(r"_v\d{4,5}$")
# On a busy machine nsys loses its own agent now and then, without cutap too, before it has started the program.
LOST = b"Connection to Agent lost"
ATTEMPTS = 4
# What cutap itself asks the driver at a kernel's first launch; it says so at the end.
ASKED, ASKED_REASON = {"cuFuncGetParamInfo", "cuKernelGetParamInfo"}, "kernels whose parameters' sizes the driver was asked for"


class NoReport(Exception):
    """Why nsys' events cannot be counted."""


@dataclass
class Seen:
    """One run: how it ended, what nsys counted by name, what cutap counted of the program's own processes."""

    run: object
    nsys: object = None
    no_report: str = ""
    cutap: object = None
    profiler: object = None  # calls inside a process's first cuInit: there the driver loads a profiler, which asks for tables
    asked: int = 0  # kernels that cutap asked the driver about


def importer(nsys):
    """What makes a report of nsys' raw file, where nsys itself does not find it: Nsight Compute carries both, in other folders."""
    root = os.path.dirname(os.path.dirname(os.path.realpath(nsys)))
    places = [os.path.join(root, "host-linux-x64"), *sorted(glob.glob(os.path.join(root, "linux-desktop-glibc*")))]
    return next((p for p in (os.path.join(place, "QdstrmImporter") for place in places) if os.access(p, os.X_OK)), None)


def counts_of(nsys, base, limit):
    """The calls of each function in what nsys wrote to `base`: from its report, else from the raw file."""
    report, raw, rows = base + ".nsys-rep", base + ".qdstrm", base + ".sqlite"
    if not os.path.exists(report) and not os.path.exists(raw):
        raise NoReport("nsys wrote no file")
    if not os.path.exists(report) and (tool := importer(nsys)):
        processes.run([tool, "-i", raw, "-o", report], limit)
    if os.path.exists(report):
        made = processes.run([nsys, "export", "--type=sqlite", "--force-overwrite=true", "-o", rows, report], limit)
        if not os.path.exists(rows):
            raise NoReport(f"nsys export: exit {made.code}: {(made.err or made.out)[-300:].decode('utf-8', 'replace')}")
        events = _rows(rows)
    else:
        try:
            events = qdstrm.count(raw).items()
        except qdstrm.Unreadable as why:
            raise NoReport(f"{why}, and no QdstrmImporter runs here") from None
    found = collections.Counter()
    for name, number in events:
        found[SINCE.sub("", name)] += number
    if not found:
        raise NoReport("nsys traced no CUDA call")
    return found


def _rows(path):
    """(name, number) from an export."""
    db = sqlite3.connect(path)
    try:
        if not db.execute("select 1 from sqlite_master where name = 'CUPTI_ACTIVITY_KIND_RUNTIME'").fetchone():
            return []
        return db.execute(
            "select value, count(*) from CUPTI_ACTIVITY_KIND_RUNTIME join StringIds on nameId = StringIds.id group by value"
        ).fetchall()
    finally:
        db.close()


def calls_of(cutap, path, nsys, limit):
    """What cutap recorded of all processes but nsys' own: (counts by layer and name, those inside first cuInits, kernels asked)."""
    shown = processes.run([cutap, "show", "--json", path], limit)
    folder = os.path.dirname(os.path.realpath(nsys)) + os.sep
    theirs, calls, asked = set(), collections.defaultdict(list), 0
    for line in shown.out.splitlines():
        item = json.loads(line)
        if item["type"] == "process" and os.path.realpath(item["exe"]).startswith(folder):
            theirs.add(item["pid"])
        elif item["type"] == "call" and item["pid"] not in theirs and item["layer"] in ("runtime", "driver"):
            calls[item["pid"]].append(item)
        elif item["type"] == "end":
            asked = sum(c["count"] for c in item["counts"] if c["text"].startswith(ASKED_REASON))
    found, profiler = {"runtime": collections.Counter(), "driver": collections.Counter()}, collections.Counter()
    for own in calls.values():
        first = min((c for c in own if c["name"] == "cuInit"), key=lambda c: c["start_ns"], default=None)
        window = (first["start_ns"], first["start_ns"] + (first["duration_ns"] or 0)) if first else (0, 0)
        for call in own:
            inside = window[0] < call["start_ns"] < window[1] and call["tid"] == first["tid"]
            (profiler if inside else found[call["layer"]])[call["name"]] += 1
    return found, profiler, asked


def one(words, nsys, base, limit, cutap="", recording=""):
    """One run, again where nsys lost its own agent."""
    for _ in range(ATTEMPTS):
        run = processes.run(words, limit)
        if run.hung or LOST not in run.out + run.err:
            break
    seen = Seen(run)
    if run.hung:
        return seen
    if nsys in words:
        try:
            seen.nsys = counts_of(nsys, base, limit)
        except NoReport as why:
            seen.no_report = str(why)
    if recording and os.path.exists(recording):
        seen.cutap, seen.profiler, seen.asked = calls_of(cutap, recording, nsys, limit)
    return seen


def gather(argv, cutap, nsys, work, limit):
    """The program in four ways: nsys alone, cutap alone, each around the other."""
    folder = tempfile.mkdtemp(dir=work, prefix="nsight.")

    def way(name, with_nsys, with_cutap):
        base = os.path.join(folder, name)
        recording = base + ".cutap" if with_cutap else ""
        profile = [nsys, *PROFILE, base] if with_nsys else []
        record = [cutap, "record", "-o", recording, "--"] if with_cutap else []
        outer, inner = (record, profile) if name == "inside" else (profile, record)
        return one([*outer, *inner, *argv], nsys, base, limit, cutap, recording)

    return {
        "nsys": way("nsys", True, False),
        "cutap": way("cutap", False, True),
        "nsys around cutap": way("around", True, True),
        "cutap around nsys": way("inside", True, True),
    }


def differing(one, other):
    """{name: (here, there)} of two counters."""
    return {name: (one[name], other[name]) for name in sorted(set(one) | set(other)) if one[name] != other[name]}


def explained(alone, seen, which):
    """What differs between two runs: (open, explained), lists of words. `which`: whose counts, "nsys" or "cutap"."""
    still, why = [], []
    if which == "nsys":
        for name, (before, now) in differing(alone.nsys, seen.nsys).items():
            # One question for each parameter, and one behind the last.
            if name in ASKED and before == 0 and seen.asked:
                why.append(f"nsys sees {now} {name} by which cutap asks for the parameters of {seen.asked} kernels")
            else:
                still.append(f"nsys counts {name} {before} without and {now} with")
        return still, why
    for layer in ("runtime", "driver"):
        for name, (before, now) in differing(alone.cutap[layer], seen.cutap[layer]).items():
            still.append(f"cutap counts {name} {before} without and {now} with")
    if more := differing(alone.profiler, seen.profiler):
        words = ", ".join(f"{now - before} {name}" for name, (before, now) in more.items())
        if all(before < now for before, now in more.values()):
            why.append(f"cutap sees {words} of nsys' injection, inside the first cuInit")
        else:
            still.append(f"inside the first cuInit: {words}")
    return still, why


def together(result, tools):
    """The stage: all four ways, and what each says against what it says alone."""
    if not tools.nsys:
        result.notes.append("skipped: Nsight Systems and cutap together: there is no nsys here (--nsys or CUTAP_NSYS may name one)")
        return
    limit = 60 + 4 * result.plain.wall
    # A program that makes another number of calls in each run does so once more; what cutap or nsys lose, they lose again.
    for _ in range(2):
        ways = gather(result.program.argv, tools.cutap, tools.nsys, tools.work, limit)
        problems, proved, notes, details = judge(ways, result.plain)
        if not problems:
            break
    result.problems += problems
    result.proved += proved
    result.notes += notes
    result.details += details


def judge(ways, plain):
    """What the four ways say: (problems, proved, notes, details)."""
    problems, proved, notes, details = [], [], [], []
    for way, seen in ways.items():
        if wrong := _unusable(seen.run, plain):
            problems.append(f"{way}: {wrong}")
            out, err = (text.decode("utf-8", "replace")[-4000:] for text in (seen.run.out, seen.run.err))
            details.append(f"{way}: {wrong}; stdout and stderr:\n{seen.run.dump}\n{out}\n{err}")
        elif way != "nsys" and seen.cutap is None:
            problems.append(f"{way}: no recording")
    if problems:
        return problems, proved, notes, details
    alone, own = ways["nsys"], ways["cutap"]
    for way in ("nsys around cutap", "cutap around nsys"):
        seen = ways[way]
        still, why = explained(own, seen, "cutap")
        said = f"cutap counts {sum(sum(c.values()) for c in seen.cutap.values())} calls, of each function as without nsys"
        if alone.nsys and seen.nsys:
            more, because = explained(alone, seen, "nsys")
            still, why = still + more, why + because
            said += f"; nsys {sum(alone.nsys.values())} events, of each function as without cutap"
        else:
            notes.append(f"skipped: {way}: nsys' events were not compared: {alone.no_report or seen.no_report}")
        if still:
            problems.append(f"{way}: {'; '.join(still[:20])}")
        else:
            proved.append(f"{way}: same output; {said}" + "".join(f"; {w}" for w in why))
    return problems, proved, notes, details


def _unusable(run, plain):
    """Why a run is of no use: the program must end as it does alone and say the same. nsys' own words stand around that."""
    if run.hung:
        return "HANG"
    if run.code != plain.code:
        return f"exit code {run.code}, without {plain.code}"
    return "" if plain.out in run.out else "another output"
