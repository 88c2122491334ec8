/* Floats and doubles in registers and on the stack, as arguments, in varargs and as results. */
//: exe floats -Wl,-z,lazy -l:libcuda.so.1 -l:libcurand.so.10
#include "fixture.h"

int main(void) {
    for (int i = 0; i < 2; i++) {
        double sum = 0;
        CHECK(cuFixtureFloats(&sum, 0.5f, 1.5, 3, 2.5f, 3.5, 4.5, 5.5, 6.5, 9, 7.5f, 8.5) == 0);
        CHECK(sum == 0.5 + 2 * 1.5 + 3 * 3 + 4 * 2.5 + 5 * 3.5 + 6 * 4.5 + 7 * 5.5 + 8 * 6.5 + 9 * 9 + 10 * 7.5 + 11 * 8.5);
        CHECK(curandFixtureDouble(0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5) == 0.5 + 3 + 7.5 + 14 + 22.5 + 33 + 45.5 + 60 + 76.5);
        CHECK(curandFixtureSum(&sum, "idid", 1, 0.5, 2, 0.25) == 0 && sum == 3.75);
        CHECK(curandFixtureSum(&sum, "iiiiiidddddddddd", 1, 2, 3, 4, 5, 6, .5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5) == 0 && sum == 71);
        CHECK(curandFixtureSum(&sum, "") == 0 && sum == 0);
        struct two_doubles d = curandFixtureTwoDoubles(1.5, 2.5);
        CHECK(d.a == 2.5 && d.b == 1.5);
        struct word_and_double m = curandFixtureMixed(41, 1.5);
        CHECK(m.a == 42 && m.b == 2.5);
    }
    puts("ok");
}
