/* Ranges of NVTX around calls of the driver, in one of several ways. Prints what NVTX answers. */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*count_devices)(int *);

static void call(void) {
    int count;
    count_devices(&count);
}

static void basic(void) {
    nvtxEventAttributes_t with = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    printf("%d\n", nvtxRangePushA("outer"));
    printf("%d\n", nvtxRangePushA("inner"));
    call();
    nvtxMarkA("moment");
    printf("%d\n", nvtxRangePop());
    nvtxDomainHandle_t domain = nvtxDomainCreateA("Domain");
    with.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    with.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    with.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    with.payload.ullValue = 42;
    printf("%d %d\n", domain != NULL, with.message.registered != NULL);
    printf("%d\n", nvtxDomainRangePushEx(domain, &with));
    call();
    /* Popped in the order in which they were pushed. */
    printf("%d\n", nvtxRangePop());
    call();
    printf("%d\n", nvtxDomainRangePop(domain));
    nvtxDomainDestroy(domain);
    nvtxRangeId_t id = nvtxRangeStartW(L"w\u00efde");
    call();
    nvtxRangeEnd(id);
}

/* What is not checked with `basic`: all kinds of functions that answer something. */
static void answers(void) {
    basic();
    nvtxEventAttributes_t with = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    with.messageType = NVTX_MESSAGE_TYPE_ASCII;
    with.message.ascii = "of attributes";
    printf("%d %d\n", nvtxRangePushEx(&with), nvtxRangePushW(L"wide"));
    nvtxRangeId_t ids[] = {nvtxRangeStartA("ascii"), nvtxRangeStartEx(&with), nvtxDomainRangeStartEx(NULL, &with)};
    for (int n = 0; n < 3; n++) printf("%d\n", (int)ids[n]);
    printf("%d %d\n", nvtxDomainCreateW(L"wide") != NULL, nvtxDomainRegisterStringW(NULL, L"wide") != NULL);
    printf("%d\n", nvtxDomainRangePop(NULL));
}

static void unbalanced(void) {
    printf("%d\n", nvtxRangePop());
    call();
    nvtxRangePushA("open at the end");
    nvtxDomainRangePop(nvtxDomainCreateA("other"));
    call();
}

/* Recording begins inside of ranges. */
static void profiled(void *driver) {
    int (*start)(void) = (int (*)(void))dlsym(driver, "cuProfilerStart");
    int (*stop)(void) = (int (*)(void))dlsym(driver, "cuProfilerStop");
    nvtxRangePushA("ended before");
    nvtxRangePop();
    nvtxRangePushA("outer");
    char *name = strdup("middle");
    nvtxRangePushA(name);
    memset(name, 'x', 6);
    start();
    call();
    nvtxRangePushA("inner");
    call();
    nvtxRangePop();
    stop();
    call();
    nvtxRangePop();
    nvtxRangePop();
    free(name);
}

static void freed(void) {
    char *name = strdup("freed");
    nvtxRangePushA(name);
    memset(name, 'x', 5);
    free(name);
    call();
    nvtxRangePop();
    nvtxRangePushA((const char *)8);
    call();
    nvtxRangePop();
}

static void deep(void) {
    for (int n = 0; n < 100000; n++) nvtxRangePushA("nested");
    call();
    for (int n = 0; n < 100000; n++) nvtxRangePop();
    call();
    printf("%d\n", nvtxRangePushA("after"));
    call();
    nvtxRangePop();
}

static void forked(void) {
    nvtxRangePushA("of both");
    call();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        call();
        nvtxRangePop();
        nvtxRangePushA("of the child");
        call();
        nvtxRangePop();
        call();
        _exit(0);
    }
    waitpid(child, NULL, 0);
    nvtxRangePop();
}

static void *in_thread(void *name) {
    nvtxRangePushA(name);
    for (int n = 0; n < 100; n++) call();
    nvtxRangePop();
    return NULL;
}

static void threads(void) {
    pthread_t all[2];
    char *names[] = {"first", "second"};
    for (int n = 0; n < 2; n++) pthread_create(&all[n], NULL, in_thread, names[n]);
    for (int n = 0; n < 2; n++) pthread_join(all[n], NULL);
}

static void *leaves_open(void *unused) {
    nvtxRangePushA("inner");
    call();
    return unused;
}

static void *calls_only(void *unused) {
    for (int n = 0; n < 10; n++) call();
    return unused;
}

/* A thread ends inside a range. The next one begins outside. */
static void left_open(void) {
    pthread_t thread;
    void *(*all[])(void *) = {leaves_open, calls_only};
    for (int n = 0; n < 2; n++) {
        pthread_create(&thread, NULL, all[n], NULL);
        pthread_join(thread, NULL);
    }
    calls_only(NULL);
}

