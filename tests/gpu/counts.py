"""Reads what cutap and the CUPTI counter wrote; adds up, judges nothing.

A file that cannot be read as promised is an error with its line, never a smaller count.
"""

import glob
import json
import os
import re
from collections import Counter
from dataclasses import dataclass, field


class Unreadable(Exception):
    """One sentence about a file that is not what it should be."""


@dataclass
class Call:
    """One call of the ordered stream that `cutap trace --json` gives."""

    pid: int
    layer: str
    name: str
    start: int
    end: object  # None when it never finished
    state: str
    tid: int = 0


@dataclass
class Trace:
    """Counts per layer and name, and all else that one cutap JSON file says."""

    counts: dict = field(default_factory=lambda: {"runtime": Counter(), "driver": Counter(), "library": Counter()})
    errors: int = 0
    instances: set = field(default_factory=set)
    calls: list = field(default_factory=list)
    states: Counter = field(default_factory=Counter)
    ends: list = field(default_factory=list)
    processes: int = 0


def _objects(path):
    try:
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                try:
                    yield number, json.loads(line)
                except ValueError as error:
                    raise Unreadable(f"line {number} of cutap's JSON is not JSON: {error}: {line[:120]!r}") from None
    except OSError as error:
        raise Unreadable(f"cutap wrote no JSON: {error}") from None


def read_trace(path):
    """A file of `cutap trace --json`, with or without `-c`."""
    trace = Trace()
    for number, item in _objects(path):
        try:
            _take(trace, item)
        except (KeyError, TypeError) as error:
            raise Unreadable(f"line {number} of cutap's JSON lacks a promised field: {error!r}: {item}") from None
    if not trace.calls and not any(trace.counts.values()):
        raise Unreadable("cutap's JSON holds no call at all")
    return trace


def _take(trace, item):
    kind = item["type"]
    if kind == "summary":
        trace.counts[item["layer"]][item["name"]] += item["calls"]
        trace.errors += item["errors"]
    elif kind == "call":
        trace.counts[item["layer"]][item["name"]] += 1
        trace.states[item["state"]] += 1
        took = item["duration_ns"]
        end = None if took is None else item["start_ns"] + took
        trace.calls.append(
            Call(item["pid"], item["layer"], item["name"], item["start_ns"], end, item["state"], item["tid"])
        )
    elif kind == "instance":
        trace.instances.add(_instance(item))
    elif kind == "process":
        trace.processes += 1
    elif kind == "end":
        trace.ends.append(item)
    if kind in ("summary", "call") and item["layer"] == "runtime":
        trace.instances.add(_instance(item))


def _instance(item):
    """(file name, version); the version is empty while the instance has not said it."""
    return os.path.basename(str(item.get("library"))), item.get("runtime") or ""


def named_instances(trace):
    """The instances, sorted; a library's calls before it said its version are no second one."""
    told = {library for library, version in trace.instances if version}
    return sorted((library, version) for library, version in trace.instances if version or library not in told)


def lost(trace):
    """Numbers above zero under any key that speaks of dropped or lost records."""
    found = []

    def walk(value, key):
        if isinstance(value, dict):
            for name, inner in value.items():
                walk(inner, name)
        elif isinstance(value, list):
            for inner in value:
                walk(inner, key)
        elif re.search("drop|lost", key) and isinstance(value, (int, float)) and value > 0:
            found.append(f"{key} = {value}")

    for end in trace.ends:
        walk(end, "")
    return found


@dataclass
class Cupti:
    """Counts of one run under the CUPTI counter, over all of its processes."""

    counts: dict = field(default_factory=lambda: {"runtime": Counter(), "driver": Counter()})
    known: dict = field(default_factory=lambda: {"runtime": set(), "driver": set()})
    processes: int = 0
    late: int = 0


def read_cupti(folder):
    """Sums PID.json over the processes; an error that the counter noted is raised."""
    result = Cupti()
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        try:
            with open(path, encoding="utf-8") as f:
                data = json.load(f)
        except (OSError, ValueError) as error:
            raise Unreadable(f"the CUPTI counter's file {path}: {error}") from None
        if "error" in data:
            raise Unreadable(f"the CUPTI counter failed: {data['error']}")
        for layer in ("runtime", "driver"):
            if path.endswith(".names.json"):
                result.known[layer].update(data[layer])
            else:
                result.counts[layer].update(data[layer])
        if not path.endswith(".names.json"):
            result.processes += 1
            result.late += data["late"]
    if result.processes == 0:
        raise Unreadable("the CUPTI counter wrote nothing: the driver did not load it, or the process ended without exit handlers")
    return result


PREFIX = re.compile(r"^\d+/\d+ ")


@dataclass
class Text:
    """What the tree output looks like, by counting."""

    lines: int = 0
    calls: int = 0
    nested: int = 0
    closed: int = 0
    unfinished: int = 0
    unwound: int = 0
    notes: list = field(default_factory=list)


def read_text(path):
    """A file of `cutap trace -o FILE`."""
    text = Text()
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            for line in f:
                text.lines += 1
                body = PREFIX.sub("", line.rstrip("\n"))
                if body.startswith("cutap: "):
                    text.notes.append(body)
                    continue
                if body.startswith("  "):
                    text.nested += 1
                if body.lstrip().startswith("} "):
                    text.closed += 1
                elif body.strip():
                    text.calls += 1
                text.unfinished += "= ? <unfinished>" in body
                text.unwound += "= ? <unwound>" in body
    except OSError as error:
        raise Unreadable(f"cutap wrote no text: {error}") from None
    return text
