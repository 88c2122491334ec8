#!/usr/bin/env python3
"""Records what NVML answers on a real GPU, as TOML on stdout: data for the simulated NVML.

    python3 tests/gpu/record_nvml.py > api/devices/NAME-nvml.toml
    python3 tests/gpu/record_nvml.py wrong > tests/gpu/nvml_wrong_uses.h200.txt

It asks only: functions of `api/libraries/nvml/functions.toml` that get something, with every value of each enum and small
numbers. What a struct or a text is filled with is kept as the bytes that were written. What tells one machine from
another (uuid, serial number, PCI place, host) is not asked. `wrong` uses it wrongly and prints the results: a test
runs the same on the simulated library.
"""

import ctypes
import itertools
import os
import sys
import tomllib
from pathlib import Path

API = Path(__file__).resolve().parents[2] / "api/libraries/nvml"
# Says who the machine is, changes from moment to moment in a way that is simulated by hand, or does something.
LEFT_OUT = ("UUID", "Serial", "Pdi", "PciInfo", "Hostname", "PlatformInfo", "Attestation", "Certificate", "GetHandle",
            "ProcessName", "Topology", "RunningProcess", "BoardId", "Vgpu", "P2PStatus", "Affinity", "MinorNumber",
            "GetLastBBX", "FieldValues", "GetGpuInstanceId", "GetComputeInstanceId", "GetIndex", "Unit", "ProcessUtil",
            "GetCPER", "PRM", "Samples", "EventSet", "GetMemoryInfo", "GetNumaNodeId", "Excluded", "GetCount", "OnSameBoard",
            "NvLinkRemote", "ProcessesUtil", "Uptime", "BBXTime", "MemoryLimits", "AccountingStats", "PerfMetrics")
SCALARS = {"unsigned int": 4, "int": 4, "unsigned long long": 8, "unsigned long": 8, "long long": 8}
ROOM = 1 << 16


def load():
    types = tomllib.loads((API / "types.toml").read_text())
    scalars = dict(SCALARS)
    scalars.update({e["name"]: 4 for e in types["enum"]})
    for t in types["typedef"]:
        if t["type"] in scalars:
            scalars[t["name"]] = scalars[t["type"]]
    enums = {e["name"]: sorted({v[1] for v in e["values"] if v[1] < 64}) for e in types["enum"]}
    structs = {s["name"]: s for s in types["struct"]}
    for s in types["struct"]:
        structs.update({also: s for also in s.get("also", ())})
    functions = tomllib.loads((API / "functions.toml").read_text())["function"]
    return functions, scalars, enums, structs


def shape(function, scalars, enums, structs):
    """For each parameter what to do with it; none if the function is not for this."""
    plan = []
    params = function.get("params", [])
    for n, p in enumerate(params):
        kind, out = p["type"], p.get("dir", "in")
        to = kind.removesuffix("*").strip()
        if kind == "nvmlDevice_t" and n == 0:
            plan.append(("device",))
        elif kind in scalars and n and params[n - 1]["type"] == "char *":
            plan.append(("value", [ROOM]))
        elif kind in scalars:
            plan.append(("value", enums.get(kind) or [0, 1, 2, 3]))
        elif kind == "char *":
            plan.append(("text", ROOM))
        elif kind.endswith("*") and out == "out" and to in scalars:
            plan.append(("bytes", scalars[to], None))
        elif kind.endswith("*") and to in structs:
            s = structs[to]
            if any("*" in f["type"] for f in s["fields"]) or out == "in" and "const" in kind:
                return None
            versioned = s["fields"][0]["name"] == "version"
            plan.append(("bytes", s["size"], versioned))
        else:
            return None
    return plan


def written(function, device, arguments, plan, fill, version):
    words, outs = [], []
    given = iter(arguments)
    for step in plan:
        if step[0] == "device":
            words.append(device)
        elif step[0] == "value":
            words.append(ctypes.c_ulonglong(next(given)))
        else:
            room = ctypes.create_string_buffer(bytes([fill]) * ROOM, ROOM)
            if step[0] == "bytes" and step[2]:
                room[0:4] = (step[1] | version << 24).to_bytes(4, "little")
            outs.append((step, room))
            words.append(room)
    return function(*words), outs


