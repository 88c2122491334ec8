"""Everything that is done with one program: run, trace, count, compare.

Each check adds a sentence to `problems` (the run fails) or to `notes` (worth knowing);
nothing here prints.
"""

import os
import shutil
import tempfile
from dataclasses import dataclass, field

import counts
import facts
import processes
import rules
import teardown

# More rounds of both tools where a difference is open: what varies by itself shows itself.
ROUNDS = 3


@dataclass
class Tools:
    """What the checks work with."""

    cutap: str
    counter: str  # path of the counter library, or empty
    cupti: str  # path of libcupti, or empty
    no_cupti: str  # why there is no comparison with CUPTI
    work: str
    limit: float
    nsys: str = ""  # path of Nsight Systems' nsys, or empty


@dataclass
class Result:
    """What is known about one program."""

    program: object
    plain: object = None
    plain_walls: list = field(default_factory=list)
    traced_walls: list = field(default_factory=list)
    summaries: list = field(default_factory=list)
    stream: object = None
    text: object = None
    cupti: list = field(default_factory=list)
    differences: list = field(default_factory=list)
    problems: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    details: list = field(default_factory=list)
    proved: list = field(default_factory=list)  # what else was checked, and is right

    @property
    def hung(self):
        return any("HANG" in text for text in self.problems)

    @property
    def ours(self):
        return self.summaries[0] if self.summaries else None


