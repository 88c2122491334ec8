/* What the driver shows of the devices of NVML, in the words of tests/gpu/visible_devices.py: what cuInit returns, twice;
 * the result and the count of cuDeviceGetCount; the result behind the last device; the number of each device in NVML.
 * `uuids` prints the UUIDs of NVML instead. */
#include "check.h"

int main(int words, char **word) {
    P nvml = dlopen("libnvidia-ml.so", RTLD_NOW), cuda = dlopen("libcuda.so", RTLD_NOW);
    if (!nvml || !cuda) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    char uuids[8][96], buses[8][32], text[96];
    unsigned all = 0;
    P device;
    lib = nvml;
    OK(nvmlInit_v2);
    OK(nvmlDeviceGetCount_v2, &all);
    for (unsigned i = 0; i < all; i++) {
        struct { char legacy[16]; unsigned numbers[5]; char text[32]; } pci;
        OK(nvmlDeviceGetHandleByIndex_v2, i, &device);
        OK(nvmlDeviceGetUUID, device, uuids[i], 96);
        OK(nvmlDeviceGetPciInfo_v3, device, &pci);
        strcpy(buses[i], pci.legacy);
        for (unsigned j = 0; j < i; j++) TRUE(strcmp(uuids[i], uuids[j]) && strcmp(buses[i], buses[j]));
        if (!strcmp(word[1], "uuids")) puts(uuids[i] + 4);
    }
    if (!strcmp(word[1], "uuids")) return 0;
    lib = cuda;
    if (!strcmp(word[1], "set_by_setenv")) setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    int init = CALL(cuInit, 0);
    if (!strcmp(word[1], "changed_later")) setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    int again = CALL(cuInit, 0), count = -7, beyond = -7, counted = CALL(cuDeviceGetCount, &count);
    printf("%d %d [%d,%d] [%d,%d] [", init, again, counted, count, CALL(cuDeviceGet, &beyond, count < 0 ? 0 : count), beyond);
    for (int i = 0; i < count; i++) {
        unsigned char bytes[16];
        int found, bus;
        P context;
        OK(cuDeviceGet, &found, i);
        TRUE(found == i);
        OK(cuDeviceGetUuid_v2, bytes, i);
        int at = sprintf(text, "GPU-");
        for (int n = 0; n < 16; n++) at += sprintf(text + at, n == 4 || n == 6 || n == 8 || n == 10 ? "-%02x" : "%02x", bytes[n]);
        unsigned number = 0;
        while (number < all && strcmp(text, uuids[number])) number++;
        printf(i ? ",%u" : "%u", number);
        OK(cuDeviceGetPCIBusId, text, 32, i);
        TRUE(!strcmp(text, buses[number]));
        OK(cuDeviceGetByPCIBusId, &found, text);
        TRUE(found == i);
        OK(cuDeviceGetAttribute, &bus, 33, i);
        TRUE(bus == strtol(text + 5, NULL, 16));
        /* NVML finds this process on the device that it uses */
        struct { unsigned pid; U memory; unsigned rest[2]; } processes[4];
        unsigned running = 4;
        OK(cuDevicePrimaryCtxRetain, &context, i);
        lib = nvml;
        OK(nvmlDeviceGetHandleByIndex_v2, number, &device);
        OK(nvmlDeviceGetComputeRunningProcesses_v3, device, &running, processes);
        TRUE(running == 1);
        lib = cuda;
        OK(cuDevicePrimaryCtxRelease_v2, i);
    }
    puts("]");
    return 0;
}