def ask(function, name, device, plan):
    choices = [step[1] for step in plan if step[0] == "value"]
    versioned = any(step[0] == "bytes" and step[2] for step in plan)
    for arguments in itertools.product(*choices):
        for version in (1, 2, 3, 4) if versioned else (0,):
            result, zero = written(function, device, arguments, plan, 0, version)
            again, ones = written(function, device, arguments, plan, 0xEE, version)
            if versioned and result == 25 and version < 4:
                continue
            break
        line = f'  {{ name = "{name}"'
        shown = [a for a in arguments if a != ROOM]
        if shown:
            line += f", in = {shown}"
        if result:
            line += f", result = {result}"
        outs = []
        for (step, a), (_, b) in zip(zero, ones) if not result and not again else ():
            if step[0] == "text":
                outs.append(a.value + b"\0")
            else:
                size = step[1]
                end = size
                while end and a[end - 1] == b"\0" and b[end - 1] == b"\xee":
                    end -= 1
                outs.append(a.raw[:end])
        if outs:
            line += ", out = [" + ", ".join(f'"{o.hex()}"' for o in outs) + "]"
        yield line + " },"


def record(nvml):
    functions, scalars, enums, structs = load()
    device = ctypes.c_void_p()
    assert nvml.nvmlInit_v2() == 0
    assert nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0
    missing = []
    print("# What NVML said of an H200; written by tests/gpu/record_nvml.py. `in`: numbers given; `out`: bytes written, a")
    print("# parameter each. What is not here was not asked, or changes.\n")
    fields = []
    for field in range(1, 320):
        value = (ctypes.c_ubyte * 40)()
        value[0:4] = field.to_bytes(4, "little")
        result = nvml.nvmlDeviceGetFieldValues(device, 1, value)
        raw = bytes(value)
        kind, code = int.from_bytes(raw[24:28], "little"), int.from_bytes(raw[28:32], "little")
        fields.append(f"  [{field}, {result or code}, {kind}, {int.from_bytes(raw[32:40], 'little')}],")
    print("# Fields: number, result, type, value.\nfields = [\n" + "\n".join(fields) + "\n]\n")
    print("answers = [")
    for f in functions:
        name = f["name"]
        if "Get" not in name or any(word in name for word in LEFT_OUT) or "GpuInstance" in name.split("Get")[0]:
            continue
        plan = shape(f, scalars, enums, structs)
        if plan is None or f.get("returns") != "nvmlReturn_t":
            continue
        try:
            function = getattr(nvml, name)
        except AttributeError:
            missing.append(name)
            continue
        print(f"asking {name}", file=sys.stderr, flush=True)
        for line in ask(function, name, device, plan):
            print(line, flush=True)
    print("]\n\n# This NVML did not have:")
    for name in missing:
        print(f"#   {name}")
    print("# By hand:")
    by_hand(nvml, device)


