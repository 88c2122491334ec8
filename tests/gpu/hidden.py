"""Measures the layer hidden on this machine's GPU; hidden.sh starts it.

For each workload: the same output without cutap and with `-e hidden`; the calls of each hidden function as cutap and as
an independent counter (hidden_counter.c) see them in one run; from which library and inside which public call they are
made; and which functions can be answered with CUDA_SUCCESS with the same output. The exit code is 0 where all outputs
and all counts are equal. Writes result.json to --out, of which
hidden_measured.py makes rows for api/export-tables. With --toolkit only programs of single toolkit libraries are run.
"""

import argparse
import collections
import concurrent.futures
import ctypes
import glob
import importlib.util
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
ALONE = "hidden,!library,!runtime,!driver"
# The runtime and the driver agree on these: a skipped call is no experiment.
NOT_SKIPPED = ("6bd5fb6c", "c693336e", "263e8860")
SKIPPED = ("torch_train", "torch_libs", "torch_matmul", "cupy_small", "jax_small")
NCCL = (
    "import torch, torch.distributed as d; d.init_process_group('nccl', init_method='tcp://127.0.0.1:29517',"
    " rank=0, world_size=1); x = torch.ones(8, device='cuda'); d.all_reduce(x); print('nccl:', float(x.sum()));"
    " d.destroy_process_group()"
)


TOOLKIT = {"cublas": "cublas", "cufft": "cufft", "cusolver": "cusolver", "cudnn": "cudnn", "nvrtc": "nvrtc", "nvjitlink": "nvJitLink"}


def toolkit_workloads(toolkits):
    """One program for each library of each LABEL=FOLDER."""
    found = []
    for label, folder in (toolkit.split("=", 1) for toolkit in toolkits):
        libraries = f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")
        for name, library in TOOLKIT.items():
            if not glob.glob(os.path.join(folder, f"lib{library}.so.*")):
                print(f"skipped: {name} {label} (no lib{library} in {folder})")
                continue
            program = [sys.executable, os.path.join(PROGRAMS, "toolkit.py"), name, folder]
            found.append((f"{name} {label}", ["env", f"LD_LIBRARY_PATH={libraries}", *program], True))
    return found


def workloads(built):
    found = []
    for name in ("saxpy_static", "saxpy_shared"):
        path = os.path.join(built, name)
        if os.access(path, os.X_OK):
            found.append((name, [path], True))
        else:
            print(f"skipped: {name} (it was not built)")
    for name, package in (
        ("torch_train", "torch"),
        ("torch_libs", "torch"),
        ("torch_matmul", "torch"),
        ("cupy_small", "cupy"),
        ("jax_small", "jax"),
    ):
        if importlib.util.find_spec(package):
            found.append((name, [sys.executable, os.path.join(PROGRAMS, name + ".py")], True))
        else:
            print(f"skipped: {name} (no module {package})")
    if importlib.util.find_spec("torch"):
        found.append(("nccl", [sys.executable, "-c", NCCL], True))
        found.append(("torch_profiler", [sys.executable, os.path.join(PROGRAMS, "torch_profiler.py")], True))
    if shutil.which("nvidia-smi"):
        found.append(("nvidia_smi", ["nvidia-smi", "-L"], True))
    return found


class Run:
    def __init__(self, argv, env=None, limit=60):
        started = time.monotonic()
        full = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false", CUPY_CACHE_IN_MEMORY="1", **(env or {}))
        try:
            done = subprocess.run(argv, env=full, capture_output=True, timeout=limit)
            self.code, self.out, self.err = done.returncode, done.stdout.decode(errors="replace"), done.stderr
        except subprocess.TimeoutExpired as late:
            self.code, self.out, self.err = "timeout", (late.stdout or b"").decode(errors="replace"), late.stderr or b""
        self.seconds = round(time.monotonic() - started, 1)


def shown(cutap, file):
    text = subprocess.run([cutap, "show", "--json", file], capture_output=True).stdout.decode(errors="replace")
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def tally(lines):
    return collections.Counter(
        f"{line['pid']} {line['name']}" for line in lines if line["type"] == "call" and line["layer"] == "hidden"
    )


def counters(prefix):
    """The counts of hidden_counter.c: entries of calls, a pointer, and a name of 32 bytes."""
    counts = collections.Counter()
    for path in glob.glob(prefix + ".*"):
        pid = path.rsplit(".", 1)[1]
        with open(path, "rb") as file:
            for calls, _, name in struct.iter_unpack("<QQ32s", file.read()):
                if calls:
                    counts[f"{pid} {name.rstrip(bytes(1)).decode()}"] += calls
    return counts


def inside(lines):
    """Each hidden call with its library and the innermost public call around it."""
    calls = sorted((c for c in lines if c["type"] == "call"), key=lambda c: (c["start_ns"], c["depth"]))
    stacks, found = {}, collections.Counter()
    for call in calls:
        stack = stacks.setdefault((call["pid"], call["tid"]), [])
        while stack and stack[-1]["depth"] >= call["depth"]:
            stack.pop()
        if call["layer"] == "hidden":
            around = [c["name"] for c in stack if c["layer"] != "hidden"]
            library = re.sub(r"^python3.*", "python3", call.get("caller_library") or "?")
            found[(call["name"], library, around[-1] if around else "")] += 1
        stack.append(call)
    return found


