"""Why cutap's and CUPTI's counts of one function may differ; nothing else may.

CUPTI sees a window of the process: from inside the first cuInit to some point
during exit. Each rule takes from a difference no more than it can prove from the
ordered list of calls; what remains is UNEXPLAINED and fails the run.
"""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass

import teardown

BEFORE = "before CUPTI subscribed (up to the end of the process's first cuInit)"
ENCLOSING = "the runtime call in which the process's first cuInit ran"
AFTER = "after CUPTI ended (at exit: all calls of the function from one moment of the teardown on, the same moment for all)"
LATE = "somewhere in the teardown at exit, a part of which runs after CUPTI ended"
NO_ID = "CUPTI has no callback for this function"
INTERNAL = "no runtime reports this function by its callback table, CUPTI's only source; cutap sees it in shared runtimes, by bindings"
EXPORT_TABLE = "CUPTI has an id for cuGetExportTable, but the driver never reports a call"
ALIAS = "the same function under another of its names"
KERNEL_NAME = "made by the runtime only because CUPTI's launch callback is on"
VARIES = "the number varies from run to run, in one and the same tool too"
TOGETHER = "the program made another number of calls in separate runs; where both counted one and the same run, they agree"
UNEXPLAINED = "UNEXPLAINED"

LAUNCHES = re.compile(r"^_*cudaLaunch(Cooperative)?Kernel")
NAME_QUERIES = ("cuKernelGetName", "cuFuncGetName")
# CUPTI names them in its list of ids, but their code in the runtime holds no callback.
# __cudaLaunchKernel goes on to cudaLaunchKernel, and CUPTI counts it as that.
SILENT = re.compile(
    r"^(__cuda(Register\w+|UnregisterFatBinary|PushCallConfiguration|PopCallConfiguration|GetKernel|InitModule"
    r"|GetProcAddress|LaunchKernel(_ptsz)?)|cudaGetExportTable)$"
)
# What only happens at the very end; of other functions a weaker proof than one moment is not believed.
UNLOADS = re.compile(r"^(cuLibraryUnload|cuModuleUnload|cuDevicePrimaryCtxRelease(_v2)?)$")


@dataclass
class Difference:
    """One function whose counts differ, with the rules that explain it."""

    layer: str
    name: str
    ours: int
    cupti: int
    rules: list
    runs: str = ""  # the numbers of all runs, where they were asked for

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


def without_callback(layer, name, known):
    """Why CUPTI can report no call of this function, or None if it can."""
    if layer == "runtime" and SILENT.match(name):
        return INTERNAL
    if layer == "driver" and name == "cuGetExportTable":
        return EXPORT_TABLE
    return NO_ID if known[layer] and name not in known[layer] else None


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
            reason = without_callback(layer, name, known)
            if reason and excess > 0 and all(run[layer][name] == 0 for run in cupti_runs):
                item.rules.append(reason)
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
    for key in [k for k, (item, _) in rest.items() if set(item.rules) & {NO_ID, INTERNAL, EXPORT_TABLE}]:
        del rest[key]
    ends = teardown.suffixes(calls)
    _exit_calls(rest, ends, known)
    _varying(rest, ours_runs, cupti_runs, early)
    _unloads(rest, ends)
    for (layer, name), (item, _) in rest.items():
        item.rules.append(UNEXPLAINED)
        item.runs = _runs(layer, name, ours_runs, cupti_runs)
    return found


def settle(differences, together, known, calls):
    """What is still open, judged by runs that both tools counted at once.

    together: [(ours, cupti)], counts of one run each. A call that cutap invents, or CUPTI
    cannot see, is there too; a program that decides by time is not two programs there.
    """
    verdicts = [
        {(item.layer, item.name): item for item in explain([ours], [cupti], known, calls)} for ours, cupti in together
    ]
    for item in differences:
        if item.explained or not together:
            continue
        key = item.layer, item.name
        pairs = ", ".join(f"{ours[item.layer][item.name]}/{cupti[item.layer][item.name]}" for ours, cupti in together)
        item.runs += f"; counted together {pairs}"
        if all(key not in verdict or verdict[key].explained for verdict in verdicts):
            item.rules[item.rules.index(UNEXPLAINED)] = TOGETHER


def _aliases(rest):
    """Removes groups of names of one function whose differences cancel out."""
    groups = defaultdict(list)
    for (layer, name), (item, excess) in rest.items():
        groups[layer, base_name(name)].append((layer, name, item, excess))
    for members in groups.values():
        if len(members) > 1 and sum(excess for *_, excess in members) == 0:
            for layer, name, item, _ in members:
                item.rules = [rule for rule in item.rules if rule not in (NO_ID, INTERNAL)] + [ALIAS]
                del rest[layer, name]


def _runs(layer, name, ours_runs, cupti_runs):
    """The numbers of all runs, in their order."""
    ours, cupti = (", ".join(str(run[layer][name]) for run in runs) for runs in (ours_runs, cupti_runs))
    return f"cutap {ours}; CUPTI {cupti}"


def _varying(rest, ours_runs, cupti_runs, early):
    for (layer, name), (item, excess) in list(rest.items()):
        ours = [run[layer][name] for run in ours_runs]
        cupti = [run[layer][name] for run in cupti_runs]
        if _varies(ours, cupti, early[layer, name] if BEFORE in item.rules else 0):
            item.rules.append(VARIES)
            item.runs = _runs(layer, name, ours_runs, cupti_runs)
            del rest[layer, name]


def _exit_calls(rest, ends, known):
    """What cutap has more must be all that stands behind one moment of the teardown."""
    missing = {key: excess for key, (_, excess) in rest.items()}
    after = teardown.ended_at(ends, missing, lambda *key: key[0] != "library" and not without_callback(*key, known))
    for key, excess in missing.items():
        if 0 < excess == after[key]:
            rest[key][0].rules.append(AFTER)
            del rest[key]


def _unloads(rest, ends):
    """Unloads and releases that CUPTI lacks must at least stand in the teardown."""
    seen = Counter((call.layer, call.name) for own in ends.values() for call in own)
    for (layer, name), (item, excess) in list(rest.items()):
        if UNLOADS.match(name) and 0 < excess <= seen[layer, name]:
            item.rules.append(LATE)
            del rest[layer, name]
