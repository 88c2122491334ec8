/* backtrace() and the unwinder, in a callback inside a traced call: both find the way through our frames to main. Also the program
 * that gdb is asked about. */
//: exe backtrace -fexceptions -rdynamic -l:libcuda.so.1
#include "fixture.h"
#include <execinfo.h>
#include <unwind.h>

void in_callback(void *data);
static int reached_main(void **frames, int n) {
    Dl_info who;
    for (int i = 0; i < n; i++)
        if (dladdr(frames[i], &who) && who.dli_sname && !strcmp(who.dli_sname, "main")) return 1;
    return 0;
}
struct trace { void *frames[64]; int n; };
static _Unwind_Reason_Code step(struct _Unwind_Context *c, void *data) {
    struct trace *t = data;
    if (t->n < 64) t->frames[t->n++] = (void *)_Unwind_GetIP(c);
    return _URC_NO_REASON;
}
__attribute__((noinline)) void in_callback(void *data) {
    struct trace *a = data, b = {.n = 0};
    a->n = backtrace(a->frames, 64);
    _Unwind_Backtrace(step, &b);
    CHECK(reached_main(a->frames, a->n) && reached_main(b.frames, b.n));
}
int main(void) {
    struct trace t;
    CHECK(cuFixtureCall(in_callback, &t) == 0);
    puts("ok");
}
