"""Zeroes the GPU code that a test does not need in a library, so that the library compresses well.

    cutap trace --sim --dump-modules MODULES -- PROGRAM
    prune_fatbin.py LIBRARY OUT ARCH MODULES

In the images of MODULES code of ARCH stays; all other images become zeros. Sizes and places do not change. The file is
for a test on one GPU, and is never kept here.
"""

import glob
import struct
import sys

MAGIC, PTX, CUBIN, EM_CUDA = 0xBA55ED50, 1, 2, 190


def entries(data, at, end):
    """(kind, architecture, payload, size) of each entry of a container."""
    while at + 64 <= end:
        kind, _, header, size = struct.unpack_from("<HHIQ", data, at)
        if header < 64 or at + header + size > end:
            return
        yield kind, struct.unpack_from("<I", data, at + 28)[0], at + header, size
        at += header + size


def containers(data):
    """(start, first entry, end) of each container, wherever it lies."""
    at = 0
    while (at := data.find(struct.pack("<I", MAGIC), at)) >= 0:
        _, version, header, length = struct.unpack_from("<IHHQ", data, at)
        if version == 1 and header == 16 and at + header + length <= len(data):
            yield at, at + header, at + header + length
            at += header + length
        else:
            at += 4


def cubins(data):
    """(start, size) of each cubin that lies in the library as an ELF file."""
    at = 0
    while (at := data.find(b"\x7fELF\x02\x01", at)) >= 0:
        machine, sections = struct.unpack_from("<H", data, at + 18)[0], struct.unpack_from("<Q", data, at + 40)[0]
        entry, count = struct.unpack_from("<HH", data, at + 58)
        if machine == EM_CUDA and at + sections + entry * count <= len(data):
            yield at, sections + entry * count
        at += 64


def main():
    path, out, arch, modules = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    with open(path, "rb") as file:
        data = bytearray(file.read())
    loaded = {}
    for image in glob.glob(modules + "/*"):
        with open(image, "rb") as file:
            content = file.read()
        loaded.setdefault(content[:256], []).append(content)

    def is_loaded(at):
        return any(data[at : at + len(image)] == image for image in loaded.get(bytes(data[at : at + 256]), ()))

    kept, dropped, wanted = 0, 0, []
    for start, begin, end in list(containers(data)):
        whole = is_loaded(start)
        for kind, to, place, size in list(entries(data, begin, end)):
            is_code = kind == CUBIN and to == arch or kind == PTX and to <= arch
            if is_code and whole or is_loaded(place):
                kept += size
                wanted.append((place, place + size))
            else:
                dropped += size
                data[place : place + size] = bytes(size)
    for start, size in list(cubins(data)):
        if not is_loaded(start) and not any(begin <= start < end for begin, end in wanted):
            dropped += size
            data[start : start + size] = bytes(size)
    with open(out, "wb") as file:
        file.write(data)
    print(f"{path}: kept {kept >> 10} KiB of code, dropped {dropped >> 20} MiB")


main()
