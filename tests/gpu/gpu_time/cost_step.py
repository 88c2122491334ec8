"""The cost of a training step of PyTorch."""

import costs
import tools
from tools import python


def main():
    more = {"torch.profiler": python("gpu_time_profiled_step.py")}
    seconds = tools.number("COST_SECONDS", 420)
    costs.measure("step", "microseconds of a step of PyTorch", python("gpu_time_step.py"), more, seconds)


main()
