/* A profiler of a program: it registers functions for buffers, enables kernels alone, and counts what it gets. F(NAME)
   is a function of CUPTI. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tool_kernels, tool_others;
static void *tool_mine;

static void tool_request(uint8_t **buffer, size_t *size, size_t *most) {
    *size = 1 << 16;
    *most = 0;
    *buffer = tool_mine = malloc(*size);
}

static void tool_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    uint8_t *record = 0;
    (void)context, (void)stream, (void)size;
    while (F(cuptiActivityGetNextRecord)(buffer, valid, &record) == 0) {
        if (*(uint32_t *)record == 10) tool_kernels++;
        else tool_others++;
    }
    /* A buffer of somebody else is none that may be freed. */
    if (buffer == tool_mine) free(buffer);
    else printf("profiler: a foreign buffer\n");
}

void tool_start(const char *how) {
    uint32_t ids = 9;
    void *subscriber = 0;
    if (strcmp(how, "ids") == 0) printf("profiler: cuptiGetThreadIdType = %d", F(cuptiGetThreadIdType)(&ids));
    else if (strcmp(how, "v2") == 0) printf("profiler: cuptiSubscribe_v2 = %d", F(cuptiSubscribe_v2)(&subscriber, 0, 0, 0));
    else if (strcmp(how, "subscribe") == 0) printf("profiler: cuptiSubscribe = %d", F(cuptiSubscribe)(&subscriber, 0, 0));
    else printf("profiler: no subscriber");
    printf(", cuptiActivityRegisterCallbacks = %d", F(cuptiActivityRegisterCallbacks)(tool_request, tool_complete));
    printf(", cuptiActivityEnable = %d", F(cuptiActivityEnable)(10));
    F(cuptiGetThreadIdType)(&ids);
    printf(", ids %u\n", ids);
}

void tool_stop(void) {
    F(cuptiActivityFlushAll)(1);
    F(cuptiActivityDisable)(10);
    printf("profiler: %d kernels, %d others\n", tool_kernels, tool_others);
}
