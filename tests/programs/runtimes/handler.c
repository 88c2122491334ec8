/* A timer whose handler asks for the device, as profilers' do, while the program asks for it itself: nobody may wait for himself. */
#define _GNU_SOURCE
#include "cudart.h"
#include <signal.h>
#include <sys/time.h>
#include <time.h>

static volatile unsigned long asked;

static void handler(int unused) {
    int device = -1;
    if (cudaGetDevice(&device) || device != 0) abort();
    asked++;
}

int main(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 200}, {0, 200}}, never = {};
    struct timespec now, begin;
    int device;
    if (cudaFree(0) || cudaGetDevice(&device)) return 1;
    sigaction(SIGALRM, &action, 0);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    setitimer(ITIMER_REAL, &often, 0);
    do {
        for (int i = 0; i < 1000; i++)
            if (cudaGetDevice(&device) || device != 0) return 2;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begin.tv_sec + (now.tv_nsec - begin.tv_nsec) / 1e9 < 0.3 || asked < 50);
    setitimer(ITIMER_REAL, &never, 0);
    puts("ok");
}
