/* Children that are forked while other threads of a fresh process make their first calls. The child makes its own first
 * calls. It is killed by an alarm if it waits for a thread that it does not have. */
#include "check.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static P cuda, nvml;
static volatile int go;

static void calls(void) {
    int number;
    const char *text;
    U set;
    ((int (*)())dlsym(cuda, "cuDriverGetVersion"))(&number);
    ((int (*)())dlsym(cuda, "cuGetErrorString"))(2, &text);
    ((int (*)())dlsym(nvml, "nvmlInit_v2"))();
    ((int (*)())dlsym(nvml, "nvmlSystemGetCudaDriverVersion"))(&number);
    for (int i = 0; i < 20; i++) {
        ((int (*)())dlsym(nvml, "nvmlEventSetCreate"))(&set);
        ((int (*)())dlsym(nvml, "nvmlEventSetFree"))(set);
    }
    if (((int (*)())dlsym(cuda, "cuInit"))(0)) return;
    ((int (*)())dlsym(cuda, "cuDeviceGetCount"))(&number);
}

static void *thread(void *unused) {
    while (!go) ;
    calls();
    return unused;
}

static int waited(pid_t child) {
    int status = 0;
    return waitpid(child, &status, 0) == child ? status : -1;
}

/* How a child is made: by libc, by libc without its handlers, by the kernel. Locks of libc itself are in order only after
 * the first way, so the others need threads that hold none. */
static pid_t forked(int how) {
    pid_t (*without)(void) = dlsym(RTLD_DEFAULT, "_Fork");
    if (how == 1 && without) return without();
    return how == 2 ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
}

/* A fresh process with threads, and its child. */
static void family(unsigned delay) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, thread, NULL);
    go = 1;
    for (volatile unsigned i = 0; i < delay; i++) ;
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        calls();
        _exit(0);
    }
    int status = waited(child);
    if (status) fprintf(stderr, "a child ends with %x\n", status);
    _exit(status != 0);
}

/* The first call writes a message to a full pipe, so its thread waits there. A child has another standard error. */
static void blocked(int how) {
    int ends[2];
    TRUE(pipe(ends) == 0);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    char bytes[4096] = { 0 };
    while (write(ends[1], bytes, sizeof bytes) > 0) ;
    fcntl(ends[1], F_SETFL, 0);
    int saved = dup(2);
    dup2(ends[1], 2);
    setenv("CUTAP_SIM_DEVICES", "no number", 1);
    pthread_t one;
    go = 1;
    pthread_create(&one, NULL, thread, NULL);
    usleep(100000);
    dup2(saved, 2);
    pid_t child = forked(how);
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), 2); /* the other library has its own message */
        alarm(20);
        calls();
        _exit(0);
    }
    int status = waited(child);
    if (status) fprintf(stderr, "a child that was forked as %d during a message ends with %x\n", how, status);
    _exit(status != 0);
}

int main(int count, char **words) {
    cuda = dlopen("libcuda.so.1", RTLD_NOW), nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    int bad = 0;
    for (int i = 0; i < atoi(words[1]); i++) {
        pid_t process = fork();
        if (process == 0) i < 3 ? blocked(i) : family(37u * (i * i % 1009));
        bad += waited(process) != 0;
    }
    if (bad) return fprintf(stderr, "%d children did not end as they should\n", bad), 1;
    puts("all is well");
    return 0;
}
