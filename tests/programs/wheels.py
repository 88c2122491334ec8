#!/usr/bin/env python3
"""Fetches NVIDIA's wheels from PyPI (and one package of Debian's) once and prints where they are unpacked.

    wheels.py cudart 12.9    a folder with include/, lib/libcudart.so.NN and, where the wheel has
                             it, lib/libcudart_static.a. include/crt, which only nvcc's wheel has,
                             is filled with our stand-ins: enough for a C or C++ compiler
    wheels.py cufile 12      a folder with lib/libcufile.so.0 (static runtime 11.1 inside)
    wheels.py cupti 13.0     a folder with include/ and lib/libcupti.so.NN
    wheels.py nvtx 13.5      a folder with include/nvtx3/; nvtx 11.8 has include/ and lib/libnvToolsExt.so.1
    wheels.py cublas 13.0    a folder with lib/libcublas.so.13 (400 MB; for --large)
    wheels.py npp 12.4       a folder with lib/libnpp*.so.12 (410 MB; for --large)
    wheels.py torch 2.15     a folder with python3, which has PyTorch for CUDA 13 (the 6 GB that crates/libcuda/tests/frameworks.py
                             fetches too, once; for --large)
    wheels.py perfetto 0.59  a folder with python3, which has Perfetto's message definitions (1 MB)
    wheels.py nvtx-python 0.2  a folder with python3, which has the package nvtx (0.1 MB)
    wheels.py pytest 9.2     a folder with packages/, which has pytest (2 MB)
    wheels.py ucx 1.22       a folder with lib/libucm.so.0 (43 MB; for --large)
    wheels.py nvcc 13.0      a folder with bin/nvcc and all that it needs (100 MB; for --large)
    wheels.py debian 11.8    a folder with lib/libcudart_static.a of Debian's non-free
                             nvidia-cuda-dev (774 MB, of which 2 are kept; for --large)
    wheels.py list           what it knows

Cache: $CUTAP_CACHE/wheels, else .cache/wheels in the repository (never committed).
Standard library and pip only (apt-get and dpkg-deb for Debian's). Safe to run many at once: each is fetched once, aside, then renamed.
Exit code 3: not in the cache and could not be fetched (no network), so a test may skip.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

# what, version -> packages with exact versions, so that two runs test the same bytes
WHEELS = {
    ("cudart", "11.7"): ["nvidia-cuda-runtime-cu11==11.7.99"],
    ("cudart", "11.8"): ["nvidia-cuda-runtime-cu11==11.8.89"],
    ("cudart", "12.0"): ["nvidia-cuda-runtime-cu12==12.0.146"],
    ("cudart", "12.4"): ["nvidia-cuda-runtime-cu12==12.4.127"],
    ("cudart", "12.9"): ["nvidia-cuda-runtime-cu12==12.9.79"],
    ("cudart", "13.0"): ["nvidia-cuda-runtime==13.0.96"],
    ("cudart", "13.5"): ["nvidia-cuda-runtime==13.5.37"],
    ("cufile", "12"): ["nvidia-cufile-cu12==1.14.1.1"],
    ("cufile", "13"): ["nvidia-cufile==1.20.0.107"],
    ("cupti", "12.9"): ["nvidia-cuda-cupti-cu12==12.9.79"],
    ("cupti", "13.0"): ["nvidia-cuda-cupti==13.0.85"],
    ("nvtx", "11.8"): ["nvidia-nvtx-cu11==11.8.86"],
    ("nvtx", "13.5"): ["nvidia-nvtx==13.5.25"],
    ("cublas", "13.0"): ["nvidia-cublas==13.0.2.14"],
    ("npp", "12.4"): ["nvidia-npp-cu12==12.4.1.87"],
    ("ucx", "1.22"): ["libucx-cu12==1.22.0"],
    ("nvcc", "13.0"): ["nvidia-cuda-nvcc==13.0.88", "nvidia-nvvm==13.0.88", "nvidia-cuda-crt==13.0.88",
                       "nvidia-cuda-runtime==13.0.96"],
}
PYTHON = {("perfetto", "0.59"): "perfetto==0.59.1", ("nvtx-python", "0.2"): "nvtx==0.2.17",
          ("pytest", "9.2"): "pytest==9.2.0"}
FRAMEWORKS = {("torch", "2.15"): "13"}
DEBIAN = {("debian", "11.8"): ("bookworm", "nvidia-cuda-dev", ["libcudart_static.a", "libculibos.a"])}


def cache() -> Path:
    given = os.environ.get("CUTAP_CACHE")
    root = Path(given) if given else Path(__file__).resolve().parents[2] / ".cache"
    return root / "wheels"


def unavailable(what: str) -> None:
    print(f"wheels.py: cannot fetch {what}; is the network there?", file=sys.stderr)
    sys.exit(3)


def once(name: str, fill) -> Path:
    """The cache's folder of that name; `fill` makes it in a folder aside if it is not there."""
    place = cache() / name
    if place.is_dir():
        return place
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / f".lock-{name}", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several tests may want it; one of them fetches it
        return place if place.is_dir() else filled(place, fill)


def filled(place: Path, fill) -> Path:
    work = Path(tempfile.mkdtemp(prefix=".fetch-", dir=cache()))
    try:
        (work / "un").mkdir()
        fill(work)
        (work / "un").rename(place)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return place


