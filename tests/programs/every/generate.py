#!/usr/bin/env python3
"""Writes a C program that calls every function of the runtime or of the driver once, with harmless arguments.

    generate.py runtime 12.9 LIBRARY     each public function that this libcudart (.a or .so) has
    generate.py driver LIBRARY           each function that this libcuda.so.1 exports
    generate.py exceptions               what is not called like the others, and why

The prototypes come from api/; no header of NVIDIA's is needed: integers, enums, handles and pointers are words, structs by
value are arrays of their size. A pointer leads to 4 KiB of zeros of its own, an integer is 0, a handle is NULL, a callback does
nothing. exceptions.toml holds what needs another value, or cannot be called at all, with the reason.

Lines `//: NAME PARAMETER:KIND ...` say what a trace must show: int, float, enum, handle, pointer, struct; any where only a
foreign header knows.

The program writes the name of each function that it is about to call to the file CALLS, so that a call that ends it is known.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
API = HERE.parents[2] / "api"


def load(path: Path) -> dict:
    with open(path, "rb") as file:
        return tomllib.load(file)


def number(version: str) -> tuple:
    return tuple(int(part) for part in version.split("."))


def exported(library: str, stems: tuple) -> list:
    how = ["-D"] if ".so" in Path(library).name else ["-g"]
    done = subprocess.run(["nm", *how, "--defined-only", library], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    rows = (line.split() for line in done.stdout.splitlines())
    names = {row[2].split("@")[0] for row in rows if len(row) == 3 and row[1] in "TtWi"}
    found = sorted(name for name in names if name.startswith(stems))
    if not found:
        sys.exit(f"generate.py: nm finds no function in {library}")
    return found


class Types:
    """What the ABI has to know of a type: w (a word), f (float), d (double), v (nothing), or the bytes of a struct."""

    def __init__(self, family: str):
        self.known = {}
        for kind, rows in load(API / family / "types.toml").items():
            for row in rows if isinstance(rows, list) else []:
                if isinstance(row, dict):
                    for name in [row["name"], *row.get("also", [])]:
                        self.known.setdefault(name, (kind, row))

    def shape(self, name: str):
        name = name.replace("const ", "").strip()
        kind, row = self.known.get(name, (None, {}))
        if name.endswith("*") or kind in ("enum", "handle"):
            return "w"
        if kind in ("struct", "union"):
            return row["size"]
        if kind == "typedef" and row["type"] != "code":
            return self.shape(row["type"])
        return {"float": "f", "double": "d", "void": "v"}.get(name, "w")

    def is_pointer(self, name: str) -> bool:
        kind, row = self.known.get(name.replace("const ", "").strip(), (None, {}))
        return name.strip().endswith("*") or kind == "typedef" and row["type"] != "code" and self.is_pointer(row["type"])

    def is_code(self, name: str) -> bool:
        kind, row = self.known.get(name.strip(), (None, {}))
        return kind == "typedef" and row["type"] == "code"


    def kind(self, name: str) -> str:
        plain = name.replace("const ", "").strip()
        kind, row = self.known.get(plain, (None, {}))
        if plain.endswith("*") or plain in ("CUdeviceptr", "CUdeviceptr_v2") or kind == "typedef" and row["type"] == "code":
            return "pointer"
        if kind == "typedef":
            return self.kind(row["type"])
        if kind in ("struct", "union"):
            return "struct"
        if kind in ("enum", "handle"):
            return kind
        if plain in ("float", "double"):
            return "float"
        words = {"int", "unsigned", "char", "short", "long", "signed"}
        return "int" if set(plain.split()) <= words or plain in ("size_t", "uint32_t", "uint64_t") else "any"


def c_type(shape) -> str:
    if isinstance(shape, int):
        return f"struct s{shape}"
    return {"w": "W", "f": "float", "d": "double", "v": "void"}[shape]


def argument(types: Types, parameter: dict, index: int, special: dict) -> str:
    if parameter["name"] in special:
        return special[parameter["name"]]
    shape = types.shape(parameter["type"])
    if isinstance(shape, int):
        return f"(struct s{shape}){{{{0}}}}"
    if types.is_code(parameter["type"]):
        return "(W)nothing"
    return f"(W)area[{index}]" if types.is_pointer(parameter["type"]) else "0"


def prototypes(family: str, version: str | None) -> dict:
    found = {}
    for row in load(API / family / "functions.toml")["function"]:
        if version and not number(row.get("first", "0.0")) <= number(version) <= number(row.get("last", "99.0")):
            continue
        for form in ["", *row.get("forms", [])]:
            found[row["name"] + form] = row  # a later form of a name is the newer one
    return found


# Functions that no header declares get six words, as a trace shows them.
UNKNOWN = {"returns": "int", "params": []}

HEAD = """/* Written by tests/programs/every/generate.py: every function once, with harmless arguments. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
typedef unsigned long W;
static char area[24][4096];
static W nothing(void) { return 0; }
static int calls = -1;
static void next(const char *name) {
    memset(area, 0, sizeof area);
    (void)!write(calls, name, strlen(name));
    (void)!write(calls, " 1\\n", 3);
}
"""

MAIN = """int main(int argc, char **argv) {
    const char *file = getenv("CALLS");
    if (file) calls = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
    prepare();
    for (unsigned long i = 0; i < sizeof all / sizeof *all; i++)
        if (argc == 1 || !strcmp(argv[1], all[i].name)) next(all[i].name), all[i].call();
    (void)nothing;
    puts("ok");
    return 0;
}
"""

# How the driver's functions are reached.
ROUTES = """#ifdef DLSYM
#define REACH(name, base, since, flags) dlsym(library, name)
#elif defined PROC
typedef int (*look_up_t)(const char *, void **, int, unsigned long, int *);
static look_up_t look_up;
static void *reach(const char *base, int since, int flags) {
    void *f = 0;
    int status;
    return look_up(base, &f, since, flags, &status) ? 0 : f;
}
#define REACH(name, base, since, flags) reach(base, since, flags)
#endif
static void *library;
static void missing(const char *name) { printf("no %s\\n", name); }
"""

PREPARE = """static void prepare(void) {
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) _exit(71);
#ifdef PROC
    look_up = (look_up_t)dlsym(library, "cuGetProcAddress_v2");
#endif
}
"""


def program(family: str, version: str | None, library: str) -> str:
    types, known = Types(family), prototypes(family, version)
    rules = load(HERE / "exceptions.toml")[family]
    stems = ("cuda",) if family == "runtime" else ("cu",)
    names = [name for name in exported(library, stems) if name not in rules["not_called"]]
    first, last = rules.get("first", []), rules.get("last", [])
    names = [n for n in first if n in names] + [n for n in names if n not in first + last] + [n for n in last if n in names]
    exports = {row["name"]: row for row in load(API / family / "exports.toml")["exports"]}
    body, rows, sizes = [], [], set()
    for name in names:
        row = known.get(name)
        if row is None and name not in rules["undeclared"]:
            sys.exit(f"generate.py: {library} exports {name}, which api/{family}/functions.toml does not have")
        if row is not None and name in rules["undeclared"]:
            sys.exit(f"generate.py: {name} is declared by now: take it out of exceptions.toml")
        row = row or UNKNOWN
        special = rules["arguments"].get(name, {})
        shapes = [types.shape(p["type"]) for p in row["params"]]
        values = [argument(types, p, i, special) for i, p in enumerate(row["params"])]
        if row is UNKNOWN:
            shapes, values = ["w"] * 6, ["0"] * 6
        shown = " ".join(f'{p["name"]}:{types.kind(p["type"])}' for p in row["params"])
        body.append(f"//: {name} {shown}" if row is not UNKNOWN else f"// {name}: its arguments are not known")
        result = types.shape(row["returns"])
        sizes.update(s for s in [*shapes, result] if isinstance(s, int))
        returns, takes = c_type(result), ", ".join(map(c_type, shapes)) or "void"
        given = ", ".join(values)
        direct = f"extern {returns} {name}({takes}); static void call_{name}(void) {{ {name}({given}); }}"
        if family == "runtime":
            body.append(direct)
        else:
            export = exports.get(name, {})
            base, since = export.get("base"), export.get("since", 0)
            flags = 2 if export.get("form") else 1
            asked = f'"{base}", {since}, {flags}' if base else '0, 0, 0'
            reach = f'{returns} (*f)({takes}) = ({returns} (*)({takes}))REACH("{name}", {asked}); if (f) f({given}); else missing("{name}");'
            by_name = f"static void call_{name}(void) {{ {reach} }}"
            if not base:
                by_name = f"#ifdef PROC\n#define NOT_{name}\n#else\n{by_name}\n#endif"
            body.append(f"#ifdef LINK\n{direct}\n#else\n{by_name}\n#endif")
        entry = f'{{"{name}", call_{name}}},'
        rows.append(f"#ifndef NOT_{name}\n{entry}\n#endif" if family == "driver" else entry)
    structs = [f"struct s{size} {{ int word[{size // 4}]; }};" for size in sorted(sizes)]
    table = ["static const struct { const char *name; void (*call)(void); } all[] = {", *rows, "};"]
    prepare = PREPARE if family == "driver" else "static void prepare(void) {}\n"
    return "\n".join([HEAD, *structs, ROUTES if family == "driver" else "", *body, *table, prepare, MAIN])


def main() -> None:
    match sys.argv[1:]:
        case ["runtime", version, library]:
            print(program("runtime", version, library))
        case ["driver", library]:
            print(program("driver", None, library))
        case ["exceptions"]:
            for family, rules in load(HERE / "exceptions.toml").items():
                for name, reason in rules["not_called"].items():
                    print(f"{family}\t{name}\t{reason}")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
