"""Checks of `cutap trace --dump-modules`, `cutap env`, `cutap show` and `cutap record`, once each on a small program.

Like check.py: a sentence goes to `problems` or to `proved`; nothing here prints.
"""

import collections
import os
import shutil
import struct
import tempfile

import check
import hooked
import nsight
import processes
import profiled
import recorded

EM_CUDA = 190


def kind_of_module(data):
    """What the first bytes say: cubin, fatbin, PTX; None if the driver would take it for none of them."""
    if data[:4] == b"\x7fELF" and len(data) > 20 and struct.unpack_from("<H", data, 18)[0] == EM_CUDA:
        return "cubin"
    if len(data) >= 16 and struct.unpack_from("<I", data)[0] == 0xBA55ED50:
        head, body = struct.unpack_from("<HQ", data, 6)
        return "fatbin" if head + body == len(data) else None
    return "PTX" if b".version" in data[:4096] and b".target" in data else None


def dump_modules(result, tools):
    """Every module of the program lies in the folder, and is what its ending says."""
    folder = os.path.join(tools.work, result.program.name + ".modules")
    path, _ = check.run_traced(result, tools, "cutap --dump-modules", ["--dump-modules", folder])
    if path is None:
        return
    found = collections.Counter()
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, name), "rb") as f:
            data = f.read()
        kind = kind_of_module(data)
        if kind is None or not name.endswith("." + kind.lower()):
            result.problems.append(f"--dump-modules: {name} ({len(data)} bytes, begins {data[:8].hex()}) is no whole {name.rsplit('.')[-1]}")
        elif kind != "PTX" and (error := _refused(os.path.join(folder, name))):
            result.problems.append(f"--dump-modules: {name}: {error}")
        else:
            found[kind] += 1
    if not found:
        result.problems.append("--dump-modules: no module that could be recognised")
        return
    how = "and by cuobjdump" if shutil.which("cuobjdump") else "only: there is no cuobjdump here"
    modules = ", ".join(f"{number} {kind}" for kind, number in sorted(found.items()))
    result.proved.append(f"--dump-modules: {modules}, recognised by content {how}")


def _refused(path):
    """cuobjdump's complaint about a cubin or fatbin, or None."""
    tool = shutil.which("cuobjdump")
    if not tool:
        return None
    # Lists what is in a cubin or a bare fatbin; that there is no PTX in it may be an error to it.
    done = processes.run([tool, "-lelf", "-lptx", path], 30)
    said = (done.out + done.err).decode("utf-8", "replace").strip()
    return None if "ELF file " in said or "PTX file " in said else f"cuobjdump does not take it: {said[:300]}"


def env_and_show(result, tools):
    """`eval "$(cutap env -o DIR)"`, the program, `cutap show DIR`: the same calls as under trace."""
    folder = tempfile.mkdtemp(dir=tools.work, prefix=result.program.name + ".env.")
    run_folder = os.path.join(folder, "run")
    script = 'settings=$("$0" env -o "$1") || exit 125; eval "$settings"; shift; exec "$@"'
    argv = ["sh", "-c", script, tools.cutap, run_folder, *result.program.argv]
    limit = 30 + 4 * result.plain.wall
    run = processes.run(argv, limit)
    if not check.same(result, run, "cutap env", limit):
        return
    shown = processes.run([tools.cutap, "show", "--json", run_folder], limit)
    path = os.path.join(folder, "show.json")
    with open(path, "wb") as f:
        f.write(shown.out)
    trace = check.read(result, "cutap show", check.counts.read_trace, path)
    if shown.code != 0 or trace is None:
        result.problems.append(f"cutap show: exit {shown.code}")
        result.details.append(f"cutap show: {shown.err[-2000:]!r}")
        return
    differ = {}
    for layer in ("runtime", "driver"):
        seen, want = trace.counts[layer], (result.stream or trace).counts[layer]
        differ.update({name: (seen[name], want[name]) for name in seen | want if seen[name] != want[name]})
    if differ or result.stream is None:
        result.problems.append(f"cutap env and show: other counts than cutap trace --json: {differ or 'no such run'}")
    else:
        result.proved.append(f"cutap env and show: {len(trace.calls)} calls, functions and counts as with cutap trace")


def decoding_speed(result, tools):
    """How many calls a second are read, decoded and written, from a run that is over."""
    folder = tempfile.mkdtemp(dir=tools.work, prefix=result.program.name + ".speed.")
    run_folder = os.path.join(folder, "run")
    script = 'settings=$("$0" env -o "$1") || exit 125; eval "$settings"; shift; exec "$@"'
    limit = 30 + 4 * result.plain.wall
    run = processes.run(["sh", "-c", script, tools.cutap, run_folder, *result.program.argv], limit)
    if not check.same(result, run, "cutap env, for the speed of decoding", limit):
        return
    speeds = []
    for form, flags in (("text", []), ("JSON", ["--json"])):
        shown = processes.run([tools.cutap, "show", *flags, run_folder], limit)
        if shown.code != 0:
            result.problems.append(f"cutap show: exit {shown.code}")
            return
        speeds.append((form, shown.wall))
    calls = shown.out.count(b'{"type":"call"')
    said = ", ".join(f"{calls / wall:,.0f} a second as {form}" for form, wall in speeds)
    result.proved.append(f"decoding: {calls} calls, {said} (start of cutap show included)")


STAGES = {
    "driver_api": (dump_modules, hooked.nothing, hooked.with_cupti, nsight.together),
    "saxpy_static": (dump_modules, env_and_show, recorded.as_traced, hooked.nothing, hooked.with_cupti, hooked.answered, nsight.together),
    "saxpy_shared": (hooked.nothing, hooked.with_cupti, hooked.answered, nsight.together),
    "torch_matmul": (hooked.nothing, nsight.together),
    "torch_oom": (hooked.refused, hooked.nothing),
    "torch_train": (decoding_speed, recorded.as_traced, recorded.killed_in_training),
    "torch_dataloader": (recorded.as_traced,),
    "torch_profiler": (recorded.as_traced, profiled.all_the_same),
}


def check_extras(result, tools):
    """What is to be checked on this program only."""
    for stage in STAGES.get(result.program.name, ()):
        if not result.hung:
            stage(result, tools)
