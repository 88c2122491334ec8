"""Each program says the same with and without --gpu-time, and nearly all of its rows have their call."""

import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

import tools
from tools import build, python, result

LAUNCHES = tools.number("LAUNCHES", 2000)


@dataclass
class Case:
    """A program; `profiles` if it uses CUPTI itself, which takes rows from cutap."""

    name: str
    command: list
    rows: int | None = None
    profiles: bool = False
    limit: int = 150
    variables: dict = field(default_factory=dict)
    more: object = None


def threads_have_their_rows(name):
    """The grid says which launch a row is: the call with that grid has that row's time; grids are of a thread."""
    calls, found, tids = {}, {}, {}
    for line in tools.lines_of(
        "show", "--json", tools.file_of(name), having=('"type":"row"', '"name":"cuLaunchKernel')
    ):
        if line["type"] == "row" and line["work"] == "kernel":
            found.setdefault(tuple(line["grid"][:2]), []).append((line["duration_ns"], line["start_ns"]))
        elif line["type"] == "call" and (grid := grid_of(line["arguments"])):
            calls[grid] = line
            tids.setdefault(grid[1], set()).add(line["tid"])
    wrong = 0
    for grid, rows in found.items():
        call = calls.get(grid, {})
        is_right = len(rows) == 1 and call.get("gpu_rows") == 1 and call["gpu_ns"] == rows[0][0]
        wrong += not (is_right and call["start_ns"] + call["gpu_wait_ns"] == rows[0][1])
    distinct = len(tids) == 4 and len(set().union(*tids.values())) == 4
    text = f"{len(found)} grids of rows, {len(calls)} of calls, {wrong} rows at a wrong call, 4 threads: {distinct}"
    return wrong == 0 and distinct and len(found) == len(calls) == 4 * LAUNCHES, text


def grid_of(arguments):
    """The grid of a launch, from its arguments or from its structure of them."""
    found = {}

    def walk(name, value):
        if name in ("gridDimX", "gridDimY"):
            found[name] = value
        elif isinstance(value, dict):
            if "name" in value and "value" in value:
                walk(value["name"], value["value"])
            else:
                for inner_name, inner in value.items():
                    walk(inner_name, inner)
        elif isinstance(value, list):
            for inner in value:
                walk("", inner)

    walk("", arguments)
    return (found["gridDimX"], found["gridDimY"]) if len(found) == 2 else None


def check(case):
    """One line on the program."""
    name = "same " + case.name
    plain = tools.plain(case.command, case.limit, **case.variables)
    traced = tools.record(case.name, case.command, case.limit + 50, names_cupti=False, **case.variables)
    rows, needed = tools.rows(case.name), ""
    if "no libcupti" in rows.why and tools.cupti():
        case.variables["CUTAP_CUPTI"] = tools.cupti()
        traced = tools.record(case.name, case.command, case.limit + 50, **case.variables)
        rows, needed = tools.rows(case.name), ", with CUTAP_CUPTI"
    said = (
        f"exit {plain.code} and {traced.code}, {plain.seconds:.0f} s and {traced.seconds:.0f} s, {rows.text()}{needed}"
    )
    if skipped := [line for line in plain.out.splitlines() if line.startswith("skip")]:
        return None, name, skipped[0]
    good = plain.code == traced.code == 0 and (case.profiles or rows.are_good(case.rows))
    if case.rows is not None:
        said += f", expected {case.rows}"
    if plain.code != 0:
        return False, name, f"fails without cutap: {plain.last_error()}"
    if traced.code != 0:
        said += f"; {traced.last_error()}"
    if plain.out != traced.out:
        pairs = zip(plain.out.splitlines() + ["(end)"], traced.out.splitlines() + ["(end)"])
        differ = next((f"'{one[:60]}' and '{other[:60]}'" for one, other in pairs if one != other), "length")
        if tools.plain(case.command, case.limit, **case.variables).out != plain.out:
            return (None if good else False), name, f"two runs without cutap differ, too: {differ}; {said}"
        return False, name, f"the output differs: {differ}; {said}"
    if case.more:
        is_right, text = case.more(case.name)
        good, said = good and is_right, f"{said}; {text}"
    return good, name, "same output, " + said


def cases():
    inductor = {"TORCHINDUCTOR_CACHE_DIR": os.path.join(tools.WORK, "inductor"), "TORCHINDUCTOR_COMPILE_THREADS": 1}
    own = {"CUPTI_LIB": tools.cupti()}
    # A libcupti of 13.3 or later, which has subscribers with separate records.
    newer = os.environ.get("GPU_TIME_CUPTI_NEWER", "")
    if not newer:
        result(None, "same subscriber", "GPU_TIME_CUPTI_NEWER names no libcupti of 13.3 or later")
    subscriber = {"profiles": True, "variables": {"CUPTI_LIB": newer, "CUTAP_CUPTI": newer}}
    # The longest first.
    found = (
        []
        if tools.ENGINE
        else [
            Case("reduce_overhead", python("gpu_time_reduce_overhead.py"), variables=inductor, limit=200),
            Case("decode", python("gpu_time_decode.py")),
            Case("ddp", python("gpu_time_ddp.py")),
            Case("children", python("gpu_time_children.py")),
            Case("jax", python("jax_small.py")),
            Case("cupy", python("cupy_small.py")),
            Case("profiler5", python("gpu_time_profiler5.py"), profiles=True),
            Case("profiler", python("torch_profiler.py"), profiles=True),
            Case("train", python("torch_train.py")),
            Case("torch_graph", python("torch_graph.py")),
            Case("torch_threads", python("torch_threads.py")),
        ]
    )
    numbered = {"rows": 4 * LAUNCHES + 2, "more": threads_have_their_rows}
    own_cupti = {"profiles": True, "variables": own}
    programs = [
        ("saxpy_static", "saxpy.cu", ["-cudart", "static"], [], {"rows": 6}),
        ("saxpy_shared", "saxpy.cu", ["-cudart", "shared"], [], {"rows": 6}),
        ("threads", "gpu_time_threads.cu", [], [LAUNCHES], numbered),
        ("static_object", "gpu_time_static_object.cu", [], [], {"rows": 4}),
        ("cupti_later", "gpu_time_own_cupti.cu", [], ["later"], own_cupti),
        ("cupti_first", "gpu_time_own_cupti.cu", [], ["first"], own_cupti),
    ]
    if newer:
        programs += [
            ("subscriber_first", "gpu_time_subscriber.cu", [], ["first"], subscriber),
            ("subscriber_later", "gpu_time_subscriber.cu", [], ["later"], subscriber),
        ]
    sources = {(source, *flags) for _, source, flags, *_ in programs}
    target = lambda key: key[0].removesuffix(".cu").removeprefix("gpu_time_") + "".join(key[2:])  # noqa: E731
    with ThreadPoolExecutor(tools.number("JOBS", 4)) as pool:
        built = dict(zip(sources, pool.map(lambda key: build(target(key), *key), sources)))
    for name, source, flags, arguments, more in programs:
        if path := built[source, *flags]:
            found.append(Case(name, [path, *map(str, arguments)], **more))
    return found


def main():
    with ThreadPoolExecutor(tools.number("JOBS", 4)) as pool:
        for done in as_completed([pool.submit(tools.tried, check, case) for case in cases()]):
            result(*done.result())


main()
