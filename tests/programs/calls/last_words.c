/* Calls at the very end: in atexit handlers, in destructors of thread-specific data and of libraries. */
//: lib liblast.so -DLIBRARY -l:libcuda.so.1
//: exe last_words -l:liblast.so -l:libcuda.so.1
#include "fixture.h"
#include <pthread.h>

#ifdef LIBRARY
__attribute__((destructor)) static void end(void) { CHECK(cuMemFree_v2(1) == 0); }
#else
static void at_exit(void) { CHECK(cuStreamSynchronize(0) == 0); }
static void of_thread(void *v) { CHECK(cuDriverGetVersion(v) == 0); }
static void *thread(void *key) { static int v; pthread_setspecific(*(pthread_key_t *)key, &v); return 0; }

int main(void) {
    pthread_key_t key;
    pthread_t t;
    CHECK(cuInit(0) == 0 && atexit(at_exit) == 0 && pthread_key_create(&key, of_thread) == 0);
    CHECK(pthread_create(&t, 0, thread, &key) == 0 && pthread_join(t, 0) == 0);
    puts("ok");
}
#endif
