/* A thread takes the right to read a page away and gives it back, while others give the page's address to a call that does not look
 * at it: whoever reads the page after asking whether it can be read faults. */
//: exe protected_meanwhile -l:libcuda.so.1 -lpthread
#include "fixture.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

static char *page;
static atomic_int over;

static void *toggle(void *unused) {
    while (!over) {
        CHECK(mprotect(page, 4096, PROT_NONE) == 0);
        CHECK(mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
    }
    return unused;
}

static void *call(void *unused) {
    for (int i = 0; i < 20000; i++) CHECK(cuLaunchKernel(0, 0, 1, 1, 1, 1, 1, 0, 0, 0, (void **)page) != 0);
    return unused;
}

int main(void) {
    page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    pthread_t toggling, calling[2];
    CHECK(pthread_create(&toggling, 0, toggle, 0) == 0);
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&calling[i], 0, call, 0) == 0);
    for (int i = 0; i < 2; i++) CHECK(pthread_join(calling[i], 0) == 0);
    over = 1;
    CHECK(pthread_join(toggling, 0) == 0);
    puts("ok");
}
