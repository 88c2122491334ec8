/* Functions that start programs, reached by other ways than a plain link: looked up in libc (as ctypes does it), `execveat`, and
 * `posix_spawn` of programs that were linked before glibc 2.15, which runs a script without `#!` by the shell. A child loses cutap, where its
 * LD_PRELOAD is the caller's; or a script is not run. */
//: exe exec_by_other_names -l:libcuda.so.1 -ldl
//: exe exec_of_old -DOLD -l:libcuda.so.1 -ldl
#define _GNU_SOURCE
#include "fixture.h"
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;
/* glibc before 2.34 has none. */
extern int execveat(int, const char *, char *const[], char *const[], int) __attribute__((weak));
#ifdef OLD
__asm__(".symver posix_spawn,posix_spawn@GLIBC_2.2.5\n.symver posix_spawnp,posix_spawnp@GLIBC_2.2.5");
#endif
static char *self, *args[] = {"exec_by_other_names", "child", NULL};
static void *libc;
typedef int Exec(const char *, char *const[], char *const[]);
typedef int Spawn(pid_t *, const char *, const void *, const void *, char *const[], char *const[]);

static int start(int way) {
    int (*at)(int, const char *, char *const[], char *const[], int) = (void *)dlsym(libc, "execveat");
    switch (way) {
    case 0: return execveat ? execveat(AT_FDCWD, self, args, environ, 0) : execve(self, args, environ);
    case 1: return execveat ? execveat(3, "", args, environ, AT_EMPTY_PATH) : execve(self, args, environ);
    case 2: return ((Exec *)dlsym(libc, "execve"))(self, args, environ);
    case 3: return ((Exec *)dlvsym(libc, "execvpe", "GLIBC_2.11"))(self, args, environ);
    case 4: return at ? at(AT_FDCWD, self, args, environ, 0) : execve(self, args, environ);
    }
    return 1;
}
static void ends(pid_t child, int expected) {
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == expected);
}
int main(int count, char **arguments) {
    CHECK(cuInit(0) == 0);
    if (count > 1) return strstr(getenv("LD_PRELOAD"), "libwrap_libc.so") ? 9 : 1;
    char list[4096], script[] = "/tmp/exec_by_other_names-XXXXXX", *slash = strrchr(self = realpath(arguments[0], NULL), '/');
    snprintf(list, sizeof list, "%.*s/libwrap_libc.so", (int)(slash - self), self);
    setenv("LD_PRELOAD", list, 1);
    CHECK((libc = dlopen("libc.so.6", RTLD_LAZY)) && dup2(open("/proc/self/exe", 0), 3) == 3);
    CHECK(dlsym(libc, "execve") == (void *)execve && dlsym(libc, "vfork") == (void *)vfork && dlsym(libc, "no_such") == NULL);
    pid_t child;
    for (int way = 0; way < 5; way++) {
        if ((child = fork()) == 0) start(way), _exit(1);
        ends(child, 9);
        if ((child = vfork()) == 0) start(way), _exit(1);
        ends(child, 9);
    }
    CHECK(!execveat || (execveat(AT_FDCWD, "/nonexistent", args, environ, 0) == -1 && errno == ENOENT));
    CHECK(((Spawn *)dlsym(libc, "posix_spawn"))(&child, self, 0, 0, args, environ) == 0); ends(child, 9);
    int file = mkstemp(script), shell = 0;
    CHECK(write(file, "exit 5\n", 7) == 7 && fchmod(file, 0700) == 0 && close(file) == 0);
#ifdef OLD
    shell = 1;
#endif
    for (int n = 0; n < 4; n++) {
        int (*spawn)() = n % 2 ? posix_spawnp : posix_spawn, error = spawn(&child, script, 0, 0, args, n < 2 ? environ : (char *[]){list, 0});
        CHECK(error == (shell ? 0 : ENOEXEC));
        if (shell) ends(child, 5);
    }
    unlink(script), puts("ok");
}
