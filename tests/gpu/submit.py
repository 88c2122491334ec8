"""Compares what a program asked with what the rings of the GPU got, from a recording with the layer submit.

    submit.py CUTAP RECORDING OUTPUT     the recording of programs/submitted.cu, and what it printed
    submit.py CUTAP RECORDING            counts of another program's recording

Exit code: 0 all equal, 1 something differs.
"""

import collections
import json
import subprocess
import sys


def calls(cutap, recording):
    """Driver calls with the submissions inside each; a submission that is not inside one is alone."""
    lines = subprocess.run([cutap, "show", "--json", recording], capture_output=True, text=True, check=True).stdout
    waiting, found = collections.defaultdict(list), []
    for line in map(json.loads, lines.splitlines()):
        if line.get("type") != "call":
            continue
        key = (line["pid"], line["tid"])
        if "submission" in line:
            waiting[key].append((line["depth"], line["submission"]))
        elif line["layer"] == "driver":
            # A call's line comes at its end: those inside it came before.
            inside = [s for depth, s in waiting[key] if depth == line["depth"] + 1]
            waiting[key] = [(depth, s) for depth, s in waiting[key] if depth != line["depth"] + 1]
            found.append((line, inside))
    alone = [s for rest in waiting.values() for _, s in rest]
    return found, alone


def steps(inside, what):
    return [step for s in inside for step in s["steps"] if step["do"] == what]


def up(number, to):
    return -(-number // to) * to


def launch(words, inside):
    """What differs between one launch and its submissions."""
    grid, block = [int(w) for w in words[2:5]], [int(w) for w in words[5:8]]
    dynamic, registers, fixed = int(words[8]), int(words[9]), int(words[10])
    parameters = bytes.fromhex(words[11]) if len(words) > 11 else b""
    grids = [step for step in steps(inside, "launch") if step["is_grid"] and step["grid"] != [0, 0, 0]]
    if len(grids) != 1:
        return [f"{len(grids)} grids"]
    [got], wrong = grids, []
    for name, asked, was in [("grid", grid, got["grid"]), ("block", block, got["block"])]:
        if asked != was:
            wrong.append(f"{name}: {asked} asked, {was} submitted")
    # The system has 1 KiB of each block, and the hardware counts in 128 bytes.
    if up(1024 + fixed + dynamic, 128) != got["shared"]:
        wrong.append(f"shared: {dynamic}+{fixed} asked, {got['shared']} submitted")
    if got["registers"] < registers or got["registers"] > max(16, up(registers, 8)):
        wrong.append(f"registers: {registers} asked, {got['registers']} submitted")
    bank = next((int(c["address"], 16) for c in got["constants"] if c["n"] == 0), 0)
    written = {int(step["to"], 16) - bank: bytes.fromhex(step["bytes"]) for step in steps(inside, "write")}
    if parameters and written.get(0x210) != parameters:
        wrong.append(f"parameters: {parameters.hex()} asked, {written.get(0x210, b'').hex()} submitted")
    # Constant bank 0 has the launch as the program sees it; the exact size of dynamic shared memory is there.
    head = [int.from_bytes(written.get(0, b"")[n : n + 4], "little") for n in range(0, 48, 4)]
    if head[0:3] != block or head[3:6] != grid or head[11] != dynamic:
        wrong.append(f"constant bank 0: {head}")
    return wrong


def main():
    cutap, recording = sys.argv[1:3]
    found, alone = calls(cutap, recording)
    inside = [s for _, own in found for s in own]
    flags = collections.Counter(flag for s in inside + alone for flag in s["flags"])
    print(f"{len(found)} driver calls, {len(inside)} submissions in them, {len(alone)} others; flags {dict(flags)}")
    print(f"{sum(s['count'] for s in inside)} entries, {sum(len(s['methods']) for s in inside)} methods, "
          f"{sum(s['not_understood'] for s in inside)} words not understood, {sum(s['not_read'] for s in inside)} bytes not read")
    submitting = collections.Counter(line["name"] for line, own in found if own)
    print("submitting calls:", ", ".join(f"{name} {n}" for name, n in submitting.most_common(12)))
    before = collections.Counter(line["name"] for line, own in found if any("before_the_call" in s["flags"] for s in own))
    print("found before a call:", dict(before))
    if len(sys.argv) < 4:
        return 0
    asked = [line.split() for line in open(sys.argv[3]) if line.startswith("launch ")]
    launches = [own for line, own in found if line["name"] == "cuLaunchKernel"][: len(asked)]
    wrong = [(n, w) for n, (words, own) in enumerate(zip(asked, launches)) for w in [launch(words, own)] if w]
    print(f"{len(asked)} launches, {len(launches)} seen, {len(wrong)} differ")
    for n, what in wrong[:10]:
        print(f"  launch {n}: {'; '.join(what)}")
    return int(bool(wrong) or len(launches) != len(asked))


if __name__ == "__main__":
    sys.exit(main())
