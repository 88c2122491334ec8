/* Fills 4 KiB, which is kept, and what lies behind it. */
#include "../../runtimes/cudart.h"

int main(void) {
    char *p;
    OK(cudaMalloc((void **)&p, 4096));
    printf("%d\n", cudaMemset(p, 0, 4096));
    printf("%d\n", cudaMemset(p + 4096, 0, 4096));
    return 0;
}
