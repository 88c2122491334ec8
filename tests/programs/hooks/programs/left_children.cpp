/* Allocations, and an end where one throws. */
#include "fixture.h"
#include <unistd.h>

int main() {
    CUdeviceptr p;
    for (int i = 0; i < 50; i++) {
        try {
            CHECK(cuMemAlloc_v2(&p, 64) == 0);
        } catch (int) {
            _exit(0);
        }
    }
    printf("allocated\n");
}
