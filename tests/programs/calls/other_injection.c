/* An injection of the user: it must be loaded beside that of cutap. */
//: lib libother_injection.so
#include <stdio.h>
int InitializeInjection(void) {
    printf("other injection\n");
    return 1;
}
