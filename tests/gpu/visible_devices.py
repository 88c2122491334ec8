#!/usr/bin/env python3
"""What the driver makes of CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER.

    python3 tests/gpu/visible_devices.py [--out FILE]

Writes one line of JSON for each pair of values: what cuInit and cuDeviceGetCount return, and the devices in the order of
the driver, as their numbers in NVML. `{u0}` in a value stands for the UUID of device 0, `{u0:8}` for its first 8
characters. Device numbers without a mask are those of NVML, which no variable affects. Each question is a process of its own.
Exit code: 0 asked, 2 there is no driver.
"""
import argparse
import ctypes
import json
import os
import re
import subprocess
import sys

VALUES = [
    None, "", " ", "-1", "0", "1", "2", "7", "00", "01", "+0", "+1", "-0", "0x0", "0x1", "1e0", "0.0", "1.5", "a", "none", "all",
    "NoDevFiles", "void", "0,1", "1,0", "0,0", "1,1", "0,1,0", "1,0,1", "0,2", "2,0", "0,1,2", "1,2,0", "0,-1", "-1,0", "0,-1,1",
    "1,-1,0", "0,a", "a,0", "0,a,1", "1,a,0", "0,", ",0", "0,,1", ",", "0, 1", " 0", "0 ", " 0 , 1 ", "\t1", "0\n1", "1\n", "0 1",
    "1 0", "1;0", "0;1", "1:0", "1/0", "0-1", "0a", "1a", "0a,1", "1x,0", "4294967296", "4294967297", "99999999999999999999",
    "-4294967295", "2147483648", "-2", "\"0\"", "'1'", "0.", "1.0,0",
    "GPU-{u0}", "GPU-{u1}", "GPU-{u0},GPU-{u1}", "GPU-{u1},GPU-{u0}", "GPU-{u0},GPU-{u0}", "GPU-{u0},1", "0,GPU-{u1}",
    "1,GPU-{u0}", "GPU-{u1},0", "GPU-{u0:1}", "GPU-{u0:2}", "GPU-{u0:4}", "GPU-{u0:8}", "GPU-{u0:9}", "GPU-{u0:12}",
    "GPU-{u0:35}", "GPU-{u1:8}", "GPU-{u1:8},GPU-{u0:8}", "GPU-", "GPU", "G", "GPU-{U0}", "gpu-{u0}", "Gpu-{u0:8}", "{u0}", "{u0:8}",
    "GPU-{u0}x", "GPU-{u0} ", " GPU-{u0}", "GPU-{u0} ,1", "GPU-{u0}0", "GPU-{h0}", "GPU-{h0:12}", "GPU-zzzz", "GPU-zzzz,0",
    "0,GPU-zzzz", "GPU-{u0},GPU-zzzz,GPU-{u1}", "GPU-,0", "GPU-,GPU-{u1}", "MIG-{u0}", "MIG-GPU-{u0}", "MIG-GPU-{u0}/0/0", "MIG-",
    "MIG-00000000-0000-0000-0000-000000000000", "0,MIG-{u0}", "GPU-{u0:8}-", "GPU-{u0}, GPU-{u1}", "GPU-{u0},,GPU-{u1}",
    "GPU-00000000-0000-0000-0000-000000000000", "GPU-{u0:13},1", "0:0", "0:1", "1:0,0",
]
ORDERS = [None, "", "PCI_BUS_ID", "FASTEST_FIRST", "pci_bus_id", "JUNK", " PCI_BUS_ID", "PCI_BUS_ID "]
ORDERED_VALUES = [None, "0", "1", "1,0", "-1", "GPU-{u1:8},GPU-{u0:8}"]


def ask(when):
    """In a process of its own: the answers of a driver, as JSON."""
    cuda = ctypes.CDLL("libcuda.so.1")
    if when == "changed_later":
        answer = cuda.cuInit(0)
        ctypes.CDLL(None).setenv(b"CUDA_VISIBLE_DEVICES", b"-1", 1)
    elif when == "set_by_setenv":
        ctypes.CDLL(None).setenv(b"CUDA_VISIBLE_DEVICES", b"-1", 1)
        answer = cuda.cuInit(0)
    else:
        answer = cuda.cuInit(0)
    again = cuda.cuInit(0)
    count = ctypes.c_int(-7)
    counted = cuda.cuDeviceGetCount(ctypes.byref(count))
    devices = []
    for index in range(max(count.value, 0) if counted == 0 else 0):
        device, uuid, bus = ctypes.c_int(-7), (ctypes.c_ubyte * 16)(), ctypes.create_string_buffer(20)
        results = [
            cuda.cuDeviceGet(ctypes.byref(device), index),
            cuda.cuDeviceGetUuid_v2(uuid, device),
            cuda.cuDeviceGetPCIBusId(bus, 20, device),
        ]
        again_by_bus = ctypes.c_int(-7)
        by_bus = cuda.cuDeviceGetByPCIBusId(ctypes.byref(again_by_bus), bus)
        devices.append({"handle": device.value, "results": results, "uuid": bytes(uuid).hex(), "bus": bus.value.decode(),
                        "by_bus": [by_bus, again_by_bus.value]})
    beyond = ctypes.c_int(-7)
    past_end = cuda.cuDeviceGet(ctypes.byref(beyond), max(count.value, 0))
    runtime = None
    if os.environ.get("ASK_RUNTIME"):
        cudart = ctypes.CDLL(os.environ["ASK_RUNTIME"])
        number = ctypes.c_int(-7)
        runtime = [cudart.cudaGetDeviceCount(ctypes.byref(number)), number.value]
    print(json.dumps({"init": answer, "init_again": again, "count": [counted, count.value], "devices": devices,
                      "past_end": [past_end, beyond.value], "runtime": runtime}))


