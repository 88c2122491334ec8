"""What this machine is, for the head of the report, and where its CUPTI and Nsight Systems lie."""

import glob
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from importlib import metadata

PACKAGES = (
    "torch", "cupy-cuda13x", "cupy-cuda12x", "jax", "jaxlib", "numpy", "triton",
    "nvidia-cuda-runtime", "nvidia-cublas", "nvidia-cudnn-cu13", "nvidia-cuda-cupti",
    "nvidia-cuda-runtime-cu12", "nvidia-cublas-cu12", "nvidia-cudnn-cu12", "nvidia-cuda-cupti-cu12",
)
TOOLKITS = (os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", ""), "/usr/local/cuda", "/opt/cuda")


def find_cupti():
    """The CUPTI that the frameworks use, else the toolkit's; None if there is none.

    Python's comes first: a second copy next to the one that PyTorch links would not see
    the same subscriber.
    """
    spec = importlib.util.find_spec("nvidia")
    folders = []
    for root in spec.submodule_search_locations if spec else []:
        folders += sorted(glob.glob(os.path.join(root, "cu*", "lib")), reverse=True)
        folders.append(os.path.join(root, "cuda_cupti", "lib"))
    for root in filter(None, TOOLKITS):
        folders.append(os.path.join(root, "extras", "CUPTI", "lib64"))
        folders.append(os.path.join(root, "targets", "x86_64-linux", "lib"))
        folders.append(os.path.join(root, "lib64"))
    for folder in folders:
        found = sorted(glob.glob(os.path.join(folder, "libcupti.so*")))
        if found:
            return found[-1]
    return None


def find_cudart():
    """A shared libcudart of a Python package or of a toolkit; None if there is none."""
    roots = [p for p in sys.path if p.endswith("-packages")]
    patterns = [os.path.join(root, "nvidia", "*", "lib", "libcudart.so.1*") for root in roots]
    found = [path for pattern in [*patterns, "/usr/local/cuda/lib64/libcudart.so.1*"] for path in sorted(glob.glob(pattern))]
    return found[0] if found else None


NSYS = (
    "/opt/nvidia/nsight-systems/*/bin/nsys",
    "/opt/nvidia/nsight-systems*/*/target-linux-x64/nsys",
    "/usr/lib/nsight-systems/bin/nsys",
    # Nsight Compute carries it too, mostly without what makes a report of its raw file.
    "/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys",
    "/usr/local/cuda*/nsight-compute*/host/target-linux-x64/nsys",
)


def find_nsys():
    """Nsight Systems: CUTAP_NSYS if it is set, else PATH's, else the newest where it is installed; None if there is none."""
    named = os.environ.get("CUTAP_NSYS")
    if named:
        return shutil.which(named)
    if on_path := shutil.which("nsys"):
        return on_path
    found = [path for pattern in NSYS for path in sorted(glob.glob(pattern), reverse=True) if os.access(path, os.X_OK)]
    return found[0] if found else None


def nsys_version(nsys):
    """What it says of itself, as 2025.3.2.474."""
    words = _output(nsys, "--version").split()
    return words[-1] if words else "version unknown"


def _first_line(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.readline().strip()
    except OSError:
        return ""


def _output(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _cpu():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def describe(cutap, cupti, nsys):
    """Pairs of words for the head of the report; what cannot be found out is left out."""
    gpus = _output("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")
    versions = []
    for package in PACKAGES:
        try:
            versions.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            pass
    nvcc = next((line for line in _output("nvcc", "--version").splitlines() if "release" in line), "")
    pairs = [
        ("cutap", _output(cutap, "--version") or cutap),
        ("GPU, driver, memory", "; ".join(gpus.splitlines())),
        ("kernel driver", _first_line("/proc/driver/nvidia/version")),
        ("machine", f"{_cpu()}, {os.cpu_count()} cores, Linux {platform.release()}"),
        ("libc", " ".join(platform.libc_ver())),
        ("Python", f"{platform.python_version()} ({sys.executable})"),
        ("packages", ", ".join(versions)),
        ("nvcc", nvcc),
        ("CUPTI", cupti or "none found"),
        ("Nsight Systems", f"{nsys_version(nsys)} ({nsys})" if nsys else "none found"),
    ]
    return [(key, value) for key, value in pairs if value]