def _shorten(data, size=2000):
    text = data.decode("utf-8", "replace")
    return text if len(text) <= size else text[: size // 2] + "\n[...]\n" + text[-size // 2 :]


def run_plain(result, tools):
    """The program as it is: the reference for all that follows."""
    run = processes.run(result.program.argv, tools.limit)
    if result.plain is None:
        result.plain = run
    if run.hung:
        result.problems.append(f"hangs without cutap too (limit {tools.limit:.0f} s)")
        result.details.append(f"plain run, at the limit:\n{run.dump}\nstderr:\n{_shorten(run.err)}")
    elif run.code != 0:
        result.problems.append(f"fails without cutap: exit {run.code}")
        result.details.append(f"plain run, stdout and stderr:\n{_shorten(run.out)}\n{_shorten(run.err)}")
    elif run.out != result.plain.out:
        result.problems.append("prints something else in each plain run: its output cannot be compared")
    return run


def same(result, run, what, limit):
    """Compares output and exit code with the plain run; False if the run is of no use."""
    plain = result.plain
    if run.hung:
        result.problems.append(f"{what}: HANG, not over after {limit:.0f} s (plain: {plain.wall:.1f} s)")
        result.details.append(f"{what}, at the limit:\n{run.dump}\nstdout:\n{_shorten(run.out)}\nstderr:\n{_shorten(run.err, 8000)}")
        return False
    if run.code != plain.code:
        result.problems.append(f"{what}: exit code {run.code}, without {plain.code}")
        result.details.append(f"{what}, stdout and stderr:\n{_shorten(run.out)}\n{_shorten(run.err, 8000)}")
    if run.out != plain.out:
        result.problems.append(f"{what}: another output")
        result.details.append(f"{what}, plain stdout:\n{_shorten(plain.out)}\nthis stdout:\n{_shorten(run.out)}")
    if run.err != plain.err:
        note = f"{what}: another stderr (see details)"
        result.notes.append(note)
        result.details.append(f"{what}, stderr:\n{_shorten(run.err)}")
    if run.left:
        result.problems.append(f"{what}: processes left behind two seconds after the end")
        result.details.append(f"{what}, left behind:\n{run.left}")
    return True


def _limit(result, tools):
    """Seconds for a run that is not plain: generous, but one hang must not eat the whole test."""
    return min(tools.limit, 30 + 4 * result.plain.wall)


def run_traced(result, tools, what, options, env=None):
    """The program under `cutap trace`: the path of cutap's file, or None, and the run."""
    handle, path = tempfile.mkstemp(dir=tools.work, prefix=result.program.name + ".")
    os.close(handle)
    os.unlink(path)  # cutap is to make it
    argv = [tools.cutap, "trace", *options, "-o", path, "--", *result.program.argv]
    limit = _limit(result, tools)
    run = processes.run(argv, limit, env)
    return (path if same(result, run, what, limit) else None), run


def read(result, what, reader, path):
    try:
        return reader(path)
    except counts.Unreadable as error:
        result.problems.append(f"{what}: {error}")
        return None


def summary(result, tools):
    """One run of `cutap trace -c --json`; gives that run."""
    path, run = run_traced(result, tools, "cutap -c --json", ["-c", "--json"])
    if path:
        trace = read(result, "cutap -c --json", counts.read_trace, path)
        if trace:
            result.summaries.append(trace)
    return run


def stream(result, tools):
    """One run with a JSON line a call: order of calls, instances, gaps."""
    said = os.path.join(tools.work, result.program.name + ".facts")
    path, _ = run_traced(result, tools, "cutap --json", ["--json"], {"CUTAP_FACTS": said})
    if path:
        result.stream = read(result, "cutap --json", counts.read_trace, path)
    if result.stream:
        check_facts(result, facts.read(said), path)
    if result.stream:
        result.problems.extend(f"cutap lost records: {text}" for text in counts.lost(result.stream))
        result.details.extend(f"cutap's end record: {end}" for end in result.stream.ends)


def check_facts(result, said, path):
    """Decoded arguments against what the program itself says of its calls."""
    if not said:
        return
    shown, missing = facts.check(said, path)
    result.problems.extend(missing)
    result.proved.append(f"arguments: {shown} of {len(said)} calls as the program itself says")


def text(result, tools):
    """One run with the tree as text."""
    path, _ = run_traced(result, tools, "cutap, text", [])
    if not path:
        return
    result.text = seen = read(result, "cutap, text", counts.read_text, path)
    if seen is None:
        return
    if seen.calls == 0:
        result.problems.append("cutap, text: no call in the output")
    elif "runtime" in result.program.layers and seen.nested == 0:
        result.problems.append("cutap, text: no call is nested in another, the output is no tree")
    with open(path, encoding="utf-8", errors="replace") as f:
        head = "".join(line for _, line in zip(range(60), f))
    result.details.append(f"head of the text output:\n{head}")
    result.details.append("cutap's own messages:\n" + "\n".join(seen.notes[:60]))


def cupti(result, tools):
    """One run under the CUPTI counter."""
    folder, env = _cupti_folder(result, tools)
    run = processes.run(result.program.argv, _limit(result, tools), env)
    if run.hung or run.code != result.plain.code:
        state = "hangs" if run.hung else f"exits with {run.code}"
        result.problems.append(f"CUPTI run: {state}; no comparison")
        result.details.append(f"CUPTI run:\n{run.dump}\n{_shorten(run.err)}")
        return
    seen = read(result, "CUPTI run", counts.read_cupti, folder)
    if seen:
        result.cupti.append(seen)
    shutil.rmtree(folder, ignore_errors=True)


def _cupti_folder(result, tools):
    folder = tempfile.mkdtemp(dir=tools.work, prefix=result.program.name + ".cupti.")
    return folder, {"CUDA_INJECTION64_PATH": tools.counter, "CUPTI_LIB": tools.cupti, "CUPTI_COUNTS_DIR": folder}


def together(result, tools):
    """One run that cutap and CUPTI count at once: (cutap's counts, CUPTI's), or None.

    Only asked where separate runs leave something open, so a failure here is a note.
    """
    folder, env = _cupti_folder(result, tools)
    path = os.path.join(folder, "cutap.trace")
    argv = [tools.cutap, "trace", "-c", "--json", "-o", path, "--", *result.program.argv]
    run = processes.run(argv, _limit(result, tools), env)
    try:
        if run.hung or run.code != result.plain.code:
            raise counts.Unreadable("hangs" if run.hung else f"exit {run.code}")
        return counts.read_trace(path).counts, counts.read_cupti(folder).counts
    except counts.Unreadable as error:
        result.notes.append(f"cutap and CUPTI in one run: {error}")
        result.details.append(f"cutap and CUPTI in one run:\n{run.dump}\n{_shorten(run.err)}")
        return None


def check_all(result, tools):
    """All runs of one program but the timed ones; after a hang no other traced run is tried."""
    for step in (summary, stream, text):
        if result.hung:
            result.notes.append(f"no run of kind '{step.__name__}' after the hang")
        else:
            step(result, tools)
    if not tools.no_cupti and not result.program.no_cupti:
        cupti(result, tools)
    explain(result, tools)
    check_layers(result)


def check_layers(result):
    """Each layer that the program certainly uses must have calls."""
    for trace, what in ((result.ours, "-c --json"), (result.stream, "--json")):
        if trace is None:
            continue
        for layer in sorted(result.program.layers):
            if not trace.counts[layer]:
                result.problems.append(f"cutap {what}: not a single {layer} call")
    if result.stream and result.text and len(result.stream.calls) != result.text.calls:
        result.notes.append(f"text shows {result.text.calls} calls, JSON {len(result.stream.calls)} (two runs)")
    if result.text and (result.text.unfinished or result.text.unwound):
        result.notes.append(f"text: {result.text.unfinished} unfinished, {result.text.unwound} unwound calls")
    if result.stream and result.ours:
        differ = [
            f"{layer} {name} {result.ours.counts[layer][name]}/{result.stream.counts[layer][name]}"
            for layer in ("library", "runtime", "driver")
            for name in sorted(set(result.ours.counts[layer]) | set(result.stream.counts[layer]))
            if result.ours.counts[layer][name] != result.stream.counts[layer][name]
        ]
        if differ:
            result.notes.append(f"cutap's own two runs (-c --json / --json) differ in: {', '.join(differ[:20])}")


def explain(result, tools):
    """Compares the counts; where something is open, more runs show what varies by itself."""
    if not result.ours or not result.cupti:
        return
    _explain(result)
    for _ in range(ROUNDS):
        if all(item.explained for item in result.differences):
            return
        cupti(result, tools)
        summary(result, tools)
        _explain(result)
    if all(item.explained for item in result.differences):
        return
    pairs = [pair for pair in (together(result, tools) for _ in range(2)) if pair]
    calls = result.stream.calls if result.stream else []
    # Where these stand is worth knowing even when the runs together agree.
    if calls:
        result.details.append("the end of the program:\n" + teardown.describe(calls))
        for item in result.differences:
            if not item.explained:
                result.details.append(teardown.places(calls, item.name))
    rules.settle(result.differences, pairs, result.cupti[0].known, calls)


def _explain(result):
    own = [trace.counts for trace in result.summaries]
    calls = []
    if result.stream:
        own.append(result.stream.counts)
        calls = result.stream.calls
    seen = [run.counts for run in result.cupti]
    result.differences = rules.explain(own, seen, result.cupti[0].known, calls)