def nvml_devices():
    """The devices of NVML: (UUID without its prefix, bus id) in its order."""
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    if nvml.nvmlInit_v2():
        return []
    count = ctypes.c_uint()
    nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
    found = []
    for index in range(count.value):
        device, text = ctypes.c_void_p(), ctypes.create_string_buffer(96)
        nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device))
        nvml.nvmlDeviceGetUUID(device, text, 96)
        found.append(text.value.decode().removeprefix("GPU-"))
    return found


def filled(template, uuids):
    """The value that a template stands for."""
    def one(match):
        kind, device, length = match[1], int(match[2]), match[3]
        if device >= len(uuids):
            return "ffffffff-ffff-ffff-ffff-ffffffffffff"[: int(length) if length else None]
        text = {"u": uuids[device], "U": uuids[device].upper(), "h": uuids[device].replace("-", "")}[kind]
        return text[: int(length)] if length else text
    return re.sub(r"\{([uUh])(\d)(?::(\d+))?\}", one, template)


def answer_of(environment, when="at_start"):
    done = subprocess.run([sys.executable, __file__, "--ask", when], env=environment, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout else {"ended": done.returncode, "said": done.stderr[-300:]}


def short(answer, numbers):
    """An answer with the number of each device instead of its UUID."""
    if "ended" in answer:
        return answer
    same = answer["devices"]
    return {
        "init": answer["init"], "init_again": answer["init_again"], "count": answer["count"], "past_end": answer["past_end"],
        "runtime": answer["runtime"],
        "devices": [numbers.get(d["uuid"], d["uuid"]) for d in same],
        "consistent": all(d["handle"] == i and d["results"] == [0, 0, 0] and d["by_bus"] == [0, d["handle"]] for i, d in enumerate(same)),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out")
    parser.add_argument("--ask")
    arguments = parser.parse_args()
    if arguments.ask:
        return ask(arguments.ask)
    base = {k: v for k, v in os.environ.items() if k not in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")}
    plain = answer_of(base)
    if plain.get("init") != 0:
        print(f"visible_devices.py: no driver answers here: {plain}", file=sys.stderr)
        return 2
    uuids = nvml_devices()
    numbers = {u.replace("-", ""): i for i, u in enumerate(uuids)}
    out = open(arguments.out, "w") if arguments.out else sys.stdout

    def write(value, order, when="at_start"):
        environment = dict(base)
        if value is not None:
            environment["CUDA_VISIBLE_DEVICES"] = filled(value, uuids)
        if order is not None:
            environment["CUDA_DEVICE_ORDER"] = order
        row = {"visible": value, "order": order, "when": when, **short(answer_of(environment, when), numbers)}
        print(json.dumps(row), file=out, flush=True)

    print(json.dumps({"devices": len(uuids), "common_prefix": len(os.path.commonprefix(uuids)) if len(uuids) > 1 else None}), file=out)
    for value in VALUES:
        write(value, None)
    for order in ORDERS:
        for value in ORDERED_VALUES:
            write(value, order)
    for when in ("changed_later", "set_by_setenv"):
        for value in (None, "0", "-1"):
            write(value, None, when)
    masked = dict(os.environ, CUDA_VISIBLE_DEVICES="-1")
    code = "import ctypes; n=ctypes.CDLL('libnvidia-ml.so.1'); n.nvmlInit_v2(); c=ctypes.c_uint(); print(n.nvmlDeviceGetCount_v2(ctypes.byref(c)), c.value)"
    print(json.dumps({"nvml_masked": subprocess.run([sys.executable, "-c", code], env=masked, capture_output=True, text=True).stdout.split()}), file=out)
    return 0


sys.exit(main())
