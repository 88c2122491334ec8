#!/usr/bin/env python3
"""What monitors ask by nvidia-ml-py (with PYTHONPATH where it is), on the simulated NVML."""

import pynvml as n

n.nvmlInit()
count = n.nvmlDeviceGetCount()
seen = set()
for i in range(count):
    h = n.nvmlDeviceGetHandleByIndex(i)
    uuid, pci = n.nvmlDeviceGetUUID(h), n.nvmlDeviceGetPciInfo(h)
    seen.add((uuid, pci.busId))
    assert n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByUUID(uuid)) == i
    assert n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByPciBusId(pci.busId)) == i
    memory, all_of_it = n.nvmlDeviceGetMemoryInfo(h), n.nvmlDeviceGetMemoryInfo(h, version=n.nvmlMemory_v2)
    assert memory.total == all_of_it.total and all_of_it.used == 0
    print(n.nvmlDeviceGetName(h), uuid, pci.busId, memory.total, n.nvmlDeviceGetTemperature(h, n.NVML_TEMPERATURE_GPU),
          n.nvmlDeviceGetPowerUsage(h), n.nvmlDeviceGetEnforcedPowerLimit(h), n.nvmlDeviceGetUtilizationRates(h).gpu,
          n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_SM), n.nvmlDeviceGetCudaComputeCapability(h),
          n.nvmlDeviceGetArchitecture(h) == n.NVML_DEVICE_ARCH_HOPPER, n.nvmlDeviceGetMigMode(h),
          n.nvmlDeviceGetEccMode(h), n.nvmlDeviceGetPersistenceMode(h), n.nvmlDeviceGetPerformanceState(h))
    assert n.nvmlDeviceGetComputeRunningProcesses(h) == [] and n.nvmlDeviceGetGraphicsRunningProcesses(h) == []
    for value in n.nvmlDeviceGetFieldValues(h, [n.NVML_FI_DEV_MEMORY_TEMP, n.NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION]):
        assert value.nvmlReturn == 0
    try:
        n.nvmlDeviceGetFanSpeed(h)
        raise SystemExit("a fan")
    except n.NVMLError_NotSupported as no:
        assert str(no) == "Not Supported"
assert len(seen) == count
print(n.nvmlSystemGetDriverVersion(), n.nvmlSystemGetNVMLVersion(), n.nvmlSystemGetCudaDriverVersion())
n.nvmlShutdown()
print(f"{count} GPUs, all is well")
