/* The constructor of a library that is being opened waits for a thread, and that thread's call goes through a word that is not
 * bound yet. The loader binds such a word without the lock that dlopen holds, and so must we: not hang. */
//: lib libwaits.so -DLIBRARY
//: exe constructor_waits -Wl,-z,lazy -rdynamic -l:libcuda.so.1
#include "fixture.h"
#include <pthread.h>

void work(void);
#ifdef LIBRARY
static void *thread(void *unused) {
    work();
    return unused;
}
__attribute__((constructor)) static void waits(void) {
    pthread_t t;
    CHECK(pthread_create(&t, 0, thread, 0) == 0 && pthread_join(t, 0) == 0);
}
#else
void work(void) {
    int v;
    CHECK(cuDriverGetVersion(&v) == 0 && v == 12090);
}
int main(void) {
    CHECK(dlopen("libwaits.so", RTLD_NOW));
    CHECK(dlsym(RTLD_DEFAULT, "free")); /* a look-up, after which the word is ours */
    work();
    puts("ok");
}
#endif
