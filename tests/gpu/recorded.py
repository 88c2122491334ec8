"""Checks of `cutap record`: what it puts into a file is what `cutap trace` shows, and whoever is killed, nothing is lost.

Like check.py: a sentence goes to `problems` or to `proved`; nothing here prints.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import check
import processes
from programs import HERE

# Steps of training before anything is killed.
STEPS = 200


def as_traced(result, tools):
    """`cutap record` and `cutap show`: the functions and counts of `cutap trace`."""
    path = os.path.join(tempfile.mkdtemp(dir=tools.work, prefix=result.program.name + ".record."), "run.cutap")
    limit = 30 + 4 * result.plain.wall
    own = [trace for trace in (*result.summaries, result.stream) if trace]
    for attempt in range(2):
        run = processes.run([tools.cutap, "record", "-o", path, "--", *result.program.argv], limit)
        if not check.same(result, run, "cutap record", limit):
            return
        trace = _shown(result, tools, path, limit)
        if trace is None:
            return
        differ = _differ(trace, own)
        # What differs between two traces too differs once more in another run.
        if not differ:
            break
        own.append(trace)
    calls = sum(sum(names.values()) for names in trace.counts.values())
    size = os.path.getsize(path)
    if differ or not own:
        result.problems.append(f"cutap record: other counts than cutap trace: {differ or 'no such run'}")
    else:
        result.proved.append(
            f"cutap record: {calls} calls, counts of each function as with cutap trace; {size / max(calls, 1):.1f} bytes a call"
        )


def _shown(result, tools, path, limit):
    shown = processes.run([tools.cutap, "show", "-c", "--json", path], limit)
    if shown.code != 0 or shown.err:
        result.problems.append(f"cutap show of a recording: exit {shown.code}, says {shown.err[:300]!r}")
        return None
    out = path + ".json"
    with open(out, "wb") as f:
        f.write(shown.out)
    trace = check.read(result, "cutap show of a recording", check.counts.read_trace, out)
    if trace:
        result.problems.extend(f"cutap record lost records: {text}" for text in check.counts.lost(trace))
    return trace


def _differ(trace, own):
    """Functions whose number no trace of the same program has."""
    differ = {}
    for layer, seen in trace.counts.items():
        names = set(seen).union(*(other.counts[layer] for other in own))
        for name in sorted(names):
            numbers = {other.counts[layer][name] for other in own}
            if numbers and not min(numbers) <= seen[name] <= max(numbers):
                differ[f"{layer} {name}"] = (seen[name], sorted(numbers))
    return differ


def killed_in_training(result, tools):
    """PyTorch is killed in the middle of training; then its collector before it; then cutap and its collector."""
    for whom in ("the program", "the collector, then the program", "cutap and its collector"):
        _killed(result, tools, whom)


def _killed(result, tools, whom):
    folder = tempfile.mkdtemp(dir=tools.work, prefix="killed.")
    path, said, run = (os.path.join(folder, name) for name in ("run.cutap", "steps", "run"))
    both = whom == "cutap and its collector"
    steps = [str(3 * STEPS)] if both else []
    program = [sys.executable, os.path.join(HERE, "torch_endless.py"), said, *steps]
    argv = [tools.cutap, "record", "--run-dir", run, "-o", path, "--", *program]
    what = f"{whom} killed in training"
    front = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    pid = None
    try:
        until = time.monotonic() + 60
        while _steps(said) < STEPS and front.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        collector, pid = _children(front.pid)
        if whom != "the program":
            os.kill(collector, signal.SIGKILL)
        if both:
            front.kill()
            front.wait()
            while _lives(pid) and time.monotonic() < until:
                time.sleep(0.05)
        else:
            before = _steps(said)
            while _steps(said) < before + 50 and time.monotonic() < until:
                time.sleep(0.01)
            os.kill(pid, signal.SIGKILL)
        words = front.communicate(timeout=60)[1]
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        result.problems.append(f"{what}: {error!r}")
        return
    finally:
        for process in (front.pid, pid):
            if process:
                try:
                    os.kill(process, signal.SIGKILL)
                except OSError:
                    pass
        front.wait()
    if front.returncode != -signal.SIGKILL:
        result.problems.append(f"{what}: cutap ended with {front.returncode}, not by signal 9")
    if both:
        taken = processes.run([tools.cutap, "recover", run, "-o", path], 60)
        if taken.code != 0:
            result.problems.append(f"{what}: cutap recover: exit {taken.code}, {taken.err[:300]!r}")
            return
    trace = _shown(result, tools, path, 60)
    if trace is None:
        return
    done, seen = _steps(said), trace.counts["runtime"]["cudaDeviceSynchronize"]
    # The number is written a moment after the call has returned.
    if not done <= seen <= done + 1 or done < STEPS:
        result.problems.append(f"{what}: {done} steps, and {seen} cudaDeviceSynchronize in the file; said {words[:300]!r}")
    else:
        result.proved.append(f"{what}: all {done} steps before it are in the file, {json.dumps(seen)} synchronisations")


def _steps(said):
    try:
        with open(said, "rb") as f:
            return int(f.read() or 0)
    except (OSError, ValueError):
        return 0


def _lives(pid):
    """A process that is not only waiting to be collected by whoever got it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rsplit(") ", 1)[1][0] not in "ZX"
    except OSError:
        return False


def _children(front):
    """The collector and the program, children of cutap."""
    with open(f"/proc/{front}/task/{front}/children", encoding="ascii") as f:
        children = [int(pid) for pid in f.read().split()]
    named = {}
    for pid in children:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            named[b"__collect" in f.read()] = pid
    return named[True], named[False]
