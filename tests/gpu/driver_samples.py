#!/usr/bin/env python3
"""NVIDIA's cuda-samples with NVIDIA's driver and with cutap's (`cutap run --cudest`): the same output, timings removed.

    driver_samples.py draw SAMPLES           names of 30 samples, chosen with a seed
    driver_samples.py needs SAMPLES          driver functions that the drawn samples need, and each sample that needs them
    driver_samples.py take GIT OUT           copies the drawn samples and Common of a git directory into OUT
    driver_samples.py run CUTAP SAMPLES OUT [NAME...]

SAMPLES is a checkout of github.com/NVIDIA/cuda-samples; nothing of it is in this repository. `run` builds the samples with
nvcc for the GPU, then runs each with both drivers at the same time, at most LIMIT (60) seconds. It needs about six minutes
and prints PASS, FAIL or SKIP a sample. A sample that fails with NVIDIA's driver is skipped. The exit code is 1 if one
failed."""

import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

# Who chose the seed did not look at what it gives.
SEED = 42
DRAWN = 30
# What a sample must not need: graphics, MPI, other machines, a second GPU, other libraries.
FOREIGN = re.compile(
    r"OpenGL|GLUT|freeglut|Vulkan|vulkan|EGL|\bMPI\b|nvsci|NvSci|FreeImage|D3D|d3d|glfw|GLEW|FreeGLUT|Threads::Tegra", re.I
)
SEVERAL_GPUS = re.compile(r"P2P|p2p|MultiGPU|MultiDevice|MGPU|CrossGPU|XT$")
# cuda-samples at c94ff366, September 2025, with the rule above.
LIST = Path(__file__).with_suffix(".txt")


def candidates(samples):
    all_samples = {}
    for cmake in sorted(Path(samples).glob("Samples/[0-6]_*/*/CMakeLists.txt")):
        text = cmake.read_text(errors="replace")
        sources = " ".join(source_files(cmake.parent, text))
        if not FOREIGN.search(text) and not SEVERAL_GPUS.search(cmake.parent.name) and sources:
            all_samples[cmake.parent.name] = cmake.parent
    return all_samples


def source_files(folder, text):
    """The sources of the sample's program."""
    found = re.search(r"add_executable\(\s*\S+\s+([^)]*)\)", text)
    words = found.group(1).split() if found else []
    return [word for word in words if word.endswith((".cu", ".cpp", ".c")) and (folder / word).exists()]


def drawn(samples):
    names = sorted(candidates(samples))
    return sorted(random.Random(SEED).sample(names, DRAWN))


def listed():
    return [line.split()[0] for line in LIST.read_text().splitlines() if line and not line.startswith("#")]


# Of the runtime's functions that samples call, the driver's that stand for them.
DRIVER_OF = {
    "cudaMallocArray": "cuArrayCreate_v2", "cudaMalloc3DArray": "cuArray3DCreate_v2",
    "cudaCreateTextureObject": "cuTexObjectCreate", "cudaCreateSurfaceObject": "cuSurfObjectCreate",
    "cudaIpcGetMemHandle": "cuIpcGetMemHandle", "cudaIpcOpenMemHandle": "cuIpcOpenMemHandle_v2",
    "cudaIpcGetEventHandle": "cuIpcGetEventHandle", "cudaIpcOpenEventHandle": "cuIpcOpenEventHandle",
    "cudaMallocManaged": "cuMemAllocManaged", "cudaMemPrefetchAsync": "cuMemPrefetchAsync",
    "cudaMallocAsync": "cuMemAllocAsync", "cudaLaunchCooperativeKernel": "cuLaunchCooperativeKernel",
    "cudaGraphLaunch": "cuGraphLaunch", "cudaGraphConditionalHandleCreate": "cuGraphConditionalHandleCreate",
    "cudaMallocMipmappedArray": "cuMipmappedArrayCreate", "cudaDeviceEnablePeerAccess": "cuCtxEnablePeerAccess",
    "cudaMemPoolExportToShareableHandle": "cuMemPoolExportToShareableHandle",
    "cudaMemcpyToSymbol": "cuModuleGetGlobal_v2", "cudaStreamAttachMemAsync": "cuStreamAttachMemAsync",
    "cudaHostRegister": "cuMemHostRegister_v2", "cudaHostAlloc": "cuMemHostAlloc",
}
# What a kernel calls that the driver must supply.
IN_KERNELS = {"printf": r"\bprintf\s*\(", "assert": r"\bassert\s*\(", "malloc": r"\bmalloc\s*\(|\bnew\s+\w+\s*[\[(]",
              "launch": r"<<<"}


