/* The version, asked by a process and by its forked child. */
#include "fixture.h"
#include <sys/wait.h>
#include <unistd.h>

static void ask(const char *who) {
    int version = 0;
    CHECK(cuDriverGetVersion(&version) == 0);
    printf("%s %d\n", who, version);
    fflush(stdout);
}
int main(void) {
    ask("parent");
    pid_t child = fork();
    if (child == 0) {
        ask("child");
        _exit(0);
    }
    return waitpid(child, 0, 0) != child;
}
