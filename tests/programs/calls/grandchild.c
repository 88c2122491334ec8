/* A call, a child that only looks something up and forks, and the calls of its child: the names that the first process told must
 * reach the third, over one that has nothing of its own to tell. */
//: exe grandchild -l:libcuda.so.1
#include "fixture.h"
#include <sys/wait.h>

int main(void) {
    int v, status;
    CHECK(cuDriverGetVersion(&v) == 0);
    if (!fork()) {
        CHECK(dlsym(RTLD_DEFAULT, "malloc"));
        if (!fork()) {
            for (int i = 0; i < 5; i++) CHECK(cuDriverGetVersion(&v) == 0 && v == 12090);
            _exit(0);
        }
        CHECK(wait(&status) > 0 && status == 0);
        _exit(0);
    }
    CHECK(wait(&status) > 0 && status == 0);
    puts("ok");
}
