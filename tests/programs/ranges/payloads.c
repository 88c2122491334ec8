/* Payloads of NVTX's extension: by schemas, by types without a schema, of wrong sizes, and of functions of the extension.
 * With an argument `quiet` nothing is printed. */
#define _GNU_SOURCE
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
    uint8_t kind;
    uint64_t bytes;
    int operation;
    float share[2];
    char name[8];
    const void *buffer;
} Work;

#define ENTRY(field, of, more_flags, length)                                                                           \
    {.flags = more_flags, .type = of, .name = #field, .arrayOrUnionDetail = length, .offset = offsetof(Work, field)}

static uint64_t schema(nvtxDomainHandle_t domain, uint64_t operations) {
    nvtxPayloadSchemaEntry_t entries[] = {
        ENTRY(kind, NVTX_PAYLOAD_ENTRY_TYPE_UINT8, 0, 0),
        ENTRY(bytes, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, 0, 0),
        ENTRY(operation, operations, 0, 0),
        ENTRY(share, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 2),
        ENTRY(name, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, 0, 8),
        ENTRY(buffer, NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS, 0, 0),
    };
    nvtxPayloadSchemaAttr_t attributes = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = entries,
        .numEntries = sizeof entries / sizeof *entries,
        .payloadStaticSize = sizeof(Work),
    };
    return nvtxPayloadSchemaRegister(domain, &attributes);
}

static void mark(nvtxDomainHandle_t domain, const char *name, nvtxPayloadData_t *data) {
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name;
    event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    event.reserved0 = 1;
    event.payload.ullValue = (uint64_t)(uintptr_t)data;
    nvtxDomainMarkEx(domain, &event);
}

int main(int argc, char **argv) {
    int is_quiet = argc > 1 && !strcmp(argv[1], "quiet");
    int (*cuInit)(unsigned) = (int (*)(unsigned))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuInit");
    if (!cuInit) return 1;
    cuInit(0);
    nvtxDomainHandle_t domain = nvtxDomainCreateA("work"), other = nvtxDomainCreateA("other");
    nvtxPayloadEnum_t names[] = {{"sum", 0, 0}, {"max", 7, 0}};
    nvtxPayloadEnumAttr_t operations = {
        .fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE,
        .entries = names, .numEntries = 2, .sizeOfEnum = sizeof(int)};
    uint64_t operation = nvtxPayloadEnumRegister(domain, &operations), id = schema(domain, operation);
    if (!is_quiet)
        printf("ids %s, domain %d\n", operation && id && operation != id ? "differ" : "are none",
               nvtxDomainIsEnabled(domain));
    Work work = {3, 1 << 20, 7, {0.5f, 2}, "layer", (void *)0x1000};
    nvtxPayloadData_t all = {id, sizeof work, &work};
    mark(domain, "whole", &all);
    nvtxPayloadData_t half = {id, 12, &work};
    mark(domain, "half", &half);
    mark(other, "other domain", &all);
    int numbers[] = {-1, 2, 3};
    nvtxPayloadData_t plain = {NVTX_PAYLOAD_ENTRY_TYPE_INT, sizeof numbers, numbers};
    mark(domain, "numbers", &plain);
    nvtxPayloadData_t wrong = {id, 1 << 30, (void *)8};
    mark(domain, "wrong", &wrong);
    mark(domain, "nowhere", (void *)16);
    /* Texts whose length the program leaves to the tool; behind the second one there is nothing any more. */
    nvtxPayloadData_t text = {NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, SIZE_MAX, "up to its zero"};
    mark(domain, "text", &text);
    size_t page = sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    nvtxPayloadData_t both = {NVTX_PAYLOAD_ENTRY_TYPE_UINT8, 128, pages + page - 64};
    mark(domain, "both pages", &both);
    munmap(pages + page, page);
    text.payload = memcpy(pages + page - 4, "end", 4);
    mark(domain, "at the end", &text);
    nvtxPayloadData_t too_long = {NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, 128, pages + page - 4};
    mark(domain, "too long", &too_long);
    nvtxPayloadData_t uncounted = {NVTX_PAYLOAD_ENTRY_TYPE_INT, SIZE_MAX, numbers};
    mark(domain, "uncounted", &uncounted);
    /* Not one entry behind the other with natural alignment. */
    nvtxPayloadSchemaEntry_t entries[] = {{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT8, .name = "one"},
                                          {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT, .name = "two"}};
    nvtxPayloadSchemaAttr_t of = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT,
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, .entries = entries, .numEntries = 2, .packAlign = 1};
    nvtxPayloadData_t packed = {nvtxPayloadSchemaRegister(domain, &of), 8, numbers};
    mark(domain, "packed", &packed);
    of.packAlign = 0, of.type = NVTX_PAYLOAD_SCHEMA_TYPE_UNION;
    nvtxPayloadData_t one_of = {nvtxPayloadSchemaRegister(domain, &of), 8, numbers};
    mark(domain, "union", &one_of);
    int level = nvtxRangePushPayload(domain, &all, 1);
    cuInit(0);
    int after = nvtxRangePopPayload(domain, &all, 1);
    nvtxRangeId_t range = nvtxRangeStartPayload(domain, &plain, 1);
    nvtxRangeEndPayload(domain, range, &plain, 1);
    nvtxMarkPayload(domain, &plain, 1);
    nvtxCounterAttr_t attributes = {.structSize = sizeof attributes, .name = "loss", .counterId = 0,
                                    .schemaId = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE};
    uint64_t loss = nvtxCounterRegister(domain, &attributes);
    nvtxCounterAttr_t group = {.structSize = sizeof group, .name = "group", .schemaId = id, .counterId = 1 << 25};
    nvtxCounterRegister(domain, &group);
    nvtxCounterSampleFloat64(domain, loss, 0.25);
    nvtxCounterSampleInt64(domain, loss, -3);
    nvtxCounterSample(domain, 1 << 25, &work, sizeof work);
    nvtxCounterSampleNoValue(domain, 1 << 25, NVTX_COUNTER_SAMPLE_UNAVAILABLE);
    nvtxCounterBatch_t batch = {.counterId = 1 << 25, .counters = &work, .countersSize = sizeof work};
    nvtxCounterBatchSubmit(domain, &batch);
    nvtxCounterSampleInt64(other, loss, 4);
    if (!is_quiet) printf("levels %d %d, range %s\n", level, after, range ? "has an id" : "has none");
    return 0;
}