def device_code(text):
    """The bodies of functions that run on the GPU, roughly: from __global__ or __device__ to the closing brace at the
    line's begin."""
    return "\n".join(re.findall(r"^(?:template.*\n)?.*__(?:global__|device__)\b[\s\S]*?^}", text, re.M))


def needs(folder):
    text = ""
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".cu", ".cuh", ".cpp", ".c", ".h", ".hpp", ".inl"):
            text += re.sub(r"//[^\n]*|/\*[\s\S]*?\*/", "", file.read_text(errors="replace"))
    used = {driver for runtime, driver in DRIVER_OF.items() if re.search(rf"\b{runtime}\b", text)}
    used |= set(re.findall(r"\b(cu[A-Z]\w+)\s*\(", text)) - {"cuBLAS"}
    on_gpu = device_code(text)
    used |= {f"{name} in a kernel" for name, sign in IN_KERNELS.items() if re.search(sign, on_gpu)}
    return used


def take(git, out):
    """Text of the drawn samples; objects that the snapshot lacks are left out."""
    names = [line.split()[0] for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    run = lambda *words: subprocess.run(["git", "--git-dir", git, *words], capture_output=True)
    files = run("ls-tree", "-r", "-z", "--name-only", "HEAD").stdout.decode().split("\0")
    wanted = re.compile(r"Common/(?!.*(FreeImage|\bGL\b|lib/))|Samples/[0-6]_\w+/(" + "|".join(names) + ")/")
    count = 0
    for file in files:
        if not wanted.match(file):
            continue
        content = run("cat-file", "blob", f"HEAD:{file}")
        if content.returncode:
            print("not in the snapshot:", file)
            continue
        place = Path(out) / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.stdout)
        count += 1
    print(count, "files of", len(names), "samples")


# CMake's names of libraries.
LIBRARIES = re.compile(r"CUDA::(\w+)")


def build(nvcc, folder, out):
    text = (folder / "CMakeLists.txt").read_text(errors="replace")
    name = folder.name
    libraries = set(LIBRARIES.findall(text)) | ({"cuda"} if "cuda_driver" in text else set())
    libraries = {"cuda" if lib == "cuda_driver" else lib.removesuffix("_static") for lib in libraries} - {"cudart", "toolkit"}
    if "cudadevrt" not in libraries and "SEPARABLE" in text:
        libraries.add("cudadevrt")
    flags = ["-std=c++17", "-O2", "-arch=sm_90", "-w", "--extended-lambda", f"-I{folder.parents[2] / 'Common'}"]
    flags += [f"-I{folder.parents[2] / 'Common' / 'UtilNPP'}", f"-I{folder}", "-Xcompiler", "-fopenmp"]
    flags += ["-rdc=true"] if re.search(r"SEPARABLE_COMPILATION ON", text) else []
    command = [nvcc, *flags, "-o", str(out / name), *source_files(folder, text), *(f"-l{lib}" for lib in sorted(libraries))]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    # Modules that the program loads at run time are looked for in its folder.
    for module, kind in set(re.findall(r"(\w+)\.(ptx|fatbin)", text)):
        kernel = folder / (re.sub("(32|64)$", "", module) + ".cu")
        if kernel.exists():
            command = [nvcc, "-arch=sm_90", f"-{kind}", f"-I{folder.parents[2] / 'Common'}", "-o", str(folder / f"{module}.{kind}")]
            subprocess.run([*command, kernel.name], cwd=folder, capture_output=True, timeout=300)
    wrong = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line or "cannot find" in line]
    return None if done.returncode == 0 else (wrong or ["?"])[0][-200:]


# What differs between two runs with the same driver: times, rates, addresses, names of processes.
VARYING = re.compile(
    r"(?i)[-+]?\d*\.?\d+(e[-+]?\d+)?\s*(ms|msec|msecs|milliseconds|us|usec|ns|s|sec|secs|seconds|gb/s|mb/s|gflops?/?s?|gflop/s"
    r"|tflops|mpixels/s|megaelements/s|melements/s|gsamples/s|mvoxels/s|options/sec|cycles|fps|%|kb|mb|mbytes|bytes)\b|0x[0-9a-f]+|\bpid\b.*"
)
TIMED_LINE = re.compile(r"(?i)time|throughput|bandwidth|perf|speed|elapsed|clock|gflop|samples/s|per sec|driver version|memory.*(free|available|total)")

