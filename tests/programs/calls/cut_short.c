/* Threads at full speed, and the process ends in the midst of their calls. Each thread's number of calls that it was about to make stands
 * in the file that argument 1 names. */
//: exe cut_short -l:libcuda.so.1
#include "fixture.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

enum { THREADS = 4 };
static long *begun;

static void *thread(void *number) {
    CUdeviceptr p;
    while (begun) {
        begun[(long)number * 8]++;
        cuMemAlloc_v2(&p, 64);
    }
    return 0;
}
int main(int argc, char **argv) {
    pthread_t t;
    int file = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
    if (argc > 1 && ftruncate(file, 4096)) return 2;
    begun = mmap(0, 4096, PROT_READ | PROT_WRITE, file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, file, 0);
    for (long i = 0; i < THREADS; i++) CHECK(pthread_create(&t, 0, thread, (void *)i) == 0);
    usleep(argc > 1 ? 400000 : 20000);
    puts("ok");
    fflush(stdout);
    _exit(0);
}
