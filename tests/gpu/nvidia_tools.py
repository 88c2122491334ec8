"""Nsight Compute, compute-sanitizer and Nsight Systems around cutap, and cutap around them: nvidia_tools.py CUTAP FOLDER PROGRAM...

For each tool and program: the program's output and exit code, the tool's own result (kernels, errors) and cutap's counts of calls of
the program, alone and together. The programs are saxpy and out_of_bounds of programs/, built by `nvcc -O1 -cudart static`. Prints one line each; exit code 0 where all is equal. nsight.py compares Nsight Systems in detail.
"""

import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

cutap, folder, programs = sys.argv[1], sys.argv[2], sys.argv[3:]
os.makedirs(folder, exist_ok=True)
NSYS = shutil.which("nsys") or next(iter(glob.glob("/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys")), None)
TOOLS = {
    "ncu": ([shutil.which("ncu"), "--target-processes", "all", "--clock-control", "none", "--metrics", "gpu__time_duration.sum"],
            re.compile(r"^\s+(\w+)[ (].*Context \d", re.M)),
    "compute-sanitizer": ([shutil.which("compute-sanitizer"), "--target-processes", "all"], re.compile(r"ERROR SUMMARY: (.*)")),
    "nsys": ([NSYS, "profile", "--trace=cuda", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true", "-o", f"{folder}/n"],
             re.compile(r"(?!)")),
}


def run(words):
    began = time.monotonic()
    try:
        done = subprocess.run(words, capture_output=True, timeout=60, text=True, errors="replace", cwd=folder)
        return done.returncode, done.stdout, done.stderr, time.monotonic() - began
    except subprocess.TimeoutExpired:
        return "timeout", "", "", 60.0


def counts(recording, program):
    """Calls by function, of processes that run the program."""
    if not os.path.exists(recording):
        return None
    lines = run([cutap, "show", "--json", recording])[1].splitlines()
    rows = [json.loads(line) for line in lines]
    theirs = {row["pid"] for row in rows if row["type"] == "process" and os.path.basename(row["exe"]) == os.path.basename(program)}
    return collections.Counter(
        row["name"] for row in rows if row["type"] == "call" and row["pid"] in theirs and row["layer"] == "runtime"
    )


def main():
    equal = True
    for program in programs:
        name = os.path.basename(program)
        plain = run([program])
        for layer in ("", "hidden"):
            record = lambda to: [cutap, "record", "-o", to, *(["-e", layer] if layer else []), "--"]
            alone = f"{folder}/{name}.cutap"
            run([*record(alone), program])
            own = counts(alone, program)
            for tool, (words, result) in TOOLS.items():
                if not words[0]:
                    print(f"skipped: {tool} (it is not on this machine)")
                    continue
                to = f"{folder}/{name}-{tool}.cutap"
                without = run([*words, program])
                found = result.findall(without[1] + without[2])
                print(f"{tool} alone, {name}: code {without[0]} {found[:4]} {without[3]:.1f} s")
                if without[0] == "timeout" or plain[1].strip() not in without[1]:
                    print(f"skipped: {tool} with {name} (it does not run it alone): {(without[1] + without[2])[-400:]}")
                    continue
                for way, command in (("around cutap", [*words, *record(to), program]), ("inside cutap", [*record(to), *words, program])):
                    os.path.exists(to) and os.remove(to)
                    code, out, err, took = run(command)
                    calls = counts(to, program)
                    now = result.findall(out + err)
                    differ = {f: (own[f], (calls or {}).get(f, 0)) for f in {*own, *(calls or {})} if own[f] != (calls or {}).get(f, 0)}
                    same = code == without[0] and plain[1].strip() in out and now == found and not differ
                    equal &= same
                    print(f"{tool} {way}{' -e hidden' if layer else ''}, {name}: {'equal' if same else 'DIFFERS'}: code {code}/{without[0]}"
                          f" result {now[:4]}/{found[:4]} runtime calls {sum((calls or {}).values())}/{sum(own.values())}"
                          f" {dict(list(differ.items())[:6])} {took:.1f} s")
                    if not same:
                        print("    " + (out + err)[-700:].replace("\n", "\n    "))
    sys.exit(0 if equal else 1)


main()
