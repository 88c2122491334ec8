/* Calls of libraries with arguments of every kind, in registers and on the stack; says what came back. */
#include "fixture.h"

int main(void) {
    float x = 2, y = 3, out = 0;
    double dx = 2, dy = 3, dout = 0;
    int code = curandGenerateNormal(&x, &out, 5, 1.5f, 0.25f);
    printf("normal %d %g\n", code, out);
    code = curandGenerateNormalDouble(&x, &dout, 6, -1.5, 0.125);
    printf("normal double %d %g\n", code, dout);
    code = cublasSgemm_v2(&x, 0, 1, 1, 2, 3, &x, &x, 4, &y, 5, &y, &out, -6);
    printf("gemm %d %g\n", code, out);
    for (int n = -1; n <= 0; n++) {
        printf("dot %g\n", cublasSdot(n, &x, -7, &y, 8));
        printf("double dot %g\n", cublasDdot(n, &dx, -7, &dy, 8));
    }
    struct two_words w = curandFixtureTwoWords(11, -12);
    printf("words %ld %ld\n", w.a, w.b);
    return 0;
}
