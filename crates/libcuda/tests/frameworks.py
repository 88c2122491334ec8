#!/usr/bin/env python3
"""Frameworks and toolkit libraries as PyPI has them, for the tests on the simulated driver.

    frameworks.py folder 12     fetches TensorFlow with CUDA 12 (5 GB) once and prints where it is
    frameworks.py folder 13     the same for PyTorch and CuPy with CUDA 13 (6 GB)
    frameworks.py run NAME      (with PYTHONPATH that folder) lists the GPUs, moves a tensor to each and back

Cache: $CUTAP_CACHE/frameworks, else .cache/frameworks in the repository. Exit code 3: could not be fetched.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGES = {
    "12": ["tensorflow[and-cuda]==2.21.0"],
    "13": ["torch==2.15.0", "cupy-cuda13x==14.2.0", "nvidia-curand==10.4.5.25"],
}


def folder(name):
    given = os.environ.get("CUTAP_CACHE")
    cache = (Path(given) if given else Path(__file__).resolve().parents[3] / ".cache") / "frameworks"
    place = cache / name
    cache.mkdir(parents=True, exist_ok=True)
    # Several tests want it at the same time; one of them fetches gigabytes.
    with open(cache / f".lock-{name}", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fetch(cache, place, name)
    print(place)


def fetch(cache, place, name):
    if not place.is_dir():
        work = Path(tempfile.mkdtemp(prefix=".fetch-", dir=cache))
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--only-binary=:all:",
               "--disable-pip-version-check", "--target", str(work / "all"), *PACKAGES[name]]
        if subprocess.run(pip, stdout=sys.stderr).returncode != 0:
            shutil.rmtree(work, ignore_errors=True)
            sys.exit(3)
        (work / "all").rename(place)
        shutil.rmtree(work, ignore_errors=True)


def torch():
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # asks NVML, not the driver
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"  # asks both, and compares
    import torch

    assert torch.cuda.is_available() and not torch.cuda.is_initialized()
    count = torch.cuda.device_count()
    print("torch sees", [torch.cuda.get_device_name(i) for i in range(count)])
    there = torch.arange(1000, dtype=torch.float32)
    for i in range(count):
        assert torch.equal(there.to(f"cuda:{i}").cpu(), there)
    graph = torch.cuda.CUDAGraph()
    x = torch.zeros(1000, device="cuda")
    with torch.cuda.graph(graph):
        x.add_(1)
    graph.replay()
    torch.cuda.synchronize()
    for kind in (torch.float32, torch.float16):  # cuBLASLt loads its kernels as a library
        left, right = torch.zeros(512, 64, device="cuda", dtype=kind), torch.zeros(64, 32, device="cuda", dtype=kind)
        assert (left @ right).shape == (512, 32) and (right.t() @ left.t()).shape == (32, 512)
    torch.cuda.synchronize()
    return count


def cupy():
    import cupy
    import numpy

    runtime = cupy.cuda.runtime
    count = runtime.getDeviceCount()
    print("cupy sees", [runtime.getDeviceProperties(i)["name"].decode() for i in range(count)])
    there = numpy.arange(1000, dtype=numpy.float32)
    for i in range(count):
        with cupy.cuda.Device(i):
            assert (cupy.asnumpy(cupy.asarray(there)) == there).all()
    return count


def tensorflow():
    import numpy
    import tensorflow

    gpus = tensorflow.config.list_physical_devices("GPU")
    details = tensorflow.config.experimental.get_device_details
    print("tensorflow sees", [details(gpu)["device_name"] for gpu in gpus])
    there = numpy.arange(1000, dtype=numpy.float32)
    for i in range(len(gpus)):
        with tensorflow.device(f"/GPU:{i}"):
            moved = tensorflow.identity(tensorflow.constant(there))
            assert tensorflow.linalg.matmul(tensorflow.zeros([64, 16]), tensorflow.zeros([16, 32])).shape == (64, 32)
        assert moved.device.endswith(f"GPU:{i}") and (moved.numpy() == there).all()
    return len(gpus)


if __name__ == "__main__":
    what, name = sys.argv[1:]
    if what == "folder":
        folder(name)
    else:
        print("moved to and from", {"torch": torch, "cupy": cupy, "tensorflow": tensorflow}[name]())
