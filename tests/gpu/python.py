"""cutap --python on a GPU: the same output as without, and lines that equal sys._getframe's.

    python3 tests/gpu/python.py CUTAP OUT
"""

import json
import os
import subprocess
import sys
import time

CUTAP, OUT = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
KINDS = {"cudaMalloc": "allocate", "__cudaLaunchKernel": "launch", "cudaDeviceSynchronize": "wait"}
failed = []


def run(words, **variables):
    begin = time.monotonic()
    done = subprocess.run(
        words, capture_output=True, text=True, errors="replace", timeout=240, env=os.environ | variables
    )
    return done, time.monotonic() - begin


def say(is_good, text):
    print("PASS" if is_good else "FAIL", text, flush=True)
    failed.extend([] if is_good else [text])


def same(name, flags):
    words = [sys.executable, os.path.join(PROGRAMS, name)]
    plain, seconds = run(words)
    file = os.path.join(OUT, name + ".cutap")
    traced, traced_seconds = run([CUTAP, "record", "-q", *flags, "-o", file, *words])
    is_same = plain.returncode == traced.returncode and plain.stdout == traced.stdout
    lines = run([CUTAP, "report", "--by", "line", "--top", "3", file])[0].stdout.splitlines()
    text = f"{name} {' '.join(flags)}: exit {plain.returncode} and {traced.returncode}, {seconds:.0f} and "
    text += f"{traced_seconds:.0f} s; {' | '.join(line.split('%')[0] for line in lines[1:4])}"
    say(is_same and plain.returncode == 0 and len(lines) > 1, text[:300])
    if not is_same:
        print(plain.stdout[-300:], "---", traced.stdout[-300:], traced.stderr[-500:])


def lines_are_right(flags):
    expected_file, file = os.path.join(OUT, "lines.json"), os.path.join(OUT, "lines.cutap")
    program = os.path.join(PROGRAMS, "python_lines.py")
    done, _ = run([CUTAP, "record", "-q", *flags, "-o", file, sys.executable, program], LINES=expected_file)
    if done.returncode != 0:
        return say(False, f"lines: exit {done.returncode}: {done.stderr[-300:]}")
    with open(expected_file) as lines:
        expected = json.load(lines)
    shown = run([CUTAP, "show", "--json", "-e", "under:measured", file])[0].stdout
    calls = [json.loads(line) for line in shown.splitlines() if '"stack":[' in line]
    found = []
    for call in calls:
        kind = next((KINDS[name] for name in KINDS if call["name"].startswith(name)), None)
        own = [frame for frame in call["stack"] if (frame["file"] or "").endswith("python_lines.py")]
        if kind and call["layer"] == "runtime":
            found.append([kind, own[0]["line"] if own else None])
    wrong = sum(one != other for one, other in zip(expected, found)) + abs(len(expected) - len(found))
    say(wrong == 0, f"lines {' '.join(flags)}: {len(found)} calls, {len(expected)} operations, {wrong} differ")


def main():
    os.makedirs(OUT, exist_ok=True)
    lines_are_right(["--python"])
    lines_are_right(["--python", "--stack"])
    for name in sys.argv[3:] or ["torch_train.py", "torch_threads.py", "torch_graph.py", "torch_dataloader.py",
                                 "torch_oom.py", "jax_small.py", "cupy_small.py", "gpu_time_decode.py"]:
        same(name, ["--python"])
    same("torch_train.py", ["--python", "--stack", "--gpu-time"])
    print(len(failed), "failed")
    return bool(failed)


sys.exit(main())
