"""Writes rows of api/export-tables/measured.toml from the result.json of hidden.py.

    hidden_measured.py RESULT ABOUT >FILE    # a whole file
    hidden_measured.py RESULT >>FILE         # more rows
"""

import collections
import json
import re
import sys

# Workloads of hidden.py as the atlas calls them. Those of single toolkit libraries ("cublas 12.9") keep their names.
TITLES = {
    "saxpy_static": "saxpy, static runtime",
    "saxpy_shared": "saxpy, shared runtime",
    "torch_train": "PyTorch, 50 training steps",
    "torch_libs": "PyTorch: cuFFT, cuSOLVER, cuSPARSE",
    "torch_matmul": "PyTorch: matrix products",
    "torch_profiler": "PyTorch profiler (CUPTI)",
    "cupy_small": "CuPy",
    "jax_small": "JAX",
    "nccl": "NCCL, one rank",
    "nvidia_smi": "nvidia-smi -L",
}


def title(name, result):
    version = f" {result['nvcc']}" if name.startswith("saxpy") and result.get("nvcc") else ""
    return TITLES.get(name, name) + version


def library(name):
    """Without the driver's version, so that rows of another driver can be compared."""
    name = re.sub(r"\.so\.\d{3}\.[\d.]+$|^(libnvidia-ml)\.so\.1$", r"\1", name)
    return re.sub(r"^runtime\.cpython.*\.so$", "CuPy runtime.so", name)


with open(sys.argv[1], encoding="utf-8") as file:
    result = json.load(file)
if len(sys.argv) > 2:
    print("# The calls of hidden functions that workloads made, as tests/gpu/hidden.sh measured them.")
    print("# docs/how-to/hidden-tables.md says how to read it. Made by tests/gpu/hidden_measured.py.")
    print(f"about = {json.dumps(sys.argv[2])}")
for workload in result["workloads"]:
    # Places that differ only in the public call get one row beyond the first six of a slot and library.
    rows = collections.defaultdict(list)
    for slot, caller, inside, calls in workload["atlas"]:
        rows[(slot, library(caller))].append((calls, inside))
    for (slot, caller), places in sorted(rows.items()):
        places.sort(reverse=True)
        rest = places[6:]
        shown = places[:6] + ([(sum(n for n, _ in rest), f"{len(rest)} others")] if rest else [])
        for calls, inside in shown:
            print(f"\n[[call]]\nworkload = {json.dumps(title(workload['name'], result))}\nslot = {json.dumps(slot)}\ncalls = {calls}")
            print(f"from = {json.dumps(caller)}\ninside = {json.dumps(inside)}")
for row in result["skip"]:
    print(f"\n[[skip]]\nslot = {json.dumps(row['slot'])}\nworkload = {json.dumps(title(row['workload'], result))}")
    print(f"same = {json.dumps(row['same'])}")
    if not row["same"]:
        code = row["code"]
        end = "timeout" if code == "timeout" else f"signal {-code}" if code < 0 else f"exit code {code}" if code else "another output"
        print(f"end = {json.dumps(end)}")
