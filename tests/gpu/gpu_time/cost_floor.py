"""What the records of CUPTI themselves cost: an injection that throws them away unread, with and without records of
driver calls, beside cutap and Nsight Systems. GPU_TIME_FLOOR chooses some of launches, replays and step. The step also
has cutap with counted calls.
"""

import costs
import tools
from tools import python


def floors(library, command):
    """Ways of the injection, by what it enables."""

    def injected(words):
        variables = {"CUDA_INJECTION64_PATH": library, "CUPTI_LIB": tools.cupti(), "GPU_TIME_FLOOR": words}
        return lambda: tools.plain(command, **variables)

    return {
        "CUPTI, rows": injected(""),
        "CUPTI, and calls": injected("driver"),
        "same, flushed": injected("driver,flush"),
        "same, pinned": injected("driver,pinned"),
    }


def show(name, unit, command, library, seconds):
    ways = costs.methods(name, command, {}) | floors(library, command)
    if name == "step":
        counted = ("-q", "--chatter=count")
        ways["--chatter=count"] = lambda: tools.record("step", command, flags=counted)
        ways["both"] = lambda: tools.record("step", command, flags=(*counted, "--gpu-time"))
        chosen = tools.number("WAYS", "plain,record,record --gpu-time,Nsight Systems,--chatter=count,both").split(",")
        ways = {label: way for label, way in ways.items() if label in chosen}
    times = costs.rounds(ways, seconds)
    middle, added = costs.table(name, unit, ways, times, costs.NSYS)
    missing = [label for label in ways if label not in middle]
    text = "; ".join(f"{label} adds {us:.2f}" for label, us in added.items() if label != costs.PLAIN)
    tools.result(not missing, "floor " + name, f"no times of {', '.join(missing)}" if missing else text)


def main():
    library = tools.build("floor.so", "gpu_time_floor_injection.c")
    program = tools.build("replay", "gpu_time_replay.cu")
    chosen = tools.number("FLOOR", "launches,replays,step").split(",")
    seconds = tools.number("COST_SECONDS", 60)
    if library and program and "launches" in chosen:
        show("launches", "microseconds of an empty launch", [program, "launches", "100"], library, seconds)
    if library and program and "replays" in chosen:
        show("replays", "microseconds of a replay of 200 empty kernels", [program, "replays", "50"], library, seconds)
    if library and "step" in chosen:
        seconds = tools.number("COST_SECONDS", 330)
        show("step", "microseconds of a step of PyTorch", python("gpu_time_step.py"), library, seconds)


main()
