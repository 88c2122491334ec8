#!/usr/bin/env python3
"""The table of benches/builds.sh: medians of all rounds for both builds, from the reports in a folder.

    benches/builds.py DIR
"""

import glob
import os
import re
import statistics
import sys

BUILDS = ("before", "after")


def rows(folder):
    """(measurement, build) -> values, one for each round."""
    found = {}

    def add(what, build, value):
        found.setdefault(what, {}).setdefault(build, []).append(value)

    for build in BUILDS:
        for path in sorted(glob.glob(os.path.join(folder, f"calls-{build}-*.md"))):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    cells = [cell.strip() for cell in line.split("|")[1:-1]]
                    if len(cells) == 7 and re.match(r"-?\d", cells[1]):
                        for column, at in (("off", 2), ("counted", 3), ("recorded", 4)):
                            if cells[at]:
                                add(f"{cells[0].rstrip(' *')}, {column}, ns", build, float(cells[at].split()[0]))
        for path in sorted(glob.glob(os.path.join(folder, f"memory-{build}-*.txt"))):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    what, value = line.rsplit(None, 1)
                    add(f"{what.strip()}, recorded, ns", build, float(value))
        for path in sorted(glob.glob(os.path.join(folder, f"training-{build}-*.md"))):
            with open(path, encoding="utf-8") as file:
                percent = re.search(r"(-?\d+\.\d+) ?%", file.read())
                if percent:
                    add("a training step, recorded, % more", build, float(percent.group(1)))
    return found


def cell(values):
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})" if values else ""


def main():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        sys.exit("builds.py: give the folder that benches/builds.sh has filled")
    print("| measurement | before | after |\n| --- | --- | --- |")
    for what, of in rows(sys.argv[1]).items():
        print(f"| {what} | {cell(of.get('before', []))} | {cell(of.get('after', []))} |")


if __name__ == "__main__":
    main()
