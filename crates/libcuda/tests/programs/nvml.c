/* The simulated NVML beside the simulated driver: the same GPUs, and what a process takes of them. Two devices. */
#include "check.h"

typedef struct { char legacy[16]; unsigned domain, bus, device, kind, subsystem; char text[32]; } Pci;
typedef struct { unsigned pid; uint64_t memory; unsigned instances[2]; } Process;
typedef struct { unsigned field, scope; int64_t time, latency; unsigned kind, result; uint64_t value; } Value;

int main(void) {
    P nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW), cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!nvml || !cuda) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    P device, other, context;
    char text[128], uuid[128];
    unsigned n, word[2];
    U info[5], address;
    Pci pci;
    Process processes[4];
    int version;
    lib = nvml;
    IS(1, nvmlDeviceGetCount_v2, &n);
    OK(nvmlInit_v2);
    OK(nvmlDeviceGetCount_v2, &n);
    TRUE(n == 2);
    OK(nvmlDeviceGetHandleByIndex_v2, 1, &device);
    IS(2, nvmlDeviceGetHandleByIndex_v2, 2, &other);
    IS(2, nvmlDeviceGetName, (char *)device + 1, text, 96);
    OK(nvmlDeviceGetName, device, text, 96);
    TRUE(!strcmp(text, "NVIDIA H200"));
    /* the driver's uuid and PCI place are the same */
    OK(nvmlDeviceGetUUID, device, uuid, 128);
    OK(nvmlDeviceGetPciInfo_v3, device, &pci);
    lib = cuda;
    unsigned char bytes[16];
    OK(cuInit, 0);
    OK(cuDeviceGetUuid_v2, bytes, 1);
    snprintf(text, sizeof text, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", bytes[0], bytes[1],
             bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9], bytes[10], bytes[11], bytes[12],
             bytes[13], bytes[14], bytes[15]);
    TRUE(!strcmp(text, uuid));
    OK(cuDeviceGetPCIBusId, text, 100, 1);
    TRUE(!strcmp(text, pci.legacy) && !strcmp(text, pci.text + 4));
    lib = nvml;
    OK(nvmlDeviceGetHandleByUUID, uuid, &other);
    TRUE(other == device);
    OK(nvmlDeviceGetHandleByPciBusId_v2, pci.text, &other);
    TRUE(other == device);
    OK(nvmlDeviceGetHandleByPciBusId_v2, pci.legacy, &other);
    TRUE(other == device);
    OK(nvmlDeviceGetSerial, device, text, 64);
    OK(nvmlDeviceGetHandleBySerial, text, &other);
    TRUE(other == device);
    /* nobody is there; then this process is, with what it allocates */
    n = 4;
    OK(nvmlDeviceGetComputeRunningProcesses_v3, device, &n, processes);
    TRUE(n == 0);
    OK(nvmlDeviceGetMemoryInfo, device, info);
    U free = info[1];
    TRUE(info[0] == info[1] + info[2]);
    lib = cuda;
    OK(cuDevicePrimaryCtxRetain, &context, 1);
    OK(cuCtxSetCurrent, context);
    OK(cuMemAlloc_v2, &address, SIZE(64 << 20));
    lib = nvml;
    OK(nvmlDeviceGetMemoryInfo, device, info);
    TRUE(free - info[1] == 64 << 20);
    IS(25, nvmlDeviceGetMemoryInfo_v2, device, info);
    info[0] = 2 << 24 | 40;
    OK(nvmlDeviceGetMemoryInfo_v2, device, info);
    TRUE(info[4] == 64 << 20 && info[1] == info[2] + info[3] + info[4]);
    n = 0;
    IS(7, nvmlDeviceGetComputeRunningProcesses_v3, device, &n, NUL);
    TRUE(n == 1);
    OK(nvmlDeviceGetComputeRunningProcesses_v3, device, &n, processes);
    TRUE(n == 1 && processes[0].pid == getpid() && processes[0].memory == 64 << 20);
    OK(nvmlDeviceGetHandleByIndex_v2, 0, &other);
    n = 4;
    OK(nvmlDeviceGetComputeRunningProcesses_v3, other, &n, processes);
    TRUE(n == 0);
    OK(nvmlSystemGetProcessName, getpid(), text, 128);
    TRUE(strstr(text, "nvml"));
    /* versions; what was recorded; what nobody recorded; what is not done */
    OK(nvmlSystemGetCudaDriverVersion_v2, &version);
    TRUE(version == 13050);
    OK(nvmlSystemGetDriverVersion, text, 80);
    TRUE(!strncmp(text, "580.", 4));
    OK(nvmlDeviceGetUtilizationRates, device, word);
    TRUE(word[0] == 0 && word[1] == 0);
    OK(nvmlDeviceGetTemperature, device, 0, word);
    TRUE(word[0] > 10 && word[0] < 100);
    IS(2, nvmlDeviceGetTemperature, device, 7, word);
    OK(nvmlDeviceGetCudaComputeCapability, device, &word[0], &word[1]);
    TRUE(word[0] == 9 && word[1] == 0);
    IS(7, nvmlDeviceGetVbiosVersion, device, text, 3);
    OK(nvmlDeviceGetVbiosVersion, device, text, 80);
    IS(3, nvmlDeviceGetFanSpeed, device, word);
    IS(3, nvmlDeviceSetPowerManagementLimit, device, 100000);
    OK(nvmlDeviceGetP2PStatus, device, other, 0, word);
    TRUE(word[0] == 0);
    Value values[2] = { { .field = 1 }, { .field = 100000 } };
    OK(nvmlDeviceGetFieldValues, device, 2, values);
    TRUE(values[0].result == 0 && values[0].time > 0 && values[1].result == 2);
    const char *said = ((const char *(*)())get("nvmlErrorString"))(6);
    TRUE(!strcmp(said, "Not Found"));
    OK(nvmlShutdown);
    IS(1, nvmlShutdown);
    puts("all is well");
    return 0;
}
