/* Gives the number of the standard input to its own file, writes and takes it away again, while threads that make their first calls come and
 * go: whoever opens a file of its own in them gets that number, and must neither write to the program's file nor believe that the number is
 * still its own. Then forked children must have no descriptor that their parent has not. */
//: exe reused_numbers -l:libcuda.so.1 -pthread
#include "fixture.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int over;
static void *caller(void *unused) {
    int v;
    CHECK(cuDriverGetVersion(&v) == 0);
    return unused;
}
static void *callers(void *unused) {
    pthread_t t[8];
    while (!over) {
        for (int i = 0; i < 8; i++) CHECK(pthread_create(&t[i], 0, caller, 0) == 0);
        for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
    }
    return unused;
}
static int descriptors(void) {
    int found = 0;
    for (int n = 0; n < 64; n++) found += fcntl(n, F_GETFD) >= 0;
    return found;
}
int main(void) {
    enum { OWN = 50, CHILDREN = 200 };
    char name[] = "/tmp/cutap-reused-XXXXXX";
    int made = mkstemp(name), v;
    CHECK(made >= 0 && unlink(name) == 0 && dup2(made, OWN) == OWN && close(made) == 0);
    CHECK(cuDriverGetVersion(&v) == 0 && close(0) == 0);
    int before = descriptors();
    pthread_t makers[2];
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&makers[i], 0, callers, 0) == 0);
    long written = 0, more = 0;
    for (time_t end = time(0) + 3; time(0) < end;) {
        dup2(OWN, 0);
        for (volatile int i = 0; i < 300; i++) {}
        if (write(0, "x", 1) == 1) written++;
        close(0);
        for (volatile int i = 0; i < 3000; i++) {}
    }
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0) {
            _exit(descriptors() - before);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        more += WEXITSTATUS(status);
    }
    over = 1;
    for (int i = 0; i < 2; i++) pthread_join(makers[i], 0);
    struct stat s;
    CHECK(fstat(OWN, &s) == 0);
    static char all[1 << 16];
    long others = 0;
    for (long at = 0, n; (n = pread(OWN, all, sizeof all, at)) > 0; at += n)
        for (long i = 0; i < n; i++) others += all[i] != 'x';
    /* A number that another thread's open has just taken is busy, so some may be lost; but none of another's may be there. */
    if (others || s.st_size > written || more > CHILDREN / 40)
        printf("%ld of %ld written, %ld foreign bytes, %ld descriptors more\n", (long)s.st_size, written, others, more), exit(1);
    puts("ok");
    return 0;
}
