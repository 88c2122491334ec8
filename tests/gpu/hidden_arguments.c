/* Prints the six argument words of each hidden call, the memory that they lead to before and after, and the result: the
 * raw material for signatures in api/export-tables. HIDDEN_ARGUMENTS names the file, HIDDEN_WANTED the functions (a list
 * with spaces, such as "da9151d3[1] 69a28e9f[19]"). At most 40 calls of each are printed. Calls inside one another show the memory of the inner one.
 *
 *   cutap hook-header >cutap_hook.h; gcc -shared -fPIC -I. hidden_arguments.c -o hidden_arguments.so
 *   HIDDEN_ARGUMENTS=out HIDDEN_WANTED="da9151d3[1]" cutap run --hook ./hidden_arguments.so PROGRAM */
#define _GNU_SOURCE
#include "cutap_hook.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST 40
static int out = -1;
static struct { char name[32]; int calls; } wanted[64];
static int names;
static __thread unsigned char before[6][32];
static __thread int read_before[6];

static int copy(unsigned char *to, uint64_t from) {
    struct iovec here = {to, 32}, there = {(void *)(uintptr_t)from, 32};
    return from > 65536 && process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 32;
}

static void line(const char *format, ...) {
    char text[256];
    va_list words;
    va_start(words, format);
    int length = vsnprintf(text, sizeof text, format, words);
    va_end(words);
    if (length > 0 && write(out, text, (size_t)length) < 0) out = -1;
}

static void bytes(const char *when, int n, const unsigned char *at) {
    char text[80] = "";
    for (int k = 0; k < 32; k++) snprintf(text + strlen(text), sizeof text - strlen(text), k % 8 ? "%02x" : " %02x", at[k]);
    line("    %s %d:%s\n", when, n, text);
}

static void enter(struct cutap_call *call) {
    for (int n = 0; n < 6; n++) read_before[n] = copy(before[n], cutap_raw_arg(call, n));
}

static void leave(struct cutap_call *call) {
    const char *name = call->function->name;
    int which = 0;
    while (which < names && strcmp(wanted[which].name, name)) which++;
    if (which == names || wanted[which].calls++ >= MOST) return;
    line("%s(", name);
    for (int n = 0; n < 6; n++) line("%s0x%llx", n ? ", " : "", (unsigned long long)cutap_raw_arg(call, n));
    line(") = 0x%llx\n", (unsigned long long)cutap_result(call));
    for (int n = 0; n < 6; n++) {
        unsigned char after[32];
        if (!read_before[n]) continue;
        bytes("before", n, before[n]);
        if (copy(after, cutap_raw_arg(call, n)) && memcmp(after, before[n], 32)) bytes("after ", n, after);
    }
}

CUTAP_HOOK {
    const char *file = cutap_environment("HIDDEN_ARGUMENTS"), *list = cutap_environment("HIDDEN_WANTED");
    if (!file || !list) return 1;
    out = open(file, O_WRONLY | O_CREAT | O_APPEND, 0644);
    while (*list && names < 64) {
        size_t length = strcspn(list, " ");
        if (length && length < sizeof wanted[0].name) {
            memcpy(wanted[names].name, list, length);
            if (cutap_register(CUTAP_HIDDEN, wanted[names].name, enter, leave)) return 1;
            names++;
        }
        list += length + (list[length] == ' ');
    }
    return 0;
}