static sem_t is_open, may_end;

static void *holds_open(void *unused) {
    nvtxRangePushA("inner");
    sem_post(&is_open);
    sem_wait(&may_end);
    nvtxRangePop();
    return unused;
}

/* A child is in the range of the thread that forked, and in no range of another thread. */
static void open_at_fork(void) {
    pthread_t thread;
    sem_init(&is_open, 0, 0);
    sem_init(&may_end, 0, 0);
    pthread_create(&thread, NULL, holds_open, NULL);
    sem_wait(&is_open);
    pid_t child = fork();
    if (child == 0) {
        calls_only(NULL);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    sem_post(&may_end);
    pthread_join(thread, NULL);
    nvtxRangePushA("inner");
    child = fork();
    if (child == 0) {
        call();
        nvtxRangePop();
        calls_only(NULL);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    nvtxRangePop();
}

static void named(void) {
    nvtxDomainHandle_t domain = nvtxDomainCreateA("Domain");
    nvtxNameCategoryA(3, "loading");
    nvtxDomainNameCategoryW(domain, 4, L"w\u00efde");
    nvtxNameCuDeviceA(0, "first");
    nvtxNameCuStreamA((CUstream)0x1234, "copies");
    nvtxNameCuEventA((CUevent)0x5678, "done");
    call();
}

/* So many registered strings and domains, and a range of the last ones. */
static void many(int strings, int domains) {
    nvtxEventAttributes_t with = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    with.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    nvtxDomainHandle_t domain = NULL;
    char name[32];
    for (int n = 1; n <= domains; n++) {
        sprintf(name, "domain %d", n);
        domain = nvtxDomainCreateA(name);
    }
    for (int n = 1; n <= strings; n++) {
        sprintf(name, "string %d", n);
        with.message.registered = nvtxDomainRegisterStringA(domain, name);
        if (n != 1 && n != strings) continue;
        nvtxDomainRangePushEx(domain, &with);
        call();
        nvtxDomainRangePop(domain);
    }
}

/* Names of 256 bytes, and longer ones. */
static void long_names(void) {
    char name[400];
    wchar_t wide[400];
    memset(name, 'n', sizeof name);
    for (int n = 0; n < 400; n++) wide[n] = 0xe4;
    name[256] = 0;
    wide[128] = 0;
    nvtxMarkA(name);
    nvtxMarkW(wide);
    name[256] = 'n';
    name[300] = 0;
    wide[128] = 0xe4;
    wide[300] = 0;
    nvtxMarkA(name);
    nvtxMarkW(wide);
    call();
}

/* Steps, between which recording is switched off and on by the commands of the environment. */
static void switched(void) {
    const char *commands[] = {NULL, getenv("OFF"), getenv("ON")};
    char name[32];
    for (int n = 0; n < 12; n++) {
        if (n % 4 == 0 && commands[n / 4] && system(commands[n / 4])) exit(1);
        sprintf(name, "step %d", n);
        nvtxRangePushA(name);
        call();
        nvtxRangePop();
    }
}

/* As setproctitle does: the environment moves, and its old memory is written over. */
static void overwritten(void) {
    extern char **environ;
    int count = 0;
    while (environ[count]) count++;
    char **moved = calloc(count + 1, sizeof *moved);
    for (int n = 0; n < count; n++) moved[n] = strdup(environ[n]);
    for (int n = 0; n < count; n++) memset(environ[n], 0, strlen(environ[n]));
    environ = moved;
    basic();
}

int main(int words, char **word) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*start)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    count_devices = (int (*)(int *))dlsym(driver, "cuDeviceGetCount");
    start(0);
    const char *way = words > 1 ? word[1] : "basic";
    if (!strcmp(way, "basic")) basic();
    if (!strcmp(way, "answers")) answers();
    if (!strcmp(way, "unbalanced")) unbalanced();
    if (!strcmp(way, "profiled")) profiled(driver);
    if (!strcmp(way, "freed")) freed();
    if (!strcmp(way, "deep")) deep();
    if (!strcmp(way, "forked")) forked();
    if (!strcmp(way, "threads")) threads();
    if (!strcmp(way, "left_open")) left_open();
    if (!strcmp(way, "open_at_fork")) open_at_fork();
    if (!strcmp(way, "named")) named();
    if (!strcmp(way, "overwritten")) overwritten();
    if (!strcmp(way, "switched")) switched();
    if (!strcmp(way, "many")) many(9000, 2000);
    if (!strcmp(way, "too_many")) many(300000, 40000);
    if (!strcmp(way, "long_names")) long_names();
    return 0;
}
