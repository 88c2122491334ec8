#!/usr/bin/env python3
"""Records how a real driver answers cuGetProcAddress, as TOML on stdout.

    python3 tests/gpu/record_driver.py [--compare api/driver/exports.toml] [--answers]

First the table: every exported function, the name to ask for, the version since which it
is the answer, in the form of api/driver/exports.toml. Then `probes`: edge cases, each
asked before cuInit and after it. --compare adds what differs from a table we have;
--answers prints the answers alone, in the form of api/driver/answers/.
It needs libcuda.so.1, and no GPU. Nothing that it is given is ever called.
"""

import argparse
import ctypes
import os
import re
import struct
import sys
import warnings

from elf_symbols import Library

UNTOUCHED = 0xDEADBEEF
# Versions are 1000 * major + 10 * minor.
VERSIONS = range(1000, 16001, 10)
FORMS = ("ptds", "ptsz")
OLD, NEW = 3000, 99990

# (what, name, version, flags, pass a status pointer)
PROBES = [
    ("found", "cuMemAlloc", 12000, 0, True),
    ("found, no status pointer", "cuMemAlloc", 12000, 0, False),
    ("unknown name", "cuNoSuchFunction", 12000, 0, True),
    ("unknown name, no status pointer", "cuNoSuchFunction", 12000, 0, False),
    ("empty name", "", 12000, 0, True),
    ("empty name, version 0", "", 0, 0, True),
    ("empty name, version 0, no status pointer", "", 0, 0, False),
    ("null name", None, 12000, 0, True),
    ("version too old", "cuMemAllocAsync", OLD, 0, True),
    ("version too old, no status pointer", "cuMemAllocAsync", OLD, 0, False),
    ("version 0", "cuMemAlloc", 0, 0, True),
    ("negative version", "cuMemAlloc", -1, 0, True),
    ("version far in the future", "cuMemAlloc", NEW, 0, True),
    ("legacy stream flag", "cuLaunchKernel", 12000, 1, True),
    ("per-thread stream flag", "cuLaunchKernel", 12000, 2, True),
    ("per-thread stream flag, copy", "cuMemcpy", 12000, 2, True),
    ("per-thread stream flag, version before it", "cuLaunchKernel", 6000, 2, True),
    ("per-thread stream flag, function without stream", "cuInit", 12000, 2, True),
    ("both stream flags", "cuLaunchKernel", 12000, 3, True),
    ("flag nobody knows", "cuLaunchKernel", 12000, 4, True),
    ("high flag", "cuLaunchKernel", 12000, 1 << 62, True),
    ("unknown flag and unknown name", "cuNoSuchFunction", 12000, 4, True),
    ("name with its version", "cuMemAlloc_v2", 12000, 0, True),
    ("name with its stream form", "cuLaunchKernel_ptsz", 12000, 0, True),
    ("name with its stream form and flag", "cuLaunchKernel_ptsz", 12000, 2, True),
    ("itself, 11.3", "cuGetProcAddress", 11030, 0, True),
    ("itself, 12.0", "cuGetProcAddress", 12000, 0, True),
    ("itself, version too old", "cuGetProcAddress", 11000, 0, True),
    ("itself with its version", "cuGetProcAddress_v2", 12000, 0, True),
    ("export table function", "cuGetExportTable", OLD, 0, True),
    ("runtime's name", "cudaMalloc", 12000, 0, True),
    ("libc's name", "malloc", 12000, 0, True),
    ("wrong case", "cumemalloc", 12000, 0, True),
]


