#!/usr/bin/env python3
"""Compares what two drivers say to wrong uses: the output of wrong_uses on a GPU and on the simulated driver.

    wrong_uses.py REAL SIM            the lines that differ, and how many agree; exit code 1 if any differs
    wrong_uses.py REAL SIM --table    the same as a table for crates/sim/README.md

Values ("pitch: 512") count like codes. A case that crashes the real driver is no rule for another one: left out.
"""

import argparse
import collections


def read(path):
    """{(group, line without its answer, which time): answer}, in order."""
    answers, group, seen = {}, "", collections.Counter()
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if line.startswith("## "):
                group = line[3:]
            elif line and not line.startswith("#"):
                split = " = " if " = " in line else ": "
                what, _, answer = line.rpartition(split)
                seen[group, what] += 1
                answers[group, what, seen[group, what]] = answer
    return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real")
    parser.add_argument("sim")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    real, sim = read(options.real), read(options.sim)
    groups = collections.defaultdict(lambda: [0, 0, []])
    for key, answer in real.items():
        if answer in ("crash", "hang", "absent"):
            continue
        same = sim.get(key) == answer
        groups[key[0]][0 if same else 1] += 1
        if not same:
            groups[key[0]][2].append((key[1], answer, sim.get(key, "not asked")))
    if options.table:
        print("| subject | cases | same | other in the simulated driver (real, simulated) |\n| --- | --- | --- | --- |")
        for group, (same, other, rows) in groups.items():
            text = "; ".join(f"{what} ({a}, {b})" for what, a, b in rows)
            print(f"| {group} | {same + other} | {same} | {text} |")
    else:
        for group, (_, _, rows) in groups.items():
            for what, a, b in rows:
                print(f"{group}: {what}: real {a}, simulated {b}")
    same, other = (sum(g[i] for g in groups.values()) for i in (0, 1))
    left_out = sum(a in ("crash", "hang", "absent") for a in real.values())
    print(f"\n{same} of {same + other} the same; {left_out} left out that crash or are absent in the real driver")
    raise SystemExit(1 if other else 0)


if __name__ == "__main__":
    main()
