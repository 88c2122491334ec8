"""Why cutap's and CUPTI's counts of one function may differ; nothing else may.

CUPTI sees a window of the process: from inside the first cuInit to some point
during exit. Each rule takes from a difference no more than it can prove from the
ordered list of calls; what remains is UNEXPLAINED and fails the run.
"""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass

BEFORE = "before CUPTI subscribed (up to the end of the process's first cuInit)"
ENCLOSING = "the runtime call in which the process's first cuInit ran"
AFTER = "after CUPTI ended (among the last calls of the process, at exit)"
NO_ID = "CUPTI has no callback for this function"
ALIAS = "the same function under another of its names"
KERNEL_NAME = "made by the runtime only because CUPTI's launch callback is on"
VARIES = "the number varies from run to run, in one and the same tool too"
UNEXPLAINED = "UNEXPLAINED"

# More exit calls than this are not believed to be CUPTI's end.
TAIL_LIMIT = 256
TAIL_SLACK = 32
LAUNCHES = re.compile(r"^_*cudaLaunch(Cooperative)?Kernel")
NAME_QUERIES = ("cuKernelGetName", "cuFuncGetName")


@dataclass
class Difference:
    """One function whose counts differ, with the rules that explain it."""

    layer: str
    name: str
    ours: int
    cupti: int
    rules: list

    @property
    def explained(self):
        return UNEXPLAINED not in self.rules


def base_name(name):
    """A name without version and stream suffixes: what two aliases have in common."""
    name = re.sub(r"^_+(?=cudaLaunch)", "", name)
    while True:
        shorter = re.sub(r"(_v\d+|_ptsz|_ptds)$", "", name)
        if shorter == name:
            return name
        name = shorter


def before_subscription(calls):
    """Two counts per (layer, name): calls before the end of the process's first cuInit, and
    runtime calls around it, which CUPTI may see or not: the runtime reads its callback
    flag after initialising.
    """
    first = {}
    for call in calls:
        if call.name == "cuInit" and call.end is not None:
            if call.pid not in first or call.start < first[call.pid].start:
                first[call.pid] = call
    before, around = Counter(), Counter()
    for call in calls:
        init = first.get(call.pid)
        if init is None or call.start > init.end:
            continue
        encloses = call.start < init.start and (call.end is None or call.end > init.end)
        group = around if encloses and call.layer == "runtime" else before
        group[call.layer, call.name] += 1
    return before, around


def tail(calls, length):
    """The last calls of each process, per (layer, name)."""
    by_process = defaultdict(list)
    for call in calls:
        if call.layer in ("runtime", "driver"):
            by_process[call.pid].append(call)
    counted = Counter()
    for own in by_process.values():
        own.sort(key=lambda call: call.start)
        counted.update((call.layer, call.name) for call in own[-length:])
    return counted


def _varies(ours, cupti, missing):
    """Whether two ranges of counts, at least one of them wide, come together."""
    width = max(ours) - min(ours) + max(cupti) - min(cupti)
    low, high = min(cupti) + missing - width, max(cupti) + missing + width
    return width > 0 and max(ours) >= low and min(ours) <= high


def explain(ours_runs, cupti_runs, known, calls):
    """All differences between the first run of each tool.

    ours_runs, cupti_runs: lists of {layer: Counter}, one per run, the first being the
    one that is compared; known: {layer: names for which CUPTI has an id};
    calls: the ordered calls of one cutap run.
    """
    ours, cupti = ours_runs[0], cupti_runs[0]
    early, around = before_subscription(calls)
    launches = sum(n for name, n in cupti["runtime"].items() if LAUNCHES.match(name))
    found, rest = [], {}
    for layer in ("runtime", "driver"):
        for name in sorted(set(ours[layer]) | set(cupti[layer])):
            excess = ours[layer][name] - cupti[layer][name]
            if excess == 0:
                continue
            item = Difference(layer, name, ours[layer][name], cupti[layer][name], [])
            found.append(item)
            if excess > 0 and known[layer] and name not in known[layer] and cupti[layer][name] == 0:
                item.rules.append(NO_ID)
                rest[layer, name] = (item, excess)
                continue
            taken = min(max(excess, 0), early[layer, name])
            if taken:
                item.rules.append(BEFORE)
            if 0 < excess - taken <= around[layer, name]:
                item.rules.append(ENCLOSING)
                taken = excess
            if layer == "driver" and name in NAME_QUERIES and 0 < -excess <= launches:
                item.rules.append(KERNEL_NAME)
                taken = excess
            if excess != taken:
                rest[layer, name] = (item, excess - taken)
    _aliases(rest)
    for key in [k for k, (item, _) in rest.items() if NO_ID in item.rules]:
        del rest[key]
    _varying(rest, ours_runs, cupti_runs, early)
    _exit_calls(rest, calls)
    for item, _ in rest.values():
        item.rules.append(UNEXPLAINED)
    return found


def _aliases(rest):
    """Removes groups of names of one function whose differences cancel out."""
    groups = defaultdict(list)
    for (layer, name), (item, excess) in rest.items():
        groups[layer, base_name(name)].append((layer, name, item, excess))
    for members in groups.values():
        if len(members) > 1 and sum(excess for *_, excess in members) == 0:
            for layer, name, item, _ in members:
                item.rules = [rule for rule in item.rules if rule != NO_ID] + [ALIAS]
                del rest[layer, name]


def _varying(rest, ours_runs, cupti_runs, early):
    for (layer, name), (item, excess) in list(rest.items()):
        ours = [run[layer][name] for run in ours_runs]
        cupti = [run[layer][name] for run in cupti_runs]
        if _varies(ours, cupti, early[layer, name] if BEFORE in item.rules else 0):
            item.rules.append(f"{VARIES} (cutap {min(ours)} to {max(ours)}, CUPTI {min(cupti)} to {max(cupti)})")
            del rest[layer, name]


def _exit_calls(rest, calls):
    """What cutap has more must be found among the last calls, and fill them."""
    missing = {key: excess for key, (_, excess) in rest.items() if excess > 0}
    total = sum(missing.values())
    if not 0 < total <= TAIL_LIMIT:
        return
    last = tail(calls, total + TAIL_SLACK)
    for key, excess in missing.items():
        if last[key] >= excess:
            rest[key][0].rules.append(AFTER)
            del rest[key]