class Asker:
    """Both forms of the question, with the answers' storage filled beforehand."""

    def __init__(self):
        try:
            lib = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            sys.exit(f"record_driver.py: no NVIDIA driver library here ({error}); put one on LD_LIBRARY_PATH")
        self.lib, self.library = lib, Library("libcuda.so")
        for name in ("cuGetProcAddress", "cuGetProcAddress_v2"):
            if hasattr(lib, name):
                getattr(lib, name).argtypes = [
                    ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p
                ][: 5 if name.endswith("_v2") else 4]
        self.pointer, self.status = ctypes.c_uint64(), ctypes.c_int()

    def ask(self, function, name, version, flags, with_status):
        """(code, address, status): an int is as written, UNTOUCHED if it was not."""
        self.pointer.value, self.status.value = UNTOUCHED, 77
        text = None if name is None else name.encode()
        given = [text, ctypes.addressof(self.pointer), version, flags]
        if function.endswith("_v2"):
            given.append(ctypes.addressof(self.status) if with_status else None)
        code = getattr(self.lib, function)(*given)
        return code, self.pointer.value, self.status.value

    def ask_apart(self, *question):
        """The same in a forked process: some questions might crash the driver. None if it did."""
        read, write = os.pipe()
        with warnings.catch_warnings():
            # After cuInit the driver has threads, and Python warns. The child asks one question,
            # writes and ends: it takes no lock that another thread may have held.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            os.write(write, struct.pack("<iQi", *self.ask(*question)))
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as f:
            data = f.read()
        os.waitpid(pid, 0)
        return struct.unpack("<iQi", data) if len(data) == 16 else None

    def tell(self, function, answer, with_status):
        if answer is None:
            return 'answer = "crash"'
        code, address, status = answer
        where = "untouched" if address == UNTOUCHED else " = ".join(self.library.at(address))
        text = f'code = {code}, pointer = "{where}"'
        if function.endswith("_v2") and with_status:
            text += f", status = {status}" if status != 77 else ', status = "untouched"'
        return text


def stem(name):
    """The name to ask for: without stream form and version."""
    return re.sub(r"_v\d+$", "", re.sub(r"_(ptds|ptsz)$", "", name))


def sweep(asker):
    """{(exported name, base): (since, form or None)} and notes on what the form cannot say."""
    rows, notes = {}, []
    exported = [name for name in asker.library.offsets if name.startswith("cu")]
    bases = sorted({stem(name) for name in exported} | set(exported))
    function = "cuGetProcAddress_v2" if hasattr(asker.lib, "cuGetProcAddress_v2") else "cuGetProcAddress"
    for base in bases:
        for flags in (0, 2, 1):
            last = None
            for version in VERSIONS:
                code, address, _ = asker.ask(function, base, version, flags, True)
                address = 0 if code else address
                if address == last:
                    continue
                last = address
                names = asker.library.at(address)
                if names == ["NULL"]:
                    continue
                names = [name for name in names if stem(name) == stem(base)] or names
                for name in names:
                    form = next((f for f in FORMS if name.endswith("_" + f)), None)
                    known = rows.setdefault((name, base), (version, form))
                    if known[0] != version:
                        notes.append(f"{base}, flags {flags}: {name} from version {version}, elsewhere from {known[0]}")
                    if (form is not None) != (flags == 2) and form is not None:
                        notes.append(f"{base}, flags {flags}, version {version}: answers {name}")
    return exported, rows, notes


def write_table(asker, exported, rows):
    """One line per exported function; gives the same as {name: (base, since, form)}."""
    table, lines = {}, []
    for name in exported:
        table[name] = (None, None, None)
    for (name, base), (since, form) in sorted(rows.items()):
        if base == stem(name) or table.get(name, (None,))[0] is None:
            table[name] = (base, since, form)
    for name, (base, since, form) in sorted(table.items()):
        text = f'name = "{name}"'
        if base is not None:
            text += f', base = "{base}", since = {since}'
        if form is not None:
            text += f', form = "{form}"'
        if name in asker.library.offsets:
            lines.append(f"  {{ {text} }},")
        else:
            lines.append(f"  # {text}")
    print("exports = [")
    print("\n".join(lines))
    print("]\n")
    return table


