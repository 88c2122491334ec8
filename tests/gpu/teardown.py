"""The end of a process, as the ordered list of calls shows it, and where CUPTI ended in it.

At exit CUPTI's subscriber goes with its library, while destructors of other libraries still
unload modules and release contexts. Nothing here judges: rules.py does.
"""

import re
from collections import Counter, defaultdict

# What destructors do: give back, look which context is current, wait. A call of anything
# else (a copy, a launch, an allocation) shows that the program was still at work.
NAMES = re.compile(
    r"""^(
    __cudaUnregisterFatBinary
    | cu(Library|Module)Unload | cuLinkDestroy | cu(Array|MipmappedArray|TexObject|SurfObject)Destroy
    | cuDevicePrimaryCtxRelease | cuCtxDestroy | cuCtx(Get|Set|Push|Pop)Current | cuCtxGetDevice
    | cuDevicePrimaryCtxGetState | cu(Ctx|Stream|Event)Synchronize | cuEventQuery
    | cu(Event|Stream|Graph|GraphExec|MemPool)Destroy | cuMemFree(Host|Async)? | cuMemHostUnregister
    | cuMem(Unmap|Release|AddressFree) | cuIpcCloseMemHandle
    | cudaFree(Host|Async)? | cudaHostUnregister | cuda(Event|Stream|Graph|GraphExec|MemPool)Destroy
    | cuda[GS]etDevice | cuda(Device|Stream|Event)Synchronize | cudaEventQuery
    | cuda(GetLast|PeekAtLast)Error | cudaIpcCloseMemHandle
    | (cublas|cudnn|cusolver|cusparse|cufft|curand|nvrtc|nvJitLink|nccl)\w*Destroy\w*
    )(_v\d+)?(_ptsz|_ptds)?$""",
    re.VERBOSE,
)


def suffixes(calls):
    """{pid: the longest end of its calls, all threads together, that is teardown only}"""
    by_process = defaultdict(list)
    for call in calls:
        by_process[call.pid].append(call)
    found = {}
    for pid, own in by_process.items():
        own.sort(key=lambda call: call.start)
        at = len(own)
        while at and NAMES.match(own[at - 1].name):
            at -= 1
        found[pid] = own[at:]
    return found


def ended_at(ends, missing, visible):
    """The moment in a teardown that explains best what CUPTI missed: a Counter of the calls
    after it, per (layer, name). After CUPTI's end it misses every call, before it none.

    missing: {(layer, name): calls that CUPTI lacks}; visible: whether CUPTI reports a name.
    """
    best, found = 0, Counter()
    for own in ends.values():
        after = Counter()
        for call in reversed(own):
            key = call.layer, call.name
            if not visible(*key):
                continue
            after[key] += 1
            score = sum(n if missing.get(k) == n else -n for k, n in after.items())
            if score > best:
                best, found = score, Counter(after)
    return found


def describe(calls):
    """Where the teardown of each process begins and what stands in it, for whoever has to judge."""
    lines = []
    for pid, own in suffixes(calls).items():
        all_own = sorted((c for c in calls if c.pid == pid), key=lambda call: call.start)
        before = [call.name for call in all_own[: len(all_own) - len(own)][-5:]]
        lines.append(f"process {pid}: its last {len(own)} of {len(all_own)} calls are teardown, after {', '.join(before)}:")
        runs = []
        for call in own:
            if runs and runs[-1][0] == call.name:
                runs[-1][1] += 1
            else:
                runs.append([call.name, 1])
        shown = [name if n == 1 else f"{name} x{n}" for name, n in runs]
        lines.append("  " + ", ".join(shown if len(shown) <= 120 else shown[:40] + ["[...]"] + shown[-80:]))
    return "\n".join(lines)


def places(calls, name, most=12):
    """Where calls of one function stand, the last ones first: its number from the end, thread, neighbours."""
    ordered = sorted(calls, key=lambda call: call.start)
    lines = []
    for at in range(len(ordered) - 1, -1, -1):
        if ordered[at].name != name:
            continue
        call = ordered[at]
        around = [c.name for c in ordered[max(0, at - 3) : at + 4]]
        lines.append(f"  {len(ordered) - at} from the end, process {call.pid} thread {call.tid}: {' '.join(around)}")
        if len(lines) == most:
            break
    return f"the last calls of {name} in cutap's stream:\n" + "\n".join(lines)
