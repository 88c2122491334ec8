"""Memory by line on a GPU: the peak of report --allocations is torch.cuda.max_memory_allocated(), to the byte.

    python3 tests/gpu/memory.py CUTAP OUT [sim [PART]]

It needs PyTorch; with `sim` the simulated driver takes the place of the GPU. 102 tensors are made on known lines; then a training with a
backward pass, and one whose nodes are counted. The program prints what
PyTorch says itself, and of each tensor line what sys._getframe says.
"""

import json
import os
import subprocess
import sys

CUTAP, OUT = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "torch_memory.py")
SIM = ["--sim"] if sys.argv[3:4] == ["sim"] else []
failed = []


def say(is_good, text):
    print("PASS" if is_good else "FAIL", text, flush=True)
    failed.extend([] if is_good else [text])


def lines_of(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def check(part, flags):
    file = os.path.join(OUT, f"memory-{part}.cutap")
    words = [CUTAP, "record", "-q", "--force", *SIM, *flags, "-o", file, sys.executable, PROGRAM, part]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    name = f"{part} {' '.join(flags)}"
    if done.returncode != 0:
        return say(False, f"{name}: exit {done.returncode}: {done.stderr[-400:]}")
    alone = [CUTAP, "run", "-q", *SIM, "--"] if SIM else []
    plain = subprocess.run([*alone, sys.executable, PROGRAM, part], capture_output=True, text=True, timeout=300)
    say(plain.stdout == done.stdout, f"{name}: the same output as without cutap")
    said = lines_of(done.stdout)[0]
    report = subprocess.run([CUTAP, "report", "--allocations", "--json", file], capture_output=True, text=True)
    lines = lines_of(report.stdout)
    pool = [line for line in lines if line["type"] == "pool" and line["device"] == "device 0"]
    if not pool:
        return say(False, f"{name}: no pool in the report: {report.stdout[:300]}{report.stderr[:300]}")
    say(pool[0]["peak_bytes"] == said["peak"], f"{name}: peak {pool[0]['peak_bytes']}, PyTorch says {said['peak']}")
    say(pool[0]["end_bytes"] == said["live"], f"{name}: live {pool[0]['end_bytes']}, PyTorch says {said['live']}")
    say(pool[0]["end_reserved_bytes"] == said["reserved"],
        f"{name}: reserved {pool[0]['end_reserved_bytes']}, PyTorch says {said['reserved']}")
    found = {line["line"]: line["count"] for line in lines if line["type"] == "pool_line"}
    if "--python" in flags:
        wrong = {line: (count, found.get(line)) for line, count in said["lines"].items() if found.get(line) != count}
        say(not wrong, f"{name}: {sum(said['lines'].values())} tensors on {len(said['lines'])} lines; wrong: {wrong}")
        is_backward = lambda line: ", backward " in line
        in_backward = {line: count for line, count in found.items() if is_backward(line)}
        if part == "backward":
            wrong = {line: (count, found.get(line)) for line, count in said["nodes"].items() if found.get(line) != count}
            unknown = [line for line in in_backward if line not in said["nodes"]]
            say(said["nodes"] and not wrong and not unknown,
                f"{name}: {sum(said['nodes'].values())} blocks of nodes on {len(said['nodes'])} lines; wrong: {wrong}, "
                f"not of a node: {unknown}")
        if part in ("training", "backward"):
            no_line = [line for line in found if "no line" in line or "autograd thread" in line]
            say(in_backward and not no_line, f"{name}: {sum(in_backward.values())} blocks of backward passes; {no_line}")
    print("   ", ", ".join(f"{line}: {count}" for line, count in list(found.items())[:6]))
    text = subprocess.run([CUTAP, "report", "--allocations", "--top", "4", file], capture_output=True, text=True)
    print("\n".join("    " + line for line in text.stdout.splitlines()[:8]))


def main():
    os.makedirs(OUT, exist_ok=True)
    for part in sys.argv[4:] or ["tensors", "training", "refused", "backward"]:
        check(part, ["--python"])
    if not sys.argv[4:]:
        check("training", [])
        check("training", ["--python", "--stack"])
    print(len(failed), "failed")
    return bool(failed)


sys.exit(main())
