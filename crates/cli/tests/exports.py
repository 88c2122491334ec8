#!/usr/bin/env python3
"""What the libraries of NVIDIA's newest wheels export, against what `cutap api --list` knows (CUTAP: the cutap to ask).

    exports.py check [NAME ...]    fetches a wheel at a time (4 GB in all, at most 1.5 GB of disk) and prints what differs
    exports.py write [NAME ...]    writes api/libraries/NAME/exports.toml: what is exported and declared nowhere

C names only; which files of a wheel belong to a library is told by the SONAMEs of its overlay. Exit code 1: something
differs. nm (binutils) reads the symbols. A name of an older library stays in exports.toml.
"""

import fnmatch
import os
import subprocess
import sys
import tempfile
import textwrap
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
API = ROOT / "api"


def wheels() -> dict:
    """Of each family the wheel of its newest version."""
    families = tomllib.loads((API / "sources.toml").read_text())["family"]
    found = {}
    for family in families:
        name = Path(family.get("folder", family["name"])).name
        if (API / "libraries" / name).is_dir():
            found[name] = family["versions"][-1]["wheels"][0]
    return found


def known(name: str) -> set:
    """As `cutap api` lists them: declared, or in exports.toml."""
    listed = subprocess.run([os.environ["CUTAP"], "api", "--list", name], capture_output=True, text=True, check=True)
    return set(listed.stdout.split())


def exported(name: str, wheel: str) -> set:
    overlay = tomllib.loads((API / "libraries" / name / "overlay.toml").read_text())
    patterns = overlay["family"]["sonames"]
    names = set()
    with tempfile.TemporaryDirectory(prefix="exports-") as work:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir",
               "--disable-pip-version-check", "--dest", work, wheel]
        if subprocess.run(pip, stdout=sys.stderr).returncode != 0:
            raise ConnectionError(wheel)
        for file in Path(work).glob("*.whl"):
            with zipfile.ZipFile(file) as archive:
                for member in archive.namelist():
                    if any(fnmatch.fnmatch(Path(member).name, p) for p in patterns):
                        out = archive.extract(member, work)
                        names |= symbols(out)
                        os.remove(out)
    return names


def symbols(file: str) -> set:
    lines = subprocess.run(["nm", "-D", "--defined-only", file], capture_output=True, text=True, check=True).stdout
    rows = [line.split()[-2:] for line in lines.splitlines()]
    names = {name.split("@")[0] for kind, name in rows if kind in "TWi"}
    return {n for n in names if n[0].islower() or n.startswith("__nv") or n.startswith("__cuda")}


def undeclared(name: str) -> list:
    file = API / "libraries" / name / "exports.toml"
    return tomllib.loads(file.read_text())["undeclared"] if file.is_file() else []


def write(name: str, wheel: str, names: set) -> None:
    file = API / "libraries" / name / "exports.toml"
    heads = [line for line in file.read_text().splitlines() if line.startswith("#")] if file.is_file() else [
        f"# What libraries of this family export and no header declares; by crates/cli/tests/exports.py, over {wheel}."]
    listed = textwrap.fill(", ".join(f'"{n}"' for n in sorted(names)), 116, initial_indent="  ", subsequent_indent="  ",
                           break_long_words=False, break_on_hyphens=False)
    file.write_text("\n".join(heads) + f"\n\nundeclared = [\n{listed},\n]\n")


def main() -> int:
    what, *chosen = sys.argv[1:]
    differs = False
    for name, wheel in sorted(wheels().items()):
        if chosen and name not in chosen:
            continue
        try:
            found = exported(name, wheel)
        except ConnectionError:
            print(f"skipped {name}: {wheel} could not be fetched", flush=True)
            continue
        if not found:
            print(f"{name}: {wheel} holds no library", flush=True)
            continue
        more = found - known(name)
        print(f"{name}: {wheel} exports {len(found)}, of which {len(more)} are new", flush=True)
        if more and what == "write":
            write(name, wheel, more | set(undeclared(name)))
        elif more:
            differs = True
            print(f"{name}: not in api/libraries/{name}: {' '.join(sorted(more))}", flush=True)
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
