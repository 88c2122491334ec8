"""The markdown report: what was run where, one table, every difference with its reason."""

import statistics
from collections import defaultdict

import counts
import rules


def _seconds(walls):
    return f"{statistics.median(walls):.2f}" if walls else "-"


def _unique(texts):
    return list(dict.fromkeys(texts))


def problems(result):
    """All reasons why this program fails, each once."""
    found = _unique(result.problems)
    for item in result.differences:
        if not item.explained:
            part = [rule for rule in item.rules if rule != rules.UNEXPLAINED]
            found.append(
                f"UNEXPLAINED: {item.layer} {item.name}: all runs: {item.runs}"
                + (f" (in part: {'; '.join(part)})" if part else "")
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
        str(len(counts.named_instances(own))) if own else "-",
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


def _differences(results):
    """Each reason once, with what it explains in every program."""
    every = defaultdict(list)
    for result in results:
        groups = defaultdict(list)
        for item in result.differences:
            groups[" and ".join(item.rules)].append(item)
        for reason, items in groups.items():
            total = sum(i.ours - i.cupti for i in items)
            names = ", ".join(f"{i.name} {i.ours}/{i.cupti}" + (f" (runs: {i.runs})" if i.runs else "") for i in items)
            every[reason].append(f"  - {result.program.name} ({total:+d}): {names}")
    for reason, lines in sorted(every.items()):
        yield f"- **{reason}**"
        yield from lines


def _about(result):
    """What there is to say about one program besides its row; nothing if there is nothing."""
    lines = list(_lines(result))
    return [f"- **{result.program.name}**", *lines] if lines else []


def _lines(result):
    for text in problems(result):
        yield f"  - **{text}**"
    own = result.stream or result.ours
    if own and own.instances:
        named = counts.named_instances(own)
        yield "  - runtime instances: " + ", ".join(f"{library} {version or '(no version)'}" for library, version in named)
    yield from _raw(own)
    if result.program.no_cupti:
        yield f"  - not run under the CUPTI counter: {result.program.no_cupti}"
    for text in result.proved:
        yield f"  - {text}"
    for note in _unique(result.notes):
        yield f"  - note: {note}"


def _raw(trace):
    """Arguments that were shown as plain addresses, and functions that nothing is known of."""
    for end in trace.ends if trace else []:
        raw = [f"{r['name']} ({', '.join(f'{p} {n}' for p, n in r['params'].items())})" for r in end.get("raw", [])]
        yield f"  - raw arguments: {'; '.join(raw) or 'none'}"
        unknown = [f"{r['name']} {r['calls']} [{r['library']}]" for r in end.get("undescribed", [])]
        if unknown:
            yield f"  - functions that no header declares: {'; '.join(unknown)}"


def _headline(results, no_cupti):
    """What was compared, and how it came out, in one sentence."""
    if not results:
        return "**No program could be run.**"
    failed = [result.program.name for result in results if problems(result)]
    same = sum(_same_output(result) == "yes" for result in results)
    counted = [result for result in results if result.cupti]
    equal = sum(all(item.explained for item in result.differences) for result in counted)
    differ = sum(len(result.differences) for result in counted)
    text = (
        f"**{len(results)} programs with and without cutap: same output and exit code, no hang, in {same};"
        f" runtime and driver call counts of each function against CUPTI's in {len(counted)}:"
        f" equal, or different for a reason given below, in {equal}"
        f" ({differ} functions differ, {sum(not i.explained for r in counted for i in r.differences)} unexplained)."
    )
    if no_cupti:
        text = f"**{len(results)} programs with and without cutap: same output and exit code, no hang, in {same}; counts were not compared."
    return text + (f" FAIL: {', '.join(failed)}.**" if failed else " All ok.**")


def markdown(machine, results, skipped, no_cupti, seconds):
    """The whole report as one string."""
    lines = ["# cutap on a GPU", "", _headline(results, no_cupti), ""]
    lines += [f"- {key}: {value}" for key, value in machine]
    lines += [f"- this run: {seconds:.0f} s", ""]
    lines += ["| " + " | ".join(HEAD) + " |", "|" + " --- |" * len(HEAD)]
    lines += ["| " + " | ".join(_row(result)) + " |" for result in results]
    lines += [
        "",
        "Wall times are medians of alternating runs (plain, `cutap trace -c --json`), one program at a time, start of the program included; programs without were not timed.",
        "",
    ]
    for result in results:
        lines += _about(result)
    if any(result.differences for result in results):
        lines += ["", "Counts that differ, cutap's / CUPTI's; all others are equal:", "", *_differences(results)]
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
