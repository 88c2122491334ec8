"""Writes rows of api/export-tables/measured.toml from the result.json of hidden.py.

    hidden_measured.py RESULT ABOUT >FILE    # a whole file
    hidden_measured.py RESULT >>FILE         # more rows
"""

import collections
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    result = json.load(file)
if len(sys.argv) > 2:
    print("# The calls of hidden functions that workloads made, as tests/gpu/hidden.sh measured them.")
    print("# docs/how-to/hidden-tables.md says how to read it. Made by tests/gpu/hidden_measured.py.")
    print(f"about = {json.dumps(sys.argv[2])}")
for workload in result["workloads"]:
    # Places that differ only in the public call get one row beyond the first six of a slot and library.
    rows = collections.defaultdict(list)
    for slot, library, inside, calls in workload["atlas"]:
        rows[(slot, library)].append((calls, inside))
    for (slot, library), places in sorted(rows.items()):
        places.sort(reverse=True)
        rest = places[6:]
        shown = places[:6] + ([(sum(n for n, _ in rest), f"{len(rest)} others")] if rest else [])
        for calls, inside in shown:
            print(f"\n[[call]]\nworkload = {json.dumps(workload['name'])}\nslot = {json.dumps(slot)}\ncalls = {calls}")
            print(f"from = {json.dumps(library)}\ninside = {json.dumps(inside)}")
for row in result["skip"]:
    print(f"\n[[skip]]\nslot = {json.dumps(row['slot'])}\nworkload = {json.dumps(row['workload'])}")
    print(f"same = {json.dumps(row['same'])}")
    if not row["same"]:
        code = row["code"]
        end = "timeout" if code == "timeout" else f"signal {-code}" if code < 0 else f"exit code {code}" if code else "another output"
        print(f"end = {json.dumps(end)}")
