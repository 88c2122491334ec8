#!/usr/bin/env python3
"""Tries the packages of `cargo xtask dist` in fresh Debian roots, without a GPU and without a compiler.

    roots.py FOLDER [SUITE]...    FOLDER has the packages; without a suite, all of SUITES

Each root is made once by debootstrap, in $CUTAP_CACHE or .cache (300 MB each). A trial has a mount namespace, in which
an overlay keeps all changes in memory: nothing is written to the root, and nothing needs to be removed or unmounted.
Exit code 1: a trial failed. Without root or the network a suite is skipped, and a line says so.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Their Pythons: 3.9, 3.11, 3.13, 3.14.
SUITES = ["bullseye", "bookworm", "trixie", "sid"]
MIRROR = "http://deb.debian.org/debian"

# $0 is the root, $1 the folder of the packages, $2 that of inside.sh.
OVERLAY = r"""
mount -t tmpfs -o mode=0755 tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o "lowerdir=$0,upperdir=/mnt/upper,workdir=/mnt/work" overlay /mnt/root
cd /mnt/root
mkdir -p dist trial
mount --bind "$1" dist
mount --bind "$2" trial
mount -t proc proc proc
mount -t tmpfs tmpfs dev/shm
exec chroot . sh -e /trial/inside.sh
"""


def cached_root(suite):
    """The root in the cache, or why there is none."""
    cache = Path(os.environ.get("CUTAP_CACHE") or ROOT / ".cache")
    root, aside = cache / f"packages-{suite}", cache / f"packages-{suite}.new-{os.getpid()}"
    if root.is_dir():
        return root, None
    words = ["debootstrap", "--variant=minbase", "--include=python3-venv", suite, str(aside), MIRROR]
    try:
        cache.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except FileNotFoundError:
        return None, "debootstrap is not installed"
    if done.returncode != 0:
        return None, f"debootstrap failed, see {aside}: {(done.stdout.strip().splitlines() or ['no word'])[-1]}"
    aside.rename(root)
    return root, None


def main(folder, *suites):
    failed = []
    for suite in suites or SUITES:
        may = subprocess.run(["unshare", "--mount", "chroot", "/", "true"], stderr=subprocess.PIPE)
        root, why = cached_root(suite) if may.returncode == 0 else (None, "needs root")
        if root is None:
            print(f"skipped: packages in {suite} ({why})")
            continue
        words = ["unshare", "--mount", "--propagation", "private", "sh", "-e", "-c", OVERLAY, root,
                 Path(folder).resolve(), HERE]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"})
        tried = re.findall(r"^ok: .*", done.stdout, re.M)
        print(f"{suite}:", *tried, sep="\n  ")
        if done.returncode != 0 or tried[-1:] != ["ok: all"]:
            print(done.stdout)
            failed.append(suite)
    if failed:
        sys.exit(f"failed: packages in {', '.join(failed)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
