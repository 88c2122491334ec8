"""Counts and times of kernels by name: cutap beside a small separate CUPTI program and beside torch.profiler, in
other runs.
"""

import collections
import ctypes
import json
import os
import statistics

import tools
from tools import build, python, result

ROUNDS = tools.number("COUNT_ROUNDS", 4)
LAUNCHES = tools.number("LAUNCHES", 2000)


def demangled(name):
    """As c++filt."""
    library = ctypes.CDLL("libstdc++.so.6")
    demangle = library.__cxa_demangle
    demangle.restype = ctypes.c_char_p
    status = ctypes.c_int()
    text = demangle(name.encode(), None, None, ctypes.byref(status))
    return text.decode() if status.value == 0 and text else name


def base(name):
    """Without return type, template arguments and parameters: two demanglers may write these in two ways."""
    name = name.replace("(anonymous namespace)", "anonymous").replace("void ", "", 1)
    return name.split("<")[0].split("(")[0].strip()


def different(ours, theirs):
    """The names whose counts differ. Names that only one side has are compared by what `base` keeps of them."""
    common = ours.keys() & theirs.keys()
    wrong = {name: (ours[name], theirs[name]) for name in common if ours[name] != theirs[name]}
    rests = []
    for of in (ours, theirs):
        rest = collections.Counter()
        for name in of.keys() - common:
            rest[base(name)] += of[name]
        rests.append(rest)
    wrong |= {
        name: (rests[0][name], rests[1][name]) for name in rests[0] | rests[1] if rests[0][name] != rests[1][name]
    }
    return wrong


def injected(library, name, command):
    """Counts and milliseconds by the injection alone."""
    file = os.path.join(tools.WORK, name + ".counts")
    variables = {"CUDA_INJECTION64_PATH": library, "GPU_TIME_COUNTS": file, "CUPTI_LIB": tools.cupti()}
    done = tools.plain(command, **variables)
    counts, ns = collections.Counter(), 0
    if not os.path.exists(file):
        tools.say(f"  {name}: the injection wrote nothing: {done.last_error()}")
        return counts, 0
    with open(file, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            count, time, _, kernel = line.rstrip("\n").split(" ", 3)
            counts[demangled(kernel)] += int(count)
            ns += int(time)
    return counts, ns / 1e6


def recorded(name, command):
    tools.record(name, command)
    counts, ns = collections.Counter(), 0
    for line in tools.lines_of(
        "report", "--by", "kernel", "--json", tools.file_of(name), having=('"type":"gpu_kernel"',)
    ):
        counts[line["kernel"]] += line["calls"]
        ns += line["total_ns"]
    return counts, ns / 1e6


def beside_injection(library, name, command):
    """Interleaved runs; cutap's counts, for a later comparison."""
    theirs, ours = [], []
    for number in range(ROUNDS):
        theirs.append(injected(library, f"{name}{number}", command))
        ours.append(recorded(name, command))
    wrong = [different(one[0], theirs[0][0]) for one in ours] + [different(one[0], theirs[0][0]) for one in theirs]
    kernels, names = sum(ours[0][0].values()), len(ours[0][0])
    first = next((str(of)[:200] for of in wrong if of), "none")
    result(kernels > 0 and not any(wrong), f"counts {name}", f"{kernels} kernels of {names} names, different: {first}")
    times = [[run[1] for run in runs] for runs in (ours, theirs)]
    middle = [statistics.median(of) for of in times]
    apart, spread = abs(middle[0] - middle[1]), max(times[1]) - min(times[1])
    text = "; ".join(f"{who} {' '.join(f'{ms:.3f}' for ms in of)} ms" for who, of in zip(("cutap", "injection"), times))
    result(
        middle[0] > 0 and apart <= spread,
        f"times {name}",
        f"medians differ by {apart:.3f} ms, the injection's runs by {spread:.3f}: {text}",
    )
    return ours[0][0]


def main():
    library = build("count_injection.so", "gpu_time_count_injection.c")
    if not library:
        return
    if threads := build("threads", "gpu_time_threads.cu"):
        beside_injection(library, "threads", [threads, str(LAUNCHES)])
    ours = beside_injection(library, "torch", python("gpu_time_counts.py", "plain"))
    profiled = tools.plain(python("gpu_time_counts.py", "profile"))
    if profiled.code != 0:
        result(False, "counts torch.profiler", profiled.last_error())
        return
    theirs = collections.Counter(json.loads(profiled.out.splitlines()[-1]))
    wrong = different(ours, theirs)
    result(
        not wrong and bool(theirs),
        "counts torch.profiler",
        f"{sum(theirs.values())} kernels, different: {str(wrong)[:200] if wrong else 'none'}",
    )


main()
