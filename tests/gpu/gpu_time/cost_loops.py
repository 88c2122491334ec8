"""The cost of a replay of a graph and of a launch, in bursts inside one process."""

import costs
import tools


def main():
    program = tools.build("replay", "gpu_time_replay.cu")
    if program:
        seconds = tools.number("COST_SECONDS", 90)
        costs.measure("launches", "microseconds of an empty launch", [program, "launches", "100"], seconds=seconds)
        costs.measure(
            "replays", "microseconds of a replay of 200 empty kernels", [program, "replays", "50"], seconds=seconds
        )


main()
