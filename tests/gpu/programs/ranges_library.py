"""Ranges that libraries and packages make by NVTX: `emit`, `cupy`, `jax`, `nccl`, `package`, `profiler`.

A program prints what does not depend on times, or a line that begins with "skip".
"""

import os
import sys


def emit():
    import torch

    torch.manual_seed(1)
    x = torch.randn(64, 64, device="cuda", requires_grad=True)
    with torch.autograd.profiler.emit_nvtx(record_shapes=True):
        (x @ x).relu().sum().backward()
    torch.cuda.synchronize()
    print("gradient finite:", torch.isfinite(x.grad).all().item())


def cupy():
    import cupy
    from cupyx.profiler import time_range

    with time_range("outer range", color_id=2):
        x = cupy.arange(10000, dtype=cupy.float64)
        with time_range("inner range"):
            total = float(x.sum())
    print("sum:", total)


def jax():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import jax
    import jax.numpy as jnp

    print("sum:", float(jax.jit(lambda x: jnp.sum(x * 2))(jnp.arange(1000.0))))


def nccl():
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29533", "RANK": "0", "WORLD_SIZE": "1"}
    import torch
    import torch.distributed as distributed

    if not distributed.is_nccl_available():
        print("skip: PyTorch has no NCCL")
        return
    distributed.init_process_group("nccl")
    x = torch.ones(1 << 20, device="cuda")
    for _ in range(3):
        distributed.all_reduce(x)
    distributed.broadcast(x, 0)
    torch.cuda.synchronize()
    print("sum:", x.sum().item())
    distributed.destroy_process_group()


def package():
    try:
        import nvtx
    except ImportError:
        print("skip: the package nvtx is not installed")
        return
    import torch

    @nvtx.annotate("decorated", color="blue", domain="package", category="work")
    def work(x):
        return (x + 1).sum().item()

    print("sum:", work(torch.zeros(100, device="cuda")))


def profiler():
    import torch
    from torch.profiler import ProfilerActivity, profile

    x = torch.ones(100, device="cuda")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
        with torch.cuda.nvtx.range("inside the profiler"):
            total = (x * 2).sum().item()
        torch.cuda.synchronize()
    kernels = [event for event in profiled.events() if "CUDA" in str(event.device_type) and "kernel" in event.name]
    print("sum:", total, "kernels:", len(kernels))


globals()[sys.argv[1]]()
