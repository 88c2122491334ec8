"""The ten questions without SQL: pyarrow reads, filters and groups, and windows over rows are loops of Python."""

import re

import pyarrow.compute as pc
import pyarrow.dataset as dataset


def table(folder, name):
    return dataset.dataset(f"{folder}/{name}", format="parquet", partitioning="hive").to_table()


def grouped(rows, keys, *sums):
    """Rows of keys and sums, as dictionaries."""
    return rows.group_by(keys).aggregate(list(sums)).to_pylist()


def ordered(rows, *keys):
    """By these columns, those with a minus downwards. What is not known comes last, and text is never downwards."""

    def place(row):
        parts = []
        for key in keys:
            value = row[key.removeprefix("-")]
            number = 0 if value is None else -value if key.startswith("-") else value
            parts.append((value is None, number))
        return parts

    return sorted(rows, key=place)


def picked(rows, *columns):
    return [tuple(row[column] for column in columns) for row in rows]


def groups_of(rows, *keys):
    """Lists of rows with equal keys."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def functions(folder):
    rows = grouped(table(folder, "functions"), ["library", "function"], ("calls", "sum"), ("self_ns", "sum"))
    for row in rows:
        row["self_ms"] = row["self_ns_sum"] / 1e6
    return picked(ordered(rows, "-self_ms", "library", "function")[:10], "library", "function", "calls_sum", "self_ms")


def copies(folder):
    calls = table(folder, "calls")
    calls = calls.filter(pc.and_(pc.is_valid(calls["bytes"]), pc.match_substring(calls["function"], "emcpy")))
    rows = grouped(calls, ["library"], ("bytes", "count"), ("bytes", "sum"))
    return picked(ordered(rows, "-bytes_sum", "library"), "library", "bytes_count", "bytes_sum")


def peaks(folder):
    answers = []
    for key, rows in groups_of(table(folder, "allocations").to_pylist(), "run", "rank", "pid", "memory").items():
        changes = [(row["start_ns"], row["bytes"]) for row in rows if row["bytes"] is not None]
        freed = [row for row in rows if row["bytes"] is not None and row["freed_ns"] is not None]
        changes += [(row["freed_ns"], -row["bytes"]) for row in freed]
        total, best = 0, None
        for at_ns, change in sorted(changes):
            total += change
            best = max(best or (total, -at_ns), (total, -at_ns))
        if best:
            answers.append((*key, best[0], -best[1]))
    return sorted(answers)


def errors(folder):
    keys = ["library", "function", "result_name", "range"]
    rows = grouped(table(folder, "errors"), keys, ([], "count_all"))
    return picked(ordered(rows, "-count_all", *keys), *keys, "count_all")


def waits(folder):
    calls = table(folder, "calls")
    is_wait = pc.ends_with(calls["function"], "ynchronize")
    rows = calls.filter(pc.and_(is_wait, pc.is_valid(calls["duration_ns"]))).to_pylist()
    columns = ["run", "rank", "tid", "function", "start_ns", "duration_ns"]
    return picked(ordered(rows, "-duration_ns", "start_ns", "run", "rank", "tid")[:10], *columns)


def launches(folder):
    ranges = [row for row in table(folder, "ranges").to_pylist() if row["duration_ns"] is not None]
    for row in ranges:
        row["step"] = re.sub("[0-9]+", "*", row["name"])
    groups = groups_of(ranges, "run", "rank", "domain", "step").values()
    steps = [row for rows in groups if len(rows) >= 3 for row in rows]
    calls = table(folder, "calls")
    is_launch = pc.and_(pc.equal(calls["layer"], "driver"), pc.is_valid(calls["kernel"]))
    by_thread = groups_of(calls.filter(is_launch).to_pylist(), "run", "rank", "tid")
    counts = {}
    for step in steps:
        end = step["start_ns"] + step["duration_ns"]
        calls = by_thread.get((step["run"], step["rank"], step["tid"]), [])
        count = sum(step["start_ns"] <= call["start_ns"] < end for call in calls)
        key = (step["run"], step["rank"], step["start_ns"], step["name"])
        if count:
            counts[key] = counts.get(key, 0) + count
    return [(run, rank, name, start, count) for (run, rank, start, name), count in sorted(counts.items())]


def idle(folder):
    work = table(folder, "gpu").to_pylist()
    work = [row for row in work if row["start_ns"] is not None and row["duration_ns"] is not None]
    answers = []
    for key, rows in groups_of(work, "run", "rank", "device").items():
        gaps, busy_until = [], None
        for row in sorted(rows, key=lambda row: row["start_ns"]):
            if busy_until is not None and row["start_ns"] > busy_until:
                gaps.append(row["start_ns"] - busy_until)
            busy_until = max(busy_until or 0, row["start_ns"] + row["duration_ns"])
        if gaps:
            answers.append((*key, len(gaps), sum(gaps) / 1e6, max(gaps)))
    return sorted(answers)


def spread(folder):
    sums = grouped(table(folder, "functions"), ["run", "rank", "function"], ("self_ns", "sum"))
    rows = []
    for (run, function), ranks in groups_of(sums, "run", "function").items():
        times = [rank["self_ns_sum"] / 1e6 for rank in ranks]
        of = {"run": run, "function": function, "least": min(times), "most": max(times), "spread": max(times) - min(times)}
        rows.append(of)
    return picked(ordered(rows, "-spread", "run", "function")[:10], "run", "function", "least", "most", "spread")


def leaks(folder):
    allocations = table(folder, "allocations")
    keys = ["run", "rank", "pid", "memory"]
    live = allocations.filter(pc.is_null(allocations["freed_ns"]))
    rows = grouped(live, keys, ([], "count_all"), ("bytes", "sum"))
    return picked(ordered(rows, *keys), *keys, "count_all", "bytes_sum")


def kernels(folder):
    of_driver = table(folder, "kernels")
    of_driver = of_driver.filter(pc.equal(of_driver["layer"], "driver"))
    rows = grouped(of_driver, ["kernel"], ("calls", "sum"), ("total_ns", "sum"), ("gpu_ns", "sum"))
    for row in rows:
        row["launch_ms"] = row["total_ns_sum"] / 1e6
        row["gpu_ms"] = None if row["gpu_ns_sum"] is None else row["gpu_ns_sum"] / 1e6
    return picked(ordered(rows, "-gpu_ms", "-launch_ms", "kernel"), "kernel", "calls_sum", "launch_ms", "gpu_ms")


# In the order of `cutap query --list`.
QUESTIONS = [functions, copies, peaks, errors, waits, launches, idle, spread, leaks, kernels]
