"""What the 64-bit ELF files of a program need: of glibc, and of other libraries. The program may carry more ELF files."""
import re
import struct

SHT_DYNAMIC, SHT_GNU_VERNEED = 6, 0x6FFFFFFE
DT_NEEDED = 1


def files(program):
    """The program, and each ELF file that it carries: where it begins."""
    found = [match.start() for match in re.finditer(rb"\x7fELF\x02\x01\x01", program)]
    # Sizes of headers: other bytes that look like a beginning are text of a program that reads such files.
    return [at for at in found if struct.unpack_from("<H", program, at + 0x34) == (64,)
            and struct.unpack_from("<H", program, at + 0x3A) == (64,)]


def _sections(program, start):
    (at,) = struct.unpack_from("<Q", program, start + 0x28)
    size, count = struct.unpack_from("<HH", program, start + 0x3A)
    return [struct.unpack_from("<IIQQQQIIQQ", program, start + at + n * size) for n in range(count)]


def glibc(program, start=0):
    """The newest version of glibc that an ELF file needs. None if it needs no version."""
    sections, versions = _sections(program, start), []
    for section in sections:
        if section[1] == SHT_GNU_VERNEED:
            offset, length = sections[section[6]][4:6]
            names = program[start + offset:start + offset + length].split(b"\0")
            found = [re.fullmatch(rb"GLIBC_(\d+)\.(\d+)(\.\d+)?", name) for name in names]
            versions += [(int(match[1]), int(match[2])) for match in found if match]
    return max(versions, default=None)


def newest_glibc(program):
    """The newest version that a program, or a file inside it, needs."""
    return max([(2, 17)] + [version for version in (glibc(program, at) for at in files(program)) if version])


def needed(program, start=0):
    """The libraries that an ELF file needs."""
    sections, names = _sections(program, start), []
    for section in sections:
        if section[1] == SHT_DYNAMIC:
            offset, length = section[4:6]
            (table,) = sections[section[6]][4:5]
            for at in range(start + offset, start + offset + length, 16):
                tag, value = struct.unpack_from("<QQ", program, at)
                if tag == DT_NEEDED:
                    begin = start + table + value
                    names.append(program[begin:program.index(b"\0", begin)].decode())
    return names
