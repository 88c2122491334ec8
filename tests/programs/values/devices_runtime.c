/* The same launch through a runtime: what the driver's call tells of the parameters of each stands in the runtime's too. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry scale(.param .f32 by, .param .u32 count)\n{\n ret;\n}\n";

/* ---- what nvcc adds ---- */
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);

static struct {
    uint32_t magic; uint16_t version, head; uint64_t size;
    struct { uint16_t kind, version; uint32_t head; uint64_t size; uint32_t packed, options; uint16_t minor, major;
             uint32_t arch, name, name_len; uint64_t flags, zero, full; } entry;
    char text[(sizeof ptx + 7) / 8 * 8];
} fatbin;
static struct { uint32_t magic, version; const void *data; void *unused; } wrapper = { 0x466243b1, 1, &fatbin, NULL };

static void scale(void) {}

static void add_kernel(void) {
    fatbin.magic = 0xba55ed50, fatbin.version = 1, fatbin.head = 16, fatbin.size = sizeof fatbin - 16;
    fatbin.entry.kind = 1, fatbin.entry.version = 0x101, fatbin.entry.head = 64, fatbin.entry.size = sizeof fatbin.text;
    fatbin.entry.major = 7, fatbin.entry.arch = 70, fatbin.entry.flags = 0x11;
    memcpy(fatbin.text, ptx, sizeof ptx);
    void **code = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(code, (const char *)scale, "scale", "scale", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(code);
}

int main(void) {
    float by[2] = {0.5f, 1.5f};
    unsigned count = 64;
    void *lists[2][2] = {{&by[0], &count}, {&by[1], &count}};
    struct cudaLaunchParams list[2];
    setenv("CUTAP_SIM_DEVICES", "2", 1);
    add_kernel();
    for (int n = 0; n < 2; n++) {
        list[n] = (struct cudaLaunchParams){.func = (void *)scale, .gridDim = {2, 1, 1}, .blockDim = {64, 1, 1}, .args = lists[n]};
        CHECK(cudaSetDevice(n) || cudaStreamCreate(&list[n].stream));
    }
    CHECK(cudaLaunchCooperativeKernelMultiDevice(list, 2, 0));
    puts("done");
    return 0;
}
