"""What hooks change on a real GPU: memory that is refused, calls of linked-in runtimes that are answered, and a hook that does
nothing around every call. The hooks are built by run.sh from tests/programs/hooks."""

import os
import shutil
import subprocess
import sys
import tempfile

import counts
import processes

HERE = os.path.dirname(os.path.abspath(__file__))


def _hook(result, tools, name):
    """The library's path; none, with a note, if it could not be built."""
    path = os.path.join(os.path.dirname(tools.counter), f"hook_{name}.so")
    if os.path.exists(path):
        return path
    result.notes.append(f"not tried under hooks: {os.path.basename(path)} was not built (no C compiler?)")
    return None


def _run(tools, words, hook, argv, env=None):
    return processes.run([tools.cutap, *words, "--hook", hook, "--", *argv], tools.limit, env)


def _expect(result, what, run, checks):
    """All checks, (what is expected, whether it is so); the output is kept for whoever looks for a cause."""
    wrong = [text for text, right in checks if not right]
    if run.hung:
        wrong = ["HANG"]
    if wrong:
        result.problems.append(f"{what}: {'; '.join(wrong)}")
        out, err = (text.decode("utf-8", "replace")[-6000:] for text in (run.out, run.err))
        result.details.append(f"{what}, exit {run.code}, stdout and stderr:\n{run.dump}\n{out}\n{err}")
    else:
        result.proved.append(what + ": " + "; ".join(text for text, _ in checks))


def nothing(result, tools):
    """A hook that does nothing, before and after every call of every layer: the program must not notice."""
    hook = _hook(result, tools, "nothing")
    if hook is None:
        return
    run = _run(tools, ["run"], hook, result.program.argv)
    checks = [("same output", run.out == result.plain.out), ("same exit code", run.code == result.plain.code)]
    _expect(result, "a hook that does nothing around every call", run, checks)


# What a runtime asks the driver only because a launch is watched (docs/how-to/write-a-hook.md).
OURS = {"cuKernelGetName", "cuKernelGetFunction", "cuFuncGetName"}


def other_counts(before, under):
    """Functions that CUPTI has seen another number of times under hooks: (layer, name, before, under)."""
    other = []
    for layer in ("runtime", "driver"):
        for name in sorted(set(before[layer]) | set(under[layer])):
            pair = before[layer][name], under[layer][name]
            if pair[0] != pair[1] and name not in OURS:
                other.append((layer, name, *pair))
    return other


def with_cupti(result, tools):
    """CUPTI's callbacks and hooks in one process: the program says the same, and CUPTI counts what it counts without hooks."""
    hook = _hook(result, tools, "nothing")
    if hook is None or tools.no_cupti or result.program.no_cupti or not result.cupti:
        return
    folder = tempfile.mkdtemp(dir=tools.work, prefix=result.program.name + ".hooked.")
    env = {"CUDA_INJECTION64_PATH": tools.counter, "CUPTI_LIB": tools.cupti, "CUPTI_COUNTS_DIR": folder}
    run = _run(tools, ["run"], hook, result.program.argv, env)
    checks = [("same output", run.out == result.plain.out), ("same exit code", run.code == result.plain.code)]
    try:
        other = other_counts(result.cupti[0].counts, counts.read_cupti(folder).counts)
        text = ", ".join(f"{name} {before} without and {under} with" for _, name, before, under in other[:10])
        checks.append(("CUPTI counts the same" + (f" ({text})" if other else ""), not other))
    except counts.Unreadable as error:
        checks.append((f"CUPTI counts: {error}", False))
    _expect(result, "a hook that does nothing around every call, and CUPTI's callbacks", run, checks)


def answered(result, tools):
    """cudaMalloc of a stripped program whose runtime is linked in is answered: out of memory."""
    hook = _hook(result, tools, "refuse_large")
    if hook is None:
        return
    program = os.path.join(tools.work, result.program.name + ".stripped")
    shutil.copy(result.program.argv[0], program)
    strip = shutil.which("strip")
    if strip:
        subprocess.run([strip, program], check=True)
    trace = os.path.join(tools.work, result.program.name + ".hooked")
    run = _run(tools, ["trace", "-o", trace], hook, [program], {"HOOK_LIMIT": "1000"})
    text = ""
    if os.path.exists(trace):
        with open(trace, encoding="utf-8", errors="replace") as f:
            text = f.read()
    mallocs = [line for line in text.splitlines() if "cudaMalloc(" in line]
    # The driver's cuMemAlloc_v2 of 256 KiB would be a child of the call, so none must be there.
    children = [line for line in text.splitlines() if line.lstrip().startswith("cuMemAlloc")]
    checks = [
        ("the program says out of memory and ends with 1", run.code == 1 and b"out of memory" in run.err),
        ("the trace says who answered", bool(mallocs) and all("[answered by hook_refuse_large.so]" in m for m in mallocs)),
        ("the driver was not asked for memory", not any("262144" in line for line in children)),
    ]
    what = f"cudaMalloc of a {'stripped' if strip else 'linked-in runtime (no strip here)'} program answered"
    _expect(result, what, run, checks)


def refused(result, tools):
    """A hook refuses memory above 1 GiB: PyTorch raises its own error and goes on."""
    hook = _hook(result, tools, "refuse_large")
    if hook is None:
        return
    argv = [sys.executable, os.path.join(HERE, "programs", "torch_refused.py")]
    run = _run(tools, ["run"], hook, argv)
    said = run.out.decode("utf-8", "replace")
    expected = (
        "attempt 1: OutOfMemoryError\nattempt 2: OutOfMemoryError\nstill works: 2048.0 268435456\n"
    )
    checks = [
        ("torch.OutOfMemoryError is raised, caught, and the program goes on", said == expected and run.code == 0),
    ]
    _expect(result, "a hook that refuses memory above 1 GiB", run, checks)
    plain = processes.run(argv, tools.limit)
    if plain.out.count(b"allocated 2 GiB") != 2:
        result.notes.append("without the hook the 2 GiB cannot be had either on this GPU")
