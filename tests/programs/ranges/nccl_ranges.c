/* The ranges that an NCCL makes which is linked into the program. RANK calls with another size at STEP, if that is given;
 * with STOP it does not come to that step. */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

typedef struct {
    uint64_t communicator, bytes;
    int operation;
} AllReduce;

#define ENTRY(field, of, text) {.type = of, .name = text, .offset = offsetof(AllReduce, field)}

static nvtxDomainHandle_t domain;

static uint64_t schema(void) {
    nvtxPayloadSchemaEntry_t entries[] = {
        ENTRY(communicator, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID"),
        ENTRY(bytes, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]"),
        ENTRY(operation, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Reduction operation"),
    };
    nvtxPayloadSchemaAttr_t attributes = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = entries,
        .numEntries = sizeof entries / sizeof *entries,
        .payloadStaticSize = sizeof(AllReduce),
    };
    return nvtxPayloadSchemaRegister(domain, &attributes);
}

static void push(const char *name, nvtxPayloadData_t *data) {
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name;
    if (data) {
        event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
        event.reserved0 = 1;
        event.payload.ullValue = (uint64_t)(uintptr_t)data;
    }
    nvtxDomainRangePushEx(domain, &event);
}

int main(void) {
    const char *step = getenv("STEP"), *stop = getenv("STOP");
    int (*cuInit)(unsigned) = (int (*)(unsigned))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuInit");
    if (!cuInit || cuInit(0)) return 1;
    domain = nvtxDomainCreateA("NCCL");
    uint64_t id = schema();
    push("ncclCommInitRank", 0);
    nvtxDomainRangePop(domain);
    for (int n = 1; n <= 8 && !(stop && atoi(stop) == n); n++) {
        AllReduce call = {0xc0ffee, step && atoi(step) == n ? 512 : 4096, 0};
        nvtxPayloadData_t data = {id, sizeof call, &call};
        push("ncclAllReduce", &data);
        nvtxDomainRangePop(domain);
    }
    return 0;
}
