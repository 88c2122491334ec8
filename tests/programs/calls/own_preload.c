/* Programs that are started with an LD_PRELOAD of the caller's: cutap must be in it too, by each function that starts a program,
 * after fork and after vfork, and where the environment cannot be written. A caller that removes the variable gets
 * what it wants. Arguments that cannot be read are the kernel's to refuse. */
//: exe own_preload -l:libcuda.so.1
#include "fixture.h"
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

extern char **environ;
static char *self, **fresh;
static char *args[] = {"own_preload", "child", NULL};

static void start(int how) {
    switch (how) {
    case 0: execve(self, args, fresh); return;
    case 1: execvpe(self, args, fresh); return;
    case 2: fexecve(3, args, fresh); return;
    case 3: execle(self, args[0], "child", "2", "3", "4", "5", "6", "7", NULL, fresh); return;
    case 4: execv(self, args); return;
    case 5: execvp(self, args); return;
    case 6: execl(self, args[0], "child", NULL); return;
    case 7: execlp(self, args[0], "child", "2", "3", "4", "5", NULL); return;
    }
}

static void child_is_fine(pid_t child) {
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 9);
}

int main(int count, char **arguments) {
    CHECK(cuInit(0) == 0);
    if (count > 1) return strstr(getenv("LD_PRELOAD"), "libwrap_libc.so") && (count == 2 || !strcmp(arguments[count - 1], count == 8 ? "7" : "5")) ? 9 : 1;
    char list[4096], *slash = strrchr(self = realpath(arguments[0], NULL), '/');
    snprintf(list, sizeof list, "%.*s/libwrap_libc.so", (int)(slash - self), self);
    setenv("LD_PRELOAD", list, 1);
    int words = 0;
    while (environ[words]) words++;
    /* In pages that can only be read. */
    fresh = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(fresh, environ, (words + 1) * sizeof *fresh);
    CHECK(mprotect(fresh, 65536, PROT_READ) == 0 && dup2(open("/proc/self/exe", 0), 3) == 3);
    pid_t child;
    for (int how = 0; how < 8; how++) {
        if ((child = fork()) == 0) start(how), _exit(1);
        child_is_fine(child);
        if ((child = vfork()) == 0) start(how), _exit(1);
        child_is_fine(child);
    }
    CHECK(posix_spawn(&child, self, NULL, NULL, args, fresh) == 0); child_is_fine(child);
    CHECK(posix_spawnp(&child, self, NULL, NULL, args, environ) == 0); child_is_fine(child);
    CHECK(posix_spawn(&child, "/nonexistent", NULL, NULL, args, fresh) == ENOENT);
    CHECK(execve("/nonexistent", args, fresh) == -1 && errno == ENOENT && execv("/nonexistent", args) == -1 && errno == ENOENT);
    char **volatile wrong = (char **)16;
    CHECK(execve(self, args, wrong) == -1 && errno == EFAULT && execle(self, "a", NULL, wrong) == -1 && errno == EFAULT);
    puts("ok");
}
