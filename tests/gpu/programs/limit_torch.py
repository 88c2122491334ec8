"""Two processes under one limit of --limit-memory: each takes memory until torch says that there is none, catches that, gives
memory back and trains a step. Then CUDA, the properties and NVML are asked: they must tell the same. `limit_torch.py loop SECONDS` is a
steady loop instead, which prints steps a second."""

import ctypes
import multiprocessing
import os
import sys
import time

import torch

MIB = 1 << 20


def nvml():
    library = ctypes.CDLL("libnvidia-ml.so.1")
    uuid = str(torch.cuda.get_device_properties(0).uuid)
    device, told = ctypes.c_void_p(), (ctypes.c_uint64 * 3)()
    library.nvmlInit_v2()
    library.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}".encode(), ctypes.byref(device))
    library.nvmlDeviceGetMemoryInfo(device, told)
    count, rows = ctypes.c_uint(16), (ctypes.c_uint64 * 48)()
    library.nvmlDeviceGetComputeRunningProcesses_v3(device, ctypes.byref(count), rows)
    processes = {rows[n * 3] & 0xFFFFFFFF: rows[n * 3 + 1] // MIB for n in range(count.value)}
    return told[0] // MIB, told[1] // MIB, processes


def step():
    model = torch.nn.Linear(1024, 1024, device="cuda")
    model(torch.randn(64, 1024, device="cuda")).sum().backward()
    torch.cuda.synchronize()
    return float(next(model.parameters()).grad.abs().sum()) >= 0


def work(number, barrier, results):
    torch.cuda.set_device(0)
    blocks, caught = [], 0
    barrier.wait()
    while caught < 3:
        try:
            blocks.append(torch.empty(64 * MIB, dtype=torch.uint8, device="cuda"))
        except torch.cuda.OutOfMemoryError:
            caught += 1
            time.sleep(0.05)
    taken = len(blocks) * 64
    barrier.wait()
    free, total = (n // MIB for n in torch.cuda.mem_get_info())
    properties = torch.cuda.get_device_properties(0).total_memory // MIB
    seen = nvml()
    barrier.wait()
    blocks.clear()
    torch.cuda.empty_cache()
    results.put((number, taken, caught, step(), free, total, properties, seen, os.getpid()))


def two(limit):
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(2), context.Queue()
    processes = [context.Process(target=work, args=(n, barrier, results)) for n in range(2)]
    [process.start() for process in processes]
    rows = sorted(results.get(timeout=240) for _ in processes)
    [process.join() for process in processes]
    wrong = []
    if sum(row[1] for row in rows) > limit:
        wrong.append("both have more than the limit")
    for number, taken, caught, trained, free, total, properties, seen, pid in rows:
        print(f"process {number}: {taken} MiB, {caught} times out of memory, free {free} of {total}, properties "
              f"{properties}, NVML free {seen[1]} of {seen[0]}, NVML's processes {sorted(seen[2].values())}")
        if not trained or taken == 0:
            wrong.append(f"process {number} did not continue")
        if not (total == properties == seen[0] == limit) or abs(free - seen[1]) > 2:
            wrong.append(f"process {number}: CUDA and NVML disagree")
        if pid not in seen[2] or len(seen[2]) != 2:
            wrong.append(f"process {number} is not in the list of NVML, or others are")
    print("; ".join(wrong) or "ok")
    sys.exit(bool(wrong))


def loop(seconds):
    """Matrices, a small network, and memory that does not come from torch's cache in each step."""
    a = torch.randn(2048, 2048, device="cuda")
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(20):
        (a @ a).sum().item()
    steps, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        optimizer.zero_grad()
        model(torch.randn(256, 1024, device="cuda")).square().mean().backward()
        optimizer.step()
        (a @ a).sum().item()
        steps += 1
    print(f"{steps / (time.perf_counter() - begin):.2f}")


if __name__ == "__main__":
    loop(float(sys.argv[2])) if sys.argv[1] == "loop" else two(int(sys.argv[1]))
