#!/usr/bin/env python3
"""Writes api/submission.toml: methods of channel classes, and launch descriptors (QMD), from NVIDIA's open-gpu-doc (MIT).

Usage: submission.py OPEN_GPU_DOC_DIR > api/submission.toml
A method is an offset that a class header names; a field of a descriptor is a pair of bits. No comment and no code is taken.
"""

import os
import re
import sys

CLASSES = [
    # header, number, name
    ("classes/host/clc56f.h", 0xC56F, "AMPERE_CHANNEL_GPFIFO_A"),
    ("classes/compute/clc6c0.h", 0xC6C0, "AMPERE_COMPUTE_A"),
    ("classes/compute/clc7c0.h", 0xC7C0, "AMPERE_COMPUTE_B"),
    ("classes/compute/clc9c0.h", 0xC9C0, "ADA_COMPUTE_A"),
    ("classes/compute/clcbc0.h", 0xCBC0, "HOPPER_COMPUTE_A"),
    ("classes/compute/clcdc0.h", 0xCDC0, "BLACKWELL_COMPUTE_A"),
    ("classes/compute/clcec0.h", 0xCEC0, "BLACKWELL_COMPUTE_B"),
    ("classes/dma-copy/clc6b5.h", 0xC6B5, "AMPERE_DMA_COPY_A"),
    ("classes/dma-copy/clc7b5.h", 0xC7B5, "AMPERE_DMA_COPY_B"),
    ("classes/dma-copy/clc8b5.h", 0xC8B5, "HOPPER_DMA_COPY_A"),
    ("classes/dma-copy/clc9b5.h", 0xC9B5, "BLACKWELL_DMA_COPY_A"),
    ("classes/dma-copy/clcab5.h", 0xCAB5, "BLACKWELL_DMA_COPY_B"),
]
QMDS = ["classes/compute/clc6c0qmd.h", "classes/compute/clc7c0qmd.h", "classes/compute/clc9c0qmd.h",
        "classes/compute/clcbc0qmd.h", "classes/compute/clcdc0qmd.h", "classes/compute/clcec0qmd.h"]


def read(path):
    with open(os.path.join(sys.argv[1], path), errors="replace") as file:
        return file.read()


def rows(name, items):
    out = f"{name} = [\n"
    line = " "
    for item in items:
        if len(line) + len(item) + 5 > 118:
            out += line + "\n"
            line = " "
        line += f' "{item}",'
    return out + line + "\n]\n"


print("# Methods of channel classes, and launch descriptors (QMD). Written by crates/import/submission.py from NVIDIA's open-gpu-doc (MIT).")
print(f'\nsource = "open-gpu-doc {sys.argv[2] if len(sys.argv) > 2 else ""}"')
for path, number, name in CLASSES:
    prefix = f"NV{number:04X}"
    text, found = read(path), {}
    # `NAME HIGH:LOW` is a field of a method; what its name begins is one of its values.
    fields = re.findall(rf"#define {prefix}_([A-Z0-9_]+)(?:\([ij]\))?[ \t]+\d+:\d+", text)
    for m in re.finditer(rf"#define {prefix}_([A-Z0-9_]+)(?:\([ij]\))?[ \t]+\(?(0x[0-9a-fA-F]+)(?:\+\([ij]\)\*(\d+))?\)?", text):
        value = int(m[2], 16)
        is_value = any(m[1].startswith(field + "_") for field in fields)
        if value % 4 == 0 and value < 0x4000 and not is_value:
            step = f" x{m[3]}" if m[3] else ""
            found.setdefault(value, m[1] + step if step else m[1])
    print(f'\n[[class]]\nnumber = {number:#06x}\nname = "{name}"')
    print(rows("methods", [f"{at:#x} {method}" for at, method in sorted(found.items())]), end="")
for path in QMDS:
    text = read(path)
    versions = {}
    for m in re.finditer(r"#define NV([0-9A-F]{4})_QMDV(\d\d)_(\d\d)_([A-Z0-9_]+)(\(i\))?[ \t]+MW\(([^)]*(?:\)[^)\n]*)*)\)[ \t]*\n", text):
        number, major, minor, field, indexed, bits = m.groups()
        n = re.findall(r"\d+", bits) if not indexed else None
        if indexed:
            pair = re.match(r"\((\d+)\+\(i\)\*(\d+)\):\((\d+)\+\(i\)\*(\d+)\)", bits)
            if not pair:
                continue
            row = f"{pair[1]}:{pair[3]}+{pair[2]} {field}"
        else:
            row = f"{n[0]}:{n[1] if len(n) > 1 else n[0]} {field}"
        versions.setdefault((int(number, 16), int(major), int(minor)), []).append(row)
    # The newest of a class is what its driver writes.
    if versions:
        (number, major, minor), fields = max(versions.items())
        print(f'\n[[qmd]]\nclass = {number:#06x}\nmajor = {major}\nminor = {minor}')
        print(rows("fields", fields), end="")
