/* 300 forks while threads look symbols up, and in the second program also open and close; each child looks up and calls too, and in the
 * third opens a library. A child that inherits a lock in a taken state hangs: it is then ended by its alarm, and the parent says so. dlopen and dlclose hold
 * the lock that dl_iterate_phdr takes and dlsym does not: without us no child hangs in any of them. */
//: lib libforked.so -DLIBRARY -l:libcuda.so.1
//: exe fork_while_lookup -DOTHERS=looks_up -l:libcuda.so.1
//: exe fork_while_open -DOTHERS=opens -l:libcuda.so.1
//: exe fork_then_open -DOTHERS=looks_up -DCHILD_OPENS -l:libcuda.so.1
#include "fixture.h"
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

int work(void);
#ifdef LIBRARY
int work(void) { return cuMemFree_v2(1); }
#else
static int stop;

static CUresult look_up_and_call(void) {
    int v;
    CUresult (*f)(int *) = (CUresult (*)(int *))dlsym(RTLD_DEFAULT, "cuDriverGetVersion");
    return !f || f(&v) || v != 12090;
}
void *looks_up(void *unused) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        CHECK(look_up_and_call() == 0);
        usleep(10); /* the trace stays of a size that a test can read */
    }
    return unused;
}
void *opens(void *unused) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        void *h = dlopen("libforked.so", RTLD_LAZY | RTLD_LOCAL);
        CHECK(h && ((int (*)(void))dlsym(h, "work"))() == 0 && dlclose(h) == 0);
        usleep(10);
    }
    return unused;
}
int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++) CHECK(pthread_create(&t[i], 0, i ? OTHERS : looks_up, 0) == 0);
    for (int i = 0, status; i < 300; i++) {
        pid_t child = fork();
        if (!child) {
            alarm(5);
#ifdef CHILD_OPENS
            void *h = dlopen("libforked.so", RTLD_NOW | RTLD_LOCAL);
            CHECK(h && ((int (*)(void))dlsym(h, "work"))() == 0);
#endif
            _exit(look_up_and_call() || cuInit(0));
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK(!(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)); /* the child hung */
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    CHECK(fixture_count("cuInit") == 300);
    puts("ok");
}
#endif