def by_hand(nvml, device):
    def show(what, result, raw=b""):
        print(f"#   {what} = {result} {raw.hex()}")

    for name, size, head in [("nvmlDeviceGetMemoryInfo", 24, b""), ("nvmlDeviceGetMemoryInfo_v2", 40, (40 | 2 << 24).to_bytes(4, "little"))]:
        room = ctypes.create_string_buffer(head, size)
        show(name, getattr(nvml, name)(device, room), room.raw)
    for name in ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses_v3",
                 "nvmlDeviceGetMPSComputeRunningProcesses_v3"):
        count, room = ctypes.c_uint(0), ctypes.create_string_buffer(4096)
        result = getattr(nvml, name)(device, ctypes.byref(count), None)
        show(f"{name} (0, NULL)", result, bytes(count))
        count = ctypes.c_uint(100)
        show(name, getattr(nvml, name)(device, ctypes.byref(count), room), bytes(count) + room.raw[:48])
    for name in ("nvmlDeviceGetCpuAffinity",):
        room = ctypes.create_string_buffer(64)
        show(name, getattr(nvml, name)(device, 4, room), room.raw[:32])
    count = ctypes.c_uint(0)
    show("nvmlDeviceGetCount_v2", nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)), bytes(count))
    for name in ("nvmlDeviceGetNumaNodeId", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetIndex", "nvmlDeviceGetBoardId",
                 "nvmlDeviceGetGpuInstanceId", "nvmlDeviceGetComputeInstanceId"):
        word = ctypes.c_uint(0xEEEEEEEE)
        show(name, getattr(nvml, name)(device, ctypes.byref(word)), bytes(word))
    other = ctypes.c_void_p()
    second = nvml.nvmlDeviceGetHandleByIndex_v2(1, ctypes.byref(other))
    for what, to in [("itself", device)] + ([("the next", other)] if second == 0 else []):
        for index in range(7):
            word = ctypes.c_uint(0xEEEEEEEE)
            show(f"nvmlDeviceGetP2PStatus {what} {index}", nvml.nvmlDeviceGetP2PStatus(device, to, index, ctypes.byref(word)), bytes(word))
        word = ctypes.c_uint(0xEEEEEEEE)
        show(f"nvmlDeviceGetTopologyCommonAncestor {what}", nvml.nvmlDeviceGetTopologyCommonAncestor(device, to, ctypes.byref(word)), bytes(word))
        word = ctypes.c_uint(0xEEEEEEEE)
        show(f"nvmlDeviceOnSameBoard {what}", nvml.nvmlDeviceOnSameBoard(device, to, ctypes.byref(word)), bytes(word))
    events = ctypes.c_void_p()
    show("nvmlEventSetCreate", nvml.nvmlEventSetCreate(ctypes.byref(events)))
    show("nvmlDeviceRegisterEvents 8", nvml.nvmlDeviceRegisterEvents(device, ctypes.c_ulonglong(8), events))
    room = ctypes.create_string_buffer(64)
    show("nvmlEventSetWait_v2 0", nvml.nvmlEventSetWait_v2(events, room, 0), room.raw)
    show("nvmlEventSetFree", nvml.nvmlEventSetFree(events))
    for link in range(3):
        room = ctypes.create_string_buffer(128)
        result = nvml.nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, room)
        show(f"nvmlDeviceGetNvLinkRemotePciInfo_v2 {link}", result, room.raw[48:52])
    print("# Names of results:")
    nvml.nvmlErrorString.restype = ctypes.c_char_p
    for code in [*range(33), 999, 1000]:
        print(f"#   {code} {nvml.nvmlErrorString(code).decode()!r}")