def measure(name, argv, compare, args):
    place = os.path.join(args.out, name)
    os.makedirs(place, exist_ok=True)
    record = [args.cutap, "record", "-o"]
    plain = Run(argv)
    counts = os.path.join(place, "counts")
    both = Run(
        record
        + [os.path.join(place, "both.cutap"), "-e", ALONE, "--", "sh", "-c"]
        + [f'LD_PRELOAD="$LD_PRELOAD:{args.counter}" exec "$@"', "sh"]
        + argv,
        {"HIDDEN_TABLES": args.tables, "HIDDEN_COUNTS": counts},
    )
    full = Run(record + [os.path.join(place, "full.cutap"), "-e", "hidden", "--"] + argv)
    both_lines, full_lines = (shown(args.cutap, os.path.join(place, f + ".cutap")) for f in ("both", "full"))
    cutap, counter = tally(both_lines), counters(counts)
    with open(args.tables, encoding="utf-8") as tables:
        counted = {line[:8] for line in tables}
    beyond = {k: v for k, v in cutap.items() if k.split()[1][:8] not in counted}
    cutap = collections.Counter({k: v for k, v in cutap.items() if k not in beyond})
    ends = [line for line in full_lines if line["type"] == "end"]
    gaps = [f"{g['what']} ({g['more']})" for e in ends for g in e.get("gaps", []) if len(g["what"]) == 8 and g.get("more")]
    notes = {c["text"]: c["count"] for e in ends for c in e.get("counts", [])}
    result = {
        "name": name,
        "codes": [plain.code, both.code, full.code],
        "seconds": [plain.seconds, both.seconds, full.seconds],
        "same_output": [plain.out == both.out, plain.out == full.out] if compare else None,
        "counts_equal": cutap == counter,
        "calls": sum(cutap.values()),
        "differences": {k: [cutap[k], counter[k]] for k in {*cutap, *counter} if cutap[k] != counter[k]},
        "beyond": beyond,
        "slots": sorted({k.split()[1] for k in cutap}),
        "left_alone": sorted(set(gaps)),
        "notes": notes,
        "atlas": [[*key, n] for key, n in sorted(inside(full_lines).items())],
        "plain": plain.out[-600:] + plain.err.decode(errors="replace")[-600:],
        "error": (both.err if both.code else full.err).decode(errors="replace")[-900:],
    }
    for file in ("both.cutap", "full.cutap"):
        os.remove(os.path.join(place, file)) if os.path.exists(os.path.join(place, file)) else None
    return result, plain


def skip(name, argv, slot, plain, args):
    run = Run([args.cutap, "run", "--hook", args.skip, "--"] + argv, {"HIDDEN_SKIP": slot}, 40)
    same = run.code == plain.code and run.out == plain.out
    return {"workload": name, "slot": slot, "same": same, "code": run.code, "err": run.err.decode(errors="replace")[-300:]}


def lengths(path):
    driver = ctypes.CDLL("libcuda.so.1")
    found = {}
    with open(path, encoding="utf-8") as tables:
        for text in tables.read().split():
            table = ctypes.c_void_p()
            uuid = bytes.fromhex(text.replace("-", ""))
            if driver.cuGetExportTable(ctypes.byref(table), uuid) == 0 and table.value:
                size = ctypes.c_uint64.from_address(table.value).value
                found[text] = size // 8 if size < 65536 else "*"
            else:
                found[text] = 0
    return found


def nvcc():
    """The version of the toolkit whose runtime saxpy has; empty: there is none."""
    found = shutil.which("nvcc")
    said = subprocess.run([found, "--version"], capture_output=True, text=True).stdout if found else ""
    return next(iter(re.findall(r"release ([\d.]+)", said)), "")


def save(result, folder):
    with open(os.path.join(folder, "result.json"), "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)


def main():
    parser = argparse.ArgumentParser()
    for name in ("cutap", "counter", "skip", "tables", "all-tables", "built", "out"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--toolkit", action="append", default=[], metavar="LABEL=FOLDER")
    args = parser.parse_args()
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        chosen = toolkit_workloads(args.toolkit) if args.toolkit else workloads(args.built)
        jobs = [(w, pool.submit(measure, *w, args)) for w in chosen]
        results = [(w, *job.result()) for w, job in jobs]
        rows, plains = [r for _, r, _ in results], {w[0]: (w, p) for w, _, p in results}
        for r in rows:
            print(f"{r['name']}: codes {r['codes']} same {r['same_output']} equal {r['counts_equal']} calls {r['calls']}"
                  f" {r['seconds']} s left {r['left_alone']} differences {r['differences']} beyond {r['beyond']}")
            if any(r["codes"]):
                print("  " + r["plain"] + r["error"])
        result = {"workloads": rows, "skip": [], "lengths": lengths(args.all_tables), "nvcc": nvcc()}
        save(result, args.out)
        skipped = []
        for name in SKIPPED + tuple(w[0] for w in chosen if args.toolkit):
            if name not in plains or plains[name][1].code:
                continue
            w, plain = plains[name]
            slots = [s for r in rows if r["name"] == name for s in r["slots"] if not s.startswith(NOT_SKIPPED)]
            skipped += [(name, w[1], slot, plain) for slot in slots]
        tries = [pool.submit(skip, *s, args) for s in skipped]
        outcomes = []
        for job in tries:
            left = args.seconds - (time.monotonic() - began)
            try:
                outcomes.append(job.result(timeout=max(left, 0.1)))
            except concurrent.futures.TimeoutError:
                job.cancel()
        for o in outcomes:
            print(f"skip {o['slot']} in {o['workload']}: {'same output' if o['same'] else 'differs'} (code {o['code']})")
        print(f"skipped {len(outcomes)} of {len(skipped)} tries")
    save(dict(result, skip=outcomes), args.out)
    print(f"{time.monotonic() - began:.0f} s")
    equal = all(r["counts_equal"] and all(r["same_output"] or []) and not any(r["codes"]) for r in rows)
    os._exit(0 if equal else 1)


main()
