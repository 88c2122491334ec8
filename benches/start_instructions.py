#!/usr/bin/env python3
"""How many instructions of `import torch` and one tensor are cutap's: the part of its start that no other work on the machine changes.

    benches/start_instructions.py --cutap CUTAP [--python PYTHON]

Runs it recorded, on the simulated driver, under callgrind (some minutes), and adds up what each shared object executed. What the
loader does more because there is one more object to look in is not cutap's code: with --plain it is run without cutap as well, and what
the loader's do_lookup_x takes more is printed too. Nothing is seen of what the kernel does. Needs valgrind and a Python with PyTorch.
"""

import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = 'import torch\ntorch.ones(1, device="cuda")\ntorch.cuda.synchronize()\nprint("done")\n'


def counted(python, work, environment):
    """Instructions by shared object, and by function."""
    out = os.path.join(work, "callgrind.out")
    words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", python, "-c", PROGRAM]
    done = subprocess.run(words, env={**os.environ, "PYTHONHASHSEED": "0", **environment}, capture_output=True, text=True)
    if done.returncode != 0 or "done" not in done.stdout:
        sys.exit(f"start_instructions.py: valgrind gave exit {done.returncode}: {done.stderr.strip()[-300:]}")
    names, objects, functions = {}, collections.Counter(), collections.Counter()
    held = {"ob": "", "fn": ""}
    calls = False
    with open(out, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            told = re.match(r"c?(ob|fn|fl|fi|fe)=\((\d+)\)(?: (.*))?", line)
            if told:
                kind, number, name = told.groups()
                kind = kind if kind in held else "fl"
                if name:
                    names[kind, number] = name
                if kind in held and not line.startswith("c"):
                    held[kind] = names.get((kind, number), "?")
            elif line.startswith("calls="):
                calls = True
            elif line[:1] in "0123456789+-*":
                # The line behind a call has what was executed in there.
                if not calls:
                    cost = int(line.split()[1])
                    objects[os.path.basename(held["ob"])] += cost
                    functions[held["fn"]] += cost
                calls = False
    return objects, functions


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cutap", required=True)
    parser.add_argument("--python", default=shutil.which("python3") or sys.executable, help="a Python with PyTorch, no script around one")
    parser.add_argument("--plain", action="store_true", help="run it without cutap too")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cutap-start.") as work:
        text = subprocess.run([o.cutap, "env", "--sim", "-o", os.path.join(work, "run")], check=True, capture_output=True, text=True).stdout
        environment = dict(re.findall(r"^export (\w+)='([^']*)'", text, re.M))
        objects, functions = counted(o.python, work, environment)
        own, total = objects["libcutap_preload.so"], sum(objects.values())
        if own == total:
            sys.exit(f"start_instructions.py: nothing of Python was counted: {o.python} is a script around one; name the interpreter and set PYTHONPATH")
        print(f"{own / 1e6:.1f} of {total / 1e6:.0f} million instructions are cutap's: {own / (total - own) * 100:.2f} % more than without")
        if o.plain:
            _, alone = counted(o.python, work, {"LD_LIBRARY_PATH": environment["LD_LIBRARY_PATH"]})
            more = sum(n for f, n in functions.items() if f == "do_lookup_x") - sum(n for f, n in alone.items() if f == "do_lookup_x")
            print(f"{more / 1e6:.1f} million more are the loader's: it looks for each name in one object more")


if __name__ == "__main__":
    main()