def wrong(nvml):
    """One line a use: what was done = the result. NULL for most outputs crashes the real one, and is left out."""
    word, text, device, none = ctypes.c_uint(7), ctypes.create_string_buffer(256), ctypes.c_void_p(), None
    count, room = ctypes.c_uint(7), ctypes.create_string_buffer(ROOM)
    bad = ctypes.create_string_buffer(4096)
    by = ctypes.byref

    def use(what, name, *arguments):
        print(f"{what}: {name} = {getattr(nvml, name)(*arguments)}", flush=True)

    use("before nvmlInit", "nvmlDeviceGetCount_v2", by(count))
    use("before nvmlInit", "nvmlDeviceGetCount_v2", none)
    use("before nvmlInit", "nvmlDeviceGetHandleByIndex_v2", 0, by(device))
    use("before nvmlInit", "nvmlSystemGetDriverVersion", text, 80)
    use("before nvmlInit", "nvmlSystemGetNVMLVersion", text, 80)
    use("before nvmlInit", "nvmlSystemGetCudaDriverVersion", by(word))
    use("before nvmlInit", "nvmlSystemGetCudaDriverVersion_v2", by(word))
    use("before nvmlInit", "nvmlDeviceGetName", none, text, 96)
    use("before nvmlInit", "nvmlDeviceGetTemperature", none, 0, by(word))
    use("before nvmlInit", "nvmlEventSetCreate", by(device))
    use("before nvmlInit", "nvmlShutdown")
    use("init", "nvmlInitWithFlags", 0)
    use("init again", "nvmlInit_v2")
    use("shutdown once", "nvmlShutdown")
    use("counted", "nvmlDeviceGetCount_v2", by(count))
    use("NULL", "nvmlDeviceGetCount_v2", none)
    use("NULL", "nvmlDeviceGetHandleByIndex_v2", 0, none)
    use("index as large as the count", "nvmlDeviceGetHandleByIndex_v2", count.value, by(device))
    use("index -1", "nvmlDeviceGetHandleByIndex_v2", 0xFFFFFFFF, by(device))
    use("no uuid", "nvmlDeviceGetHandleByUUID", b"", by(device))
    use("uuid of nobody", "nvmlDeviceGetHandleByUUID", b"GPU-00000000-0000-0000-0000-000000000000", by(device))
    use("text for a uuid", "nvmlDeviceGetHandleByUUID", b"hello", by(device))
    use("NULL for a uuid", "nvmlDeviceGetHandleByUUID", none, by(device))
    use("text for a bus", "nvmlDeviceGetHandleByPciBusId_v2", b"hello", by(device))
    use("bus of nobody", "nvmlDeviceGetHandleByPciBusId_v2", b"00000000:FE:1F.0", by(device))
    use("NULL for a bus", "nvmlDeviceGetHandleByPciBusId_v2", none, by(device))
    use("serial of nobody", "nvmlDeviceGetHandleBySerial", b"1", by(device))
    use("first", "nvmlDeviceGetHandleByIndex_v2", 0, by(device))
    use("size 0", "nvmlDeviceGetName", device, text, 0)
    use("size 3", "nvmlDeviceGetName", device, text, 3)
    use("NULL", "nvmlDeviceGetName", device, none, 96)
    use("size 3", "nvmlDeviceGetUUID", device, text, 3)
    use("size 40", "nvmlDeviceGetUUID", device, text, 40)
    use("size 41", "nvmlDeviceGetUUID", device, text, 41)
    use("NULL device", "nvmlDeviceGetName", none, text, 96)
    use("NULL device", "nvmlDeviceGetUUID", none, text, 96)
    use("NULL device", "nvmlDeviceGetMemoryInfo", none, room)
    use("NULL device", "nvmlDeviceGetTemperature", none, 0, by(word))
    use("sensor 7", "nvmlDeviceGetTemperature", device, 7, by(word))
    use("clock 77", "nvmlDeviceGetClockInfo", device, 77, by(word))
    use("NULL version", "nvmlSystemGetDriverVersion", none, 80)
    use("size 0", "nvmlSystemGetDriverVersion", text, 0)
    use("size 2", "nvmlSystemGetDriverVersion", text, 2)
    use("size 2", "nvmlSystemGetNVMLVersion", text, 2)
    use("NULL", "nvmlSystemGetCudaDriverVersion_v2", none)
    use("link 99", "nvmlDeviceGetNvLinkState", device, 99, by(word))
    use("fan 0", "nvmlDeviceGetFanSpeed_v2", device, 0, by(word))
    use("no fields", "nvmlDeviceGetFieldValues", device, 0, room)
    use("a process that is not", "nvmlSystemGetProcessName", 0x7FFFFFF0, text, 99)
    # Only asked: a child that starts it crashes on some machines.
    child = os.fork()
    if not child:
        use("in a forked child", "nvmlDeviceGetCount_v2", by(count))
        os._exit(0)
    os.waitpid(child, 0)
    use("shutdown twice", "nvmlShutdown")
    use("after it", "nvmlDeviceGetCount_v2", by(count))
    use("three times", "nvmlShutdown")


if __name__ == "__main__":
    library = ctypes.CDLL(os.environ.get("CUTAP_NVML", "libnvidia-ml.so.1"))
    library.nvmlDeviceGetHandleByIndex_v2.argtypes = None
    if sys.argv[1:] == ["wrong"]:
        wrong(library)
    else:
        record(library)