def write_answers(asker, exported, rows, cuda):
    """For each name to ask for, and stream form: which export from which version on."""
    asked = {}
    for (name, base), (since, form) in sorted(rows.items()):
        if name in asker.library.offsets:
            asked.setdefault(base + (f" {form}" if form else ""), []).append((since, name))
    never = sorted(set(exported) - {name for name, _ in rows})
    driver = os.path.realpath(asker.library.path).split(".so.", 1)[1]
    print("# What the real cuGetProcAddress answers, recorded by tests/gpu/record_driver.py --answers.")
    print("# answers: name asked for, and stream form -> [from this version on, this export].")
    print("# never: exports that it does not hand out.")
    print(f'driver = "{driver}"\ncuda = {cuda}\n\nnever = [')
    print("\n".join(f'  "{name}",' for name in never))
    print("]\n\n[answers]")
    for question, pairs in sorted(asked.items()):
        print(f'"{question}" = [{", ".join(f"[{since}, {chr(34)}{name}{chr(34)}]" for since, name in sorted(pairs))}]')


def compare(table, path, driver_version):
    import tomllib

    with open(path, "rb") as f:
        ours = {e["name"]: (e.get("base"), e.get("since"), e.get("form")) for e in tomllib.load(f)["exports"]}
    print(f"# Compared with {path}:")
    same = sum(ours.get(name) == row for name, row in table.items())
    print(f"#   {same} functions are the same")
    for name, row in sorted(table.items()):
        if name not in ours:
            print(f"#   only the driver has {name} {row}")
        elif ours[name] != row:
            print(f"#   {name}: driver {row}, file {ours[name]}")
    for name, row in sorted(ours.items()):
        if name not in table and (row[1] or 0) <= driver_version:
            print(f"#   only the file has {name} {row}")
    print()


def probe_all(asker):
    return {
        (function, what): asker.ask_apart(function, name, version, flags, with_status)
        for function in ("cuGetProcAddress_v2", "cuGetProcAddress")
        if hasattr(asker.lib, function)
        for what, name, version, flags, with_status in PROBES
        if with_status or function.endswith("_v2")
    }


def write_probes(asker, before, after, init):
    print("probes = [")
    for function in ("cuGetProcAddress_v2", "cuGetProcAddress"):
        for what, name, version, flags, with_status in PROBES:
            if (function, what) not in before:
                continue
            shown = "NULL" if name is None else name
            head = f'  {{ function = "{function}", what = "{what}", name = "{shown}", version = {version}, flags = {flags}'
            first, second = before[function, what], after[function, what]
            print(f"{head}, {asker.tell(function, first, with_status)} }},")
            if second != first:
                print(f"  # after cuInit (= {init}): {asker.tell(function, second, with_status)}")
    print("]")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", metavar="FILE", help="a table in the form of api/driver/exports.toml")
    parser.add_argument("--answers", action="store_true", help="the answers alone")
    options = parser.parse_args()
    asker = Asker()
    version = ctypes.c_int()
    asker.lib.cuDriverGetVersion(ctypes.byref(version))
    if options.answers:
        exported, rows, _ = sweep(asker)
        return write_answers(asker, exported, rows, version.value)
    before = probe_all(asker)
    exported, rows, notes = sweep(asker)
    init = asker.lib.cuInit(0)
    after = probe_all(asker)
    print("# How a real driver answers cuGetProcAddress: recorded by tests/gpu/record_driver.py.")
    print(f"# {os.path.realpath(asker.library.path)}, CUDA {version.value}, {len(exported)} functions, cuInit = {init}\n")
    table = write_table(asker, exported, rows)
    for note in sorted(set(notes)):
        print(f"# {note}")
    for offset, names in sorted(asker.library.names.items()):
        if len(names) > 1:
            print(f"# one address: {', '.join(names)}")
    print()
    if options.compare:
        compare(table, options.compare, version.value)
    print("# pointer: the exported function at that address; untouched: what we had put there is still there")
    write_probes(asker, before, after, init)


if __name__ == "__main__":
    main()
