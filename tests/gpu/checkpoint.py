#!/usr/bin/env python3
"""Checkpoint and restore of a recorded process by another process (cuCheckpointProcess*).

    python3 tests/gpu/checkpoint.py --cutap PATH [--out FILE]

A victim holds 64 MiB on the GPU and counts. An operator locks, checkpoints, restores and unlocks it. This is done
without cutap, with the victim under cutap (each with other layers), and with the operator under cutap. The results of
all calls and the victim's output must be the same as without cutap, and the recording must have the victim's calls.
Exit code: 0 the same, 1 something differs, 2 could not test.
"""
import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time

BYTES = 64 << 20


def victim(folder):
    """Holds memory with a pattern; says whether it is there after each file `look`."""
    print(os.getpid(), flush=True)
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context, address = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    results = [
        cuda.cuInit(0),
        cuda.cuDeviceGet(ctypes.byref(device), 0),
        cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device),
        cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(BYTES)),
        cuda.cuMemsetD8_v2(address, ctypes.c_ubyte(0x5A), ctypes.c_size_t(BYTES)),
    ]
    print("made", *results, flush=True)
    host = (ctypes.c_ubyte * 4096)()
    for turn in range(2):
        while not os.path.exists(os.path.join(folder, f"look{turn}")):
            time.sleep(0.01)
        copied = cuda.cuMemcpyDtoH_v2(host, ctypes.c_uint64(address.value + BYTES // 2), ctypes.c_size_t(4096))
        print("looked", copied, bytes(host) == b"\x5a" * 4096, flush=True)
    print("freed", cuda.cuMemFree_v2(address), cuda.cuCtxDestroy_v2(context), flush=True)


def operator(pid):
    """Takes a process off the GPU and puts it back. Prints each result and state."""
    cuda = ctypes.CDLL("libcuda.so.1")
    results = [("cuInit", cuda.cuInit(0))]
    arguments = (ctypes.c_ubyte * 256)()
    state = ctypes.c_int(-1)
    for name in ("Lock", "Checkpoint", "Restore", "Unlock"):
        function = getattr(cuda, f"cuCheckpointProcess{name}", None)
        if function is None:
            print(json.dumps({"missing": name}))
            return
        results.append((name, function(pid, ctypes.byref(arguments))))
        results.append(("state", cuda.cuCheckpointProcessGetState(pid, ctypes.byref(state)), state.value))
    print(json.dumps(results))


def run(victim_prefix, operator_prefix):
    folder = tempfile.mkdtemp(prefix="cutap-checkpoint.")
    started = subprocess.Popen([*victim_prefix, sys.executable, __file__, "--victim", folder], stdout=subprocess.PIPE, text=True)
    pid = started.stdout.readline().strip()
    made = started.stdout.readline()
    if not made:
        return None
    open(os.path.join(folder, "look0"), "w").close()
    before = started.stdout.readline()
    done = subprocess.run([*operator_prefix, sys.executable, __file__, "--operator", pid], capture_output=True, text=True,
                          timeout=120)
    open(os.path.join(folder, "look1"), "w").close()
    rest = started.stdout.read()
    code = started.wait(timeout=120)
    return {"victim": [made, before, *rest.splitlines(True)], "code": code, "operator": done.stdout.strip(), "operator code": done.returncode}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cutap")
    parser.add_argument("--out")
    parser.add_argument("--victim")
    parser.add_argument("--operator", type=int)
    arguments = parser.parse_args()
    if arguments.victim:
        return victim(arguments.victim)
    if arguments.operator:
        return operator(arguments.operator)
    out = open(arguments.out, "w") if arguments.out else sys.stdout
    plain = run([], [])
    if not plain or not plain["victim"][0].startswith("made 0 0 0 0 0"):
        print(f"checkpoint.py: no GPU can be used here: {plain}", file=sys.stderr)
        return 2
    print(json.dumps({"how": "without cutap", **plain}), file=out, flush=True)
    if "missing" in plain["operator"] or not plain["operator"]:
        print("checkpoint.py: this driver has no cuCheckpointProcess*", file=sys.stderr)
        return 2
    recording = os.path.join(tempfile.mkdtemp(), "run.cutap")
    cutap = [arguments.cutap, "record", "-q", "-o", recording]
    ways = {
        "victim recorded": ([*cutap, "--"], []),
        "victim recorded, all layers": ([*cutap, "-e", "hidden,syscall,submit", "--"], []),
        "victim traced": ([arguments.cutap, "trace", "-q", "-o", recording + ".txt", "--"], []),
        "operator recorded": ([], [*cutap, "--"]),
    }
    differs = False
    for name, (of_victim, of_operator) in ways.items():
        if os.path.exists(recording):
            os.unlink(recording)
        seen = run(of_victim, of_operator)
        same = seen == plain
        differs |= not same
        row = {"how": name, "same": same, **({} if same else seen)}
        if os.path.exists(recording):
            shown = subprocess.run([arguments.cutap, "show", "-C", "--json", recording], capture_output=True, text=True).stdout
            row["calls"] = sum(json.loads(line).get("calls", 0) for line in shown.splitlines() if '"type":"count"' in line)
            differs |= row["calls"] == 0
        print(json.dumps(row), file=out, flush=True)
    return int(differs)


sys.exit(main())