# Rows of a table of times.
NUMBERS_ONLY = re.compile(r"\d+(\s+\d+\.\d+)+\s*")


def readable(text):
    lines = (line for line in text.splitlines() if not TIMED_LINE.search(line) and not NUMBERS_ONLY.fullmatch(line))
    return "\n".join(VARYING.sub("#", line).rstrip() for line in lines)


def arguments(samples, name):
    import json

    place = Path(samples) / "test_args.json"
    given = json.loads(place.read_text()).get(name, {}) if place.exists() else {}
    runs = given.get("runs") or [given]
    return [run.get("args", []) for run in runs][:1][0]


def one(command, folder, environment, limit):
    start = time.monotonic()
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", timeout=limit)
        code, out, errors = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        code, out, errors = 124, (late.stdout or b"").decode(errors="replace"), ""
    return code, out, errors, time.monotonic() - start


def run(cutap, samples, out, names):
    nvcc = shutil.which("nvcc") or next(iter(sorted(map(str, Path("/usr/local").glob("cuda*/bin/nvcc")))), None)
    if nvcc is None:
        sys.exit("driver_samples.py: no nvcc; put NVIDIA's compiler into PATH")
    out, cutap = Path(out).resolve(), str(Path(cutap).resolve())
    out.mkdir(parents=True, exist_ok=True)
    folders = {path.parent.name: path.parent.resolve() for path in Path(samples).glob("Samples/[0-6]_*/*/CMakeLists.txt")}
    names = names or listed()
    limit = float(os.environ.get("LIMIT", 60))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = dict(zip(names, pool.map(lambda n: build(nvcc, folders[n], out) if n in folders else "not in SAMPLES", names)))
    counts = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    for name in names:
        if failures[name]:
            counts["SKIP"] += 1
            print(f"SKIP {name}: it is not built: {failures[name]}", flush=True)
            continue
        command = [str(out / name), *arguments(samples, name)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            theirs = pool.submit(one, command, folders[name], os.environ, limit)
            ours = pool.submit(one, [cutap, "run", "--cudest", "--", *command], folders[name], os.environ, limit)
            theirs, ours = theirs.result(), ours.result()
        for driver, result in (("theirs", theirs), ("ours", ours)):
            (out / f"{name}.{driver}.txt").write_text(result[1] + "\n--- errors\n" + result[2])
        refused = "; ".join(line[14:] for line in ours[2].splitlines() if line.startswith("cutap-cudest:"))[:300]
        same = theirs[0] == ours[0] and readable(theirs[1]) == readable(ours[1])
        word = "SKIP" if theirs[0] not in (0, 2) else "PASS" if same else "FAIL"
        counts[word] += 1
        why = "" if word != "FAIL" else f": exit {theirs[0]} and {ours[0]}; {difference(theirs[1], ours[1])}"
        why = f": exit {theirs[0]} with NVIDIA's driver" if word == "SKIP" else why
        print(f"{word} {name} {theirs[3]:.1f} {ours[3]:.1f}{why}{' | ' + refused if refused else ''}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    return int(counts["FAIL"] > 0)


def difference(theirs, ours):
    pairs = zip(readable(theirs).splitlines() + [""] * 999, readable(ours).splitlines() + [""])
    return next((f"'{one[:80]}' and '{other[:80]}'" for one, other in pairs if one != other), "the same lines")


def main(words):
    match words:
        case ["draw", samples]:
            print("\n".join(drawn(samples)))
        case ["needs", samples]:
            all_samples = {path.parent.name: path.parent for path in Path(samples).glob("Samples/[0-6]_*/*/CMakeLists.txt")}
            by_need = {}
            for name in listed():
                for need in needs(all_samples[name]):
                    by_need.setdefault(need, []).append(name)
            for need, names in sorted(by_need.items()):
                print(f"{need}: {' '.join(names)}")
        case ["take", git, out]:
            take(git, out)
        case ["run", cutap, samples, out, *names]:
            return run(cutap, samples, out, names)
        case _:
            sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
