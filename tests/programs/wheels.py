#!/usr/bin/env python3
"""Fetches NVIDIA's wheels from PyPI once and prints where they are unpacked.

    wheels.py cudart 12.9    a folder with include/, lib/libcudart.so.NN and,
                             where the wheel has it, lib/libcudart_static.a
    wheels.py cufile 12      a folder with lib/libcufile.so.0 (static runtime 11.1 inside)
    wheels.py cupti 13.0     a folder with include/ and lib/libcupti.so.NN
    wheels.py list           what it knows

Cache: $CUTAP_CACHE/wheels, else .cache/wheels in the repository (never committed).
Standard library and pip only. Safe to run many at once: unpacked aside, then renamed.
Exit code 3: not in the cache and could not be fetched (no network), so a test may skip.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# what version -> (package, exact version); exact, so that two runs test the same bytes
WHEELS = {
    ("cudart", "11.7"): ("nvidia-cuda-runtime-cu11", "11.7.99"),
    ("cudart", "11.8"): ("nvidia-cuda-runtime-cu11", "11.8.89"),
    ("cudart", "12.0"): ("nvidia-cuda-runtime-cu12", "12.0.146"),
    ("cudart", "12.4"): ("nvidia-cuda-runtime-cu12", "12.4.127"),
    ("cudart", "12.9"): ("nvidia-cuda-runtime-cu12", "12.9.79"),
    ("cudart", "13.0"): ("nvidia-cuda-runtime", "13.0.96"),
    ("cudart", "13.5"): ("nvidia-cuda-runtime", "13.5.37"),
    ("cufile", "12"): ("nvidia-cufile-cu12", "1.14.1.1"),
    ("cufile", "13"): ("nvidia-cufile", "1.20.0.107"),
    ("cupti", "12.9"): ("nvidia-cuda-cupti-cu12", "12.9.79"),
    ("cupti", "13.0"): ("nvidia-cuda-cupti", "13.0.85"),
}


def cache() -> Path:
    given = os.environ.get("CUTAP_CACHE")
    root = Path(given) if given else Path(__file__).resolve().parents[2] / ".cache"
    return root / "wheels"


def fetch(package: str, version: str) -> Path:
    """The folder where the wheel is unpacked."""
    place = cache() / f"{package}-{version}"
    if place.is_dir():
        return place
    cache().mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".fetch-", dir=cache()))
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
             "--disable-pip-version-check", "--dest", str(work / "wheel"), f"{package}=={version}"],
            stdout=sys.stderr,
        )
        wheels = list((work / "wheel").glob("*.whl")) if done.returncode == 0 else []
        if not wheels:
            print(f"wheels.py: cannot fetch {package}=={version} from PyPI; is the network there?", file=sys.stderr)
            sys.exit(3)
        with zipfile.ZipFile(wheels[0]) as archive:
            archive.extractall(work / "un")
        try:
            (work / "un").rename(place)
        except OSError:
            if not place.is_dir():  # else somebody else was first; theirs is as good
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return place


def folder(unpacked: Path) -> Path:
    """Inside a wheel: nvidia/<something>/ that holds lib/."""
    for lib in sorted(unpacked.glob("nvidia/*/lib")):
        return lib.parent
    raise SystemExit(f"wheels.py: {unpacked} holds no nvidia/*/lib; delete it and try again")


def main() -> None:
    words = sys.argv[1:]
    if words == ["list"]:
        for (what, short), (package, version) in WHEELS.items():
            print(f"{what} {short}\t{package}=={version}")
        return
    if len(words) != 2:
        sys.exit(__doc__)
    known = WHEELS.get((words[0], words[1]))
    if known is None:
        names = ", ".join(" ".join(key) for key in WHEELS)
        sys.exit(f"wheels.py: does not know '{' '.join(words)}'; it knows {names}")
    print(folder(fetch(*known)))


if __name__ == "__main__":
    main()
