/* The program ends, and a child of it makes a hundred calls in the second after that. What argument 1 has of these letters: the first
 * call was made before the fork (e), the child writes over its environment as a title for ps does (t), may not be looked into (n), has
 * a name that is no text (b), or its first thread ends and another one makes the calls (z). */
//: exe outlives -l:libcuda.so.1
#include "fixture.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>

extern char **environ;

static void *calls(void *unused) {
    usleep(500000);
    for (int i = 0; i < 100; i++, usleep(5000)) CHECK(cuDriverGetVersion(&(int){0}) == 0);
    _exit(0);
    return unused;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    pthread_t thread;
    if (strchr(how, 'e')) CHECK(cuInit(0) == 0);
    if (strchr(how, 't')) {
        static char *moved[1000];
        for (int i = 0; environ[i] && i < 999; i++) moved[i] = strdup(environ[i]), memset(environ[i], ' ', strlen(environ[i]));
        environ = moved;
    }
    if (strchr(how, 'n')) CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
    if (fork()) return 0;
    CHECK(setsid() > 0);
    for (int n = 0; n < 3; n++) CHECK(dup2(open("/dev/null", O_RDWR), n) == n);
    if (strchr(how, 'b')) CHECK(prctl(PR_SET_NAME, "\xff\xfe") == 0);
    if (!strchr(how, 'z')) calls(0);
    CHECK(pthread_create(&thread, 0, calls, 0) == 0);
    pthread_exit(0);
}