def from_pypi(packages: list, work: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
         "--disable-pip-version-check", "--dest", str(work / "wheel"), *packages],
        stdout=sys.stderr,
    )
    if done.returncode != 0:
        unavailable(" ".join(packages) + " from PyPI")
    for wheel in (work / "wheel").glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(work / "un")
    for program in [*(work / "un").glob("nvidia/*/bin/*"), *(work / "un").glob("nvidia/*/nvvm/bin/*")]:
        if program.is_file():
            program.chmod(0o755)


def with_python(package: str, work: Path) -> None:
    """A package with all that it needs, and a `python3` that finds it."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary=:all:", "--no-compile",
         "--disable-pip-version-check", "--root-user-action=ignore", "--target", str(work / "un/packages"), package],
        stdout=sys.stderr,
    )
    if done.returncode != 0:
        unavailable(package + " from PyPI")
    found_by(work / "un/python3")


def found_by(python: Path) -> None:
    """A `python3` that finds the packages beside it."""
    python.write_text(f'#!/bin/sh\nPYTHONPATH="${{0%/*}}/packages" exec {sys.executable} "$@"\n')
    python.chmod(0o755)


def with_frameworks(name: str, work: Path) -> None:
    """The same with packages that the simulated driver's tests fetch too: gigabytes, of which one copy is enough."""
    script = Path(__file__).resolve().parents[2] / "crates/libcuda/tests/frameworks.py"
    done = subprocess.run([sys.executable, str(script), "folder", name], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        unavailable(f"frameworks {name} from PyPI")
    (work / "un/packages").symlink_to(done.stdout.strip())
    found_by(work / "un/python3")


def from_debian(suite: str, package: str, names: list, work: Path) -> None:
    """With an apt of our own: its lists and sources touch nothing of the machine's."""
    for folder in ("lists/partial", "archives/partial", "un/lib"):
        (work / folder).mkdir(parents=True)
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (work / "sources").write_text(f"deb [signed-by={keys}] http://deb.debian.org/debian {suite} non-free\n")
    options = [f"-oDir::Etc::sourcelist={work}/sources", "-oDir::Etc::sourceparts=/dev/null",
               f"-oDir::State::Lists={work}/lists", f"-oDir::Cache={work}", "-oAPT::Sandbox::User=root"]
    for words in (["update"], ["download", package]):
        try:
            done = subprocess.run(["apt-get", "-qq", *options, *words], cwd=work, stdout=sys.stderr)
        except FileNotFoundError:
            unavailable(f"{package} without apt-get")
        if done.returncode != 0:
            unavailable(f"{package} from Debian")
    for package_file in work.glob("*.deb"):
        content = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package_file)], stdout=subprocess.PIPE)
        with tarfile.open(fileobj=content.stdout, mode="r|") as archive:
            for member in archive:
                if member.isfile() and Path(member.name).name in names:
                    (work / "un/lib" / Path(member.name).name).write_bytes(archive.extractfile(member).read())
        content.wait()


def folder(unpacked: Path) -> Path:
    """Inside a wheel: nvidia/<something>/ that holds lib/ (or bin/), or libucx/."""
    for lib in sorted([*unpacked.glob("nvidia/*/lib"), *unpacked.glob("libucx/lib")]):
        return lib.parent
    raise SystemExit(f"wheels.py: {unpacked} holds no nvidia/*/lib; delete it and try again")


def complete(cudart: Path) -> None:
    """The two headers that the runtime's own need of nvcc's, where they are missing."""
    for header in (Path(__file__).resolve().parent / "include/crt").glob("*.h"):
        place = cudart / "include/crt" / header.name
        if not place.exists():
            place.parent.mkdir(exist_ok=True)
            work = place.with_name(f".{header.name}-{os.getpid()}")
            work.write_bytes(header.read_bytes())
            work.replace(place)


def main() -> None:
    words = sys.argv[1:]
    if words == ["list"]:
        for (what, short), packages in WHEELS.items():
            print(f"{what} {short}\t{' '.join(packages)}")
        for (what, short), package in PYTHON.items():
            print(f"{what} {short}\t{package} and what it needs")
        for (what, short), name in FRAMEWORKS.items():
            print(f"{what} {short}\tframeworks.py's {name}")
        for (what, short), (suite, package, _) in DEBIAN.items():
            print(f"{what} {short}\t{package} of Debian {suite} non-free")
        return
    if len(words) != 2:
        sys.exit(__doc__)
    key = (words[0], words[1])
    if key in WHEELS:
        packages = WHEELS[key]
        name = packages[0].replace("==", "-") if len(packages) == 1 else "-".join(key)
        place = folder(once(name, lambda work: from_pypi(packages, work)))
        if key[0] == "cudart":
            complete(place)
        print(place)
    elif key in PYTHON:
        print(once("-".join(key), lambda work: with_python(PYTHON[key], work)))
    elif key in FRAMEWORKS:
        print(once("-".join(key), lambda work: with_frameworks(FRAMEWORKS[key], work)))
    elif key in DEBIAN:
        print(once("-".join(key), lambda work: from_debian(*DEBIAN[key], work)))
    else:
        names = ", ".join(" ".join(key) for key in [*WHEELS, *PYTHON, *FRAMEWORKS, *DEBIAN])
        sys.exit(f"wheels.py: does not know '{' '.join(words)}'; it knows {names}")


if __name__ == "__main__":
    main()
