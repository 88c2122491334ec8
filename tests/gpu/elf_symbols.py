"""Which exported function lies at an address of a loaded library: a small ELF64 reader.

It reads the file's section headers and .dynsym; it resolves nothing and loads nothing.
"""

import re
import struct
from collections import defaultdict

SHT_DYNSYM, STT_FUNC, STT_GNU_IFUNC = 11, 2, 10


def exported_functions(path):
    """{name without version: offset from the load address} of a shared library."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{path} is not a little-endian 64-bit ELF file")
    table, size, number = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(number)]
    found = {}
    for _, kind, _, _, offset, length, link, _, _, entry in sections:
        if kind != SHT_DYNSYM:
            continue
        names = sections[link][4]
        for at in range(offset, offset + length, entry):
            name, info, _, index, value, _ = struct.unpack_from("<IBBHQQ", data, at)
            if index != 0 and info & 15 in (STT_FUNC, STT_GNU_IFUNC):
                start = names + name
                found[data[start : data.index(b"\0", start)].decode()] = value
    return found


class Library:
    """A library of this process, by a part of its file name."""

    def __init__(self, part):
        pattern = re.compile(r"^([0-9a-f]+)-[0-9a-f]+ \S+ 00000000 \S+ \d+ +(\S*" + re.escape(part) + r"\S*)$")
        with open("/proc/self/maps", encoding="utf-8") as f:
            found = [m for m in map(pattern.match, f.read().splitlines()) if m]
        if not found:
            raise ValueError(f"no mapped file is called {part}")
        self.base, self.path = int(found[0].group(1), 16), found[0].group(2)
        self.offsets = exported_functions(self.path)
        self.names = defaultdict(list)
        for name, offset in sorted(self.offsets.items()):
            self.names[offset].append(name)

    def at(self, address):
        """The names exported at an address, or where else it is, or NULL."""
        if not address:
            return ["NULL"]
        names = self.names.get(address - self.base)
        if names:
            return names
        with open("/proc/self/maps", encoding="utf-8") as f:
            for line in f:
                low, high = (int(x, 16) for x in line.split()[0].split("-"))
                if low <= address < high:
                    if self.path in line:
                        return [f"not exported, at +0x{address - self.base:x}"]
                    return [f"elsewhere: {line.split(None, 5)[-1].strip()}"]
        return [f"nowhere: 0x{address:x}"]
