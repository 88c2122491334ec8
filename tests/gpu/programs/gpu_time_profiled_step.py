"""The step of gpu_time_step.py under torch.profiler, which records all of it: the median time in microseconds."""

import os
import runpy

os.environ.setdefault("KINETO_LOG_LEVEL", "5")
from torch.profiler import ProfilerActivity, profile

with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
    runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "gpu_time_step.py"))
