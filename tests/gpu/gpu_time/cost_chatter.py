"""The cost of a training step of PyTorch where calls that start no work are counted, or left out; beside Nsight Systems
with its default flags. The goal is 6 % of the plain step.
"""

import os

import costs
import tools
from tools import python

GOAL = 0.06
COUNT, WITHOUT, NSYS = "--chatter=count", "-e '!chatter'", "nsys profile"


def main():
    name, command = "chatter", python("gpu_time_step.py")

    def recorded(*flags):
        return lambda: tools.record(name, command, flags=("-q", *flags))

    ways = {
        costs.PLAIN: lambda: tools.plain(command),
        costs.RECORD: recorded(),
        COUNT: recorded("--chatter=count"),
        WITHOUT: recorded("-e", "!chatter"),
    }
    if nsys := tools.machine.find_nsys():
        report = os.path.join(tools.WORK, "nsys." + name)
        ways[NSYS] = lambda: tools.run([nsys, "profile", "--force-overwrite=true", "-o", report, *command])
    times = costs.rounds(ways, tools.number("COST_SECONDS", 420))
    middle, added = costs.table(name, "microseconds of a step of PyTorch", ways, times, NSYS)
    if not {costs.PLAIN, COUNT} <= middle.keys():
        tools.result(False, "cost " + name, "no times")
        return
    share = added[COUNT] / middle[costs.PLAIN]
    text = f"{COUNT} adds {share:.1%} of a step, record {added.get(costs.RECORD, 0) / middle[costs.PLAIN]:.1%}"
    tools.result(share <= GOAL, "cost " + name, f"{text}; the goal is {GOAL:.0%}")


main()
