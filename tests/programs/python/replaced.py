"""Code objects that come in the place of others: the same file, name, first line and length, and other lines in the
middle of the function. Prints in how many rounds that was so, and the line of the last call of each such round."""

import ctypes
import json
import marshal

cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
STATEMENTS = 200
CALLS = 40


def code(blank):
    """Calls at its end; `blank`: after how many statements a line is left out."""
    lines = ["def f(wait):", " x = 0"]
    for n in range(STATEMENTS):
        lines += [" x += 1"] + [""] * (n in blank)
    lines += [f" wait({n})" for n in range(CALLS)]
    return marshal.dumps(compile("\n".join(lines), "replaced", "exec"))


def call(n):
    cuda.cuMemFree_v2(ctypes.c_uint64(n))


def run(data):
    """Where the code and its table were, and the line of the last call."""
    namespace = {}
    exec(marshal.loads(data), namespace)
    f = namespace.pop("f")
    f(call)
    return id(f.__code__), id(getattr(f.__code__, "co_linetable", None) or f.__code__.co_lnotab)


first, second = code({50}), code({50, 51})
places, replaced = run(first), 0
for n in range(20):
    again = run(second if n % 2 == 0 else first)
    replaced += again == places
    places = again
print(json.dumps({"replaced": replaced, "lines": [STATEMENTS + CALLS + 3, STATEMENTS + CALLS + 4]}))
