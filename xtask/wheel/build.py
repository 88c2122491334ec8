"""Writes a wheel: build.py PROGRAM VERSION FOLDER [NAME]. It prints the wheel's path. No module beyond Python's own.

The wheel has the program as a script of NAME. That of cutap, which is the default, has a small package for `python -m
cutap` too. Its platform tag names the newest version of glibc that the program, or a library inside it, asks for, so
that pip refuses it on an older system.
"""
import base64
import glob
import hashlib
import os
import sys
import zipfile

import elf
import sums

SUMMARIES = {"cutap": "strace, ltrace and policy for CUDA", "cutap-query": "the SQL engine of cutap query"}


def main(path, version, folder, name="cutap"):
    with open(path, "rb") as file:
        program = file.read()
    if program[:5] != b"\x7fELF\x02":
        sys.exit(f"{path} is no program for 64-bit Linux")
    tag = "py3-none-manylinux_{}_{}_x86_64".format(*elf.newest_glibc(program))
    stem, package = f"{name.replace('-', '_')}-{version}", os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    info = f"{stem}.dist-info"
    files = [(f"{stem}.data/scripts/{name}", program, 0o755)]
    endings = (".py", ".pyi", ".typed")
    modules = [module for module in os.listdir(package) if module.endswith(endings)] if os.path.isdir(package) else []
    for module in sorted(modules):
        with open(os.path.join(package, module), "rb") as file:
            files.append((f"{name}/{module}", file.read().replace(b"@VERSION@", version.encode()), 0o644))
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {SUMMARIES[name]}\n" \
               "License: MIT OR Apache-2.0\nRequires-Python: >=3.8\n"
    wheel = f"Wheel-Version: 1.0\nGenerator: cutap xtask\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files += [(f"{info}/METADATA", metadata.encode(), 0o644), (f"{info}/WHEEL", wheel.encode(), 0o644)]
    if modules:
        # pytest loads the plugin by it.
        files.append((f"{info}/entry_points.txt", b"[pytest11]\ncutap = cutap.pytest_plugin\n", 0o644))
    record = []
    for path_inside, content, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{path_inside},sha256={digest},{len(content)}\n")
    record.append(f"{info}/RECORD,,\n")
    files.append((f"{info}/RECORD", "".join(record).encode(), 0o644))
    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, f"{stem}-{tag}.whl")
    with zipfile.ZipFile(target + ".new", "w", zipfile.ZIP_DEFLATED) as archive:
        for path_inside, content, mode in files:
            # The same time always: the same files give the same wheel.
            entry = zipfile.ZipInfo(path_inside, (1980, 1, 1, 0, 0, 0))
            entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    # One wheel of a version: pip takes no two for different glibcs.
    for earlier in glob.glob(os.path.join(glob.escape(folder), f"{stem}-py3-none-*.whl")):
        os.remove(earlier)
    os.replace(target + ".new", target)
    sums.write(folder)
    print(target)


main(*sys.argv[1:])
