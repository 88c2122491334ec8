"""The markdown report: what was run where, one table, every difference with its reason."""

import statistics
from collections import defaultdict


def _seconds(walls):
    return f"{statistics.median(walls):.2f}" if walls else "-"


def _unique(texts):
    return list(dict.fromkeys(texts))


def problems(result):
    """All reasons why this program fails, each once."""
    found = _unique(result.problems)
    for item in result.differences:
        if not item.explained:
            found.append(
                f"UNEXPLAINED: {item.layer} {item.name}: cutap {item.ours}, CUPTI {item.cupti}"
                + (f" (in part: {'; '.join(r for r in item.rules if r != 'UNEXPLAINED')})" if len(item.rules) > 1 else "")
            )
    return found


def _pair(result, layer):
    ours = sum(result.ours.counts[layer].values()) if result.ours else "-"
    theirs = sum(result.cupti[0].counts[layer].values()) if result.cupti else "-"
    return f"{ours} / {theirs}"


def _same_output(result):
    bad = ("another output", "exit code", "HANG")
    return "no" if any(word in text for text in result.problems for word in bad) else "yes"


def _row(result):
    own = result.stream or result.ours
    runs = min(len(result.plain_walls), len(result.traced_walls))
    open_ones = sum(not item.explained for item in result.differences)
    return [
        result.program.name,
        "FAIL" if problems(result) else "ok",
        _same_output(result),
        str(result.plain.code) if result.plain else "-",
        f"{_seconds(result.plain_walls)} / {_seconds(result.traced_walls)} ({runs})",
        str(len(own.instances)) if own else "-",
        _pair(result, "runtime"),
        _pair(result, "driver"),
        str(sum(result.ours.counts["library"].values())) if result.ours else "-",
        f"{len(result.differences) - open_ones} + {open_ones}" if result.cupti else "-",
    ]


HEAD = [
    "program", "result", "same output", "exit code", "wall s, plain / traced (runs)", "instances",
    "runtime calls, cutap / CUPTI", "driver calls, cutap / CUPTI", "library calls",
    "functions that differ, explained + unexplained",
]


def _differences(result):
    """Lines that group the functions by the rules that explain them."""
    groups = defaultdict(list)
    for item in result.differences:
        groups[" and ".join(item.rules)].append(item)
    for rule, items in sorted(groups.items()):
        names = ", ".join(f"{i.name} {i.ours}/{i.cupti}" for i in items)
        total = sum(i.ours - i.cupti for i in items)
        yield f"  - {rule} ({total:+d} calls): {names}"


def _about(result):
    yield f"- **{result.program.name}**"
    for text in problems(result):
        yield f"  - **{text}**"
    own = result.stream or result.ours
    if own and own.instances:
        yield "  - runtime instances: " + ", ".join(f"{library} {version}" for library, version in sorted(own.instances))
    if result.text:
        yield f"  - text: {result.text.lines} lines, {result.text.calls} calls, {result.text.nested} nested"
    if result.cupti:
        yield (
            f"  - CUPTI: {result.cupti[0].processes} process(es),"
            f" {result.cupti[0].late} calls after its exit handler ran"
        )
    yield from _differences(result)
    for note in _unique(result.notes):
        yield f"  - note: {note}"


def markdown(machine, results, skipped, no_cupti, seconds):
    """The whole report as one string."""
    failed = [result for result in results if problems(result)]
    lines = ["# cutap on a GPU", ""]
    lines += [f"- {key}: {value}" for key, value in machine]
    lines += [f"- this run: {seconds:.0f} s", ""]
    if not results:
        lines.append("**Result: no program could be run.**")
    elif failed:
        lines.append(f"**Result: {len(failed)} of {len(results)} programs FAIL.**")
    else:
        lines.append(f"**Result: all {len(results)} programs ok.**")
    lines += ["", "| " + " | ".join(HEAD) + " |", "|" + " --- |" * len(HEAD)]
    lines += ["| " + " | ".join(_row(result)) + " |" for result in results]
    lines += [
        "",
        "Wall times are medians of alternating runs (plain, `cutap trace -c --json`), start of the program included.",
        "Counts differ where cutap's / CUPTI's numbers below say so, and only there.",
        "",
    ]
    for result in results:
        lines += _about(result)
    if skipped or no_cupti:
        lines += ["", "Skipped:", ""]
        lines += [f"- {program.name}: {program.skip}" for program in skipped]
        if no_cupti:
            lines.append(f"- the comparison with CUPTI, for every program: {no_cupti}")
    return "\n".join(lines) + "\n"


def details(results):
    """Dumps, outputs and heads of traces, for whoever looks for a cause."""
    parts = []
    for result in results:
        for text in _unique(result.details):
            parts.append(f"==== {result.program.name}: {text}\n")
    return "\n".join(parts)
