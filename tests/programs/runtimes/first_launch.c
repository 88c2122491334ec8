/* Launches that are a thread's first call of the runtime: one that is good and one that is refused. Runtimes before 13 do not say
 * their kernel's name, and refuse the second before any driver call is made: nothing has its name, and it must be counted all the same. */
#include "cudart.h"
#include <pthread.h>

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry plain(.param .u64 p)\n{ ret; }\n";
#include "fatbin.h"

static void plain(void) {}

__attribute__((constructor)) static void registers(void) {
    void **handle = __cudaRegisterFatBinary(fat_binary(52));
    __cudaRegisterFunction(handle, (char *)plain, "plain", "plain", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
}

static void *launch(void *threads) {
    void *none = NULL, *arguments[] = { &none };
    int result = CALL(cudaLaunchKernel((void *)plain, (dim3){ 1, 1, 1 }, (dim3){ (size_t)threads, 1, 1 }, arguments, 0, NULL));
    TRUE((result == 0) == ((size_t)threads <= 1024));
    return NULL;
}

int main(void) {
    pthread_t thread;
    OK(cudaFree(NULL));
    launch((void *)32);
    for (size_t threads = 32; threads <= 5000; threads += 4968) {
        pthread_create(&thread, NULL, launch, (void *)threads);
        pthread_join(thread, NULL);
    }
    puts("all is well");
    return 0;
}
