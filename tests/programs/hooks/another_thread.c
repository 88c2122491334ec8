/* Gives its call to another thread, which reads it and may not change it. */
#include "cutap_hook.h"
#include <pthread.h>
#include <stdio.h>

static void *change(void *given) {
    struct cutap_call *call = given;
    unsigned long long mine = 7;
    printf("%llu bytes:", (unsigned long long)cutap_unsigned(call, "bytesize"));
    printf(" %d", cutap_set(call, "bytesize", 4096) == CUTAP_ERR_NOT_NOW);
    printf(" %d", cutap_output(call, "dptr", &mine, sizeof mine) == CUTAP_ERR_NOT_NOW);
    printf(" %d", cutap_return(call, 2) == CUTAP_ERR_NOT_NOW);
    printf(" %d\n", cutap_set_result(call, 2) == CUTAP_ERR_NOT_NOW);
    return NULL;
}

static void in_another(struct cutap_call *call) {
    pthread_t other;
    if (!pthread_create(&other, NULL, change, call)) pthread_join(other, NULL);
}

CUTAP_HOOK {
    cutap_register(CUTAP_DRIVER, "cuMemAlloc_v2", in_another, in_another);
    return 0;
}
