// A program for musl, whose loader passes nothing to constructors: a preload made for glibc crashed it before main. The names that
// cutap exports (dlsym, dladdr, vfork) must do as musl's own do, also the first caller of each, and where they fail.
// passes LIBRARY COMMAND: opens the library, and runs the command by vfork, posix_spawn, system and fork, in a thread too.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char *command;
static __thread int mine = 5;
static int fails;
#define CHECK(x) ((x) ? 0 : (fails++, printf("line %d: %s\n", __LINE__, #x)))
int which(void) { return 1; } // the library has one too: RTLD_NEXT

static int code(pid_t pid) {
    int status = -1;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
static void by_vfork(const char *path, int expected) {
    pid_t pid = vfork();
    if (pid == 0) {
        execl(path, "sh", "-c", command, (char *)0);
        _exit(44);
    }
    CHECK(pid > 0 && code(pid) == expected);
}
static void *in_thread(void *p) {
    mine += *(int *)p;
    by_vfork("/bin/sh", 3);
    return dlsym(RTLD_DEFAULT, "puts") == (void *)puts ? p : 0;
}

int main(int argc, char **argv) {
    void *result, *library;
    pthread_t thread;
    pid_t pid; Dl_info info;
    CHECK(argc == 3 && !strcmp(argv[0] + strlen(argv[0]) - 6, "passes") && getenv("CUTAP_TEST"));
    command = argv[2];
    CHECK(dlsym(RTLD_NEXT, "which") && ((int (*)(void))dlsym(RTLD_NEXT, "which"))() == 2);
    CHECK((library = dlopen(argv[1], RTLD_NOW)) && ((int (*)(void))dlsym(library, "which"))() == 3);
    CHECK(!dlsym(library, "nowhere") && strstr(dlerror(), "nowhere") && !dlopen("./nowhere.so", RTLD_NOW) && dlerror());
    CHECK(dladdr((void *)puts, &info) && !strcmp(info.dli_sname, "puts") && !dladdr(&info, &info));
    by_vfork("/nowhere", 44);
    CHECK(!pthread_create(&thread, 0, in_thread, &argc) && !pthread_join(thread, &result) && result == &argc && mine == 5);
    CHECK(!posix_spawn(&pid, "/bin/sh", 0, 0, (char *[]){"sh", "-c", command, 0}, environ) && code(pid) == 3);
    CHECK(WEXITSTATUS(system(command)) == 3);
    if ((pid = fork()) == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)0);
        _exit(44);
    }
    CHECK(pid > 0 && code(pid) == 3);
    puts(fails ? "wrong" : "ok");
    return fails ? 1 : 7;
}
