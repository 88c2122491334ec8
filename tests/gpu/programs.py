"""Which programs are run, what each needs, and what its trace must hold."""

import importlib.util
import os
import sys
from dataclasses import dataclass

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


@dataclass
class Program:
    """One test program; skip says why it cannot be run here, empty if it can."""

    name: str
    argv: list
    layers: set
    skip: str = ""
    timed: bool = False  # wall times, one run at a time, take most of a test's time
    no_cupti: str = ""  # why it must not run under the CUPTI counter


def _compiled(name, built, arguments, layers):
    path = os.path.join(built, name)
    skip = "" if os.access(path, os.X_OK) else _why_not_built(name, built)
    return Program(name, [path] + arguments, layers, skip)


def _why_not_built(name, built):
    """run.sh's last word on it: it tries some programs twice."""
    reason = f"{name} was not built"
    try:
        with open(os.path.join(built, "skipped"), encoding="utf-8") as f:
            for line in f:
                if line.startswith(name + ": "):
                    reason = line.split(": ", 1)[1].strip()
    except OSError:
        pass
    return reason


def _python(name, package, layers, arguments=()):
    missing = package and importlib.util.find_spec(package) is None
    skip = f"{sys.executable} has no module {package}" if missing else ""
    argv = [sys.executable, os.path.join(HERE, name + ".py"), *arguments]
    return Program(name, argv, layers, skip)


def _times(*chosen):
    for program in chosen:
        program.timed = True
    return list(chosen)


def all_programs(built):
    """Every program, runnable here or not; built: folder of the compiled ones."""
    runtime, libraries = {"runtime", "driver"}, {"runtime", "driver", "library"}
    driver_api = _compiled("driver_api", built, [], {"driver"})
    cold_capture = _compiled("cold_capture", built, [], {"driver"})
    children = _python("children", None, {"driver"}, [driver_api.argv[0]])
    children.skip = driver_api.skip
    profiler = _python("torch_profiler", "torch", runtime)
    profiler.no_cupti = "it profiles itself with CUPTI, which has one subscriber at a time"
    return _times(
        _compiled("saxpy_static", built, [], runtime),
        _compiled("saxpy_shared", built, [], runtime),
        driver_api,
        _python("torch_matmul", "torch", libraries),
        _python("torch_conv_backward", "torch", libraries),
        _python("torch_train", "torch", libraries),
        _python("cupy_small", "cupy", libraries),
        _python("jax_small", "jax", runtime),
    ) + [
        cold_capture,
        children,
        _python("torch_libs", "torch", libraries),
        _python("torch_threads", "torch", libraries),
        _python("torch_oom", "torch", runtime),
        _python("torch_graph", "torch", libraries),
        _python("torch_dataloader", "torch", runtime),
        profiler,
    ]
