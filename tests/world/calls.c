/* SPDX-License-Identifier: PostgreSQL */
#include "../tests/world/calls.h"

#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 4, CHAINS = 4096 };

typedef struct chain {
    const char *what;
    uintptr_t callers[DEPTH];
    unsigned long long ends[CALL_ENDS];
    bool may_be_short;
} chain;

static chain chains[CHAINS];
extern const char __executable_start, etext; /* of the linker */

/* The chain ends where the program's own code does: what the C library keeps in the frame's register is no frame. */
static void walk(void *const *frame, uintptr_t callers[])
{
    for (int i = 0; i < DEPTH; i++) {
        uintptr_t caller = (uintptr_t)frame[1];

        if (caller < (uintptr_t)&__executable_start || caller >= (uintptr_t)&etext)
            return;
        callers[i] = caller;
        frame = frame[0];
    }
}

static chain *find(const char *what, const uintptr_t callers[])
{
    uintptr_t hash = 0;

    for (int i = 0; i < DEPTH; i++)
        hash = (hash ^ callers[i]) * UINT64_C(0x9e3779b97f4a7c15) >> 7;
    for (unsigned i = 0; i < CHAINS; i++) {
        chain *c = &chains[(hash + i) % CHAINS];

        if (c->what == NULL) {
            c->what = what;
            memcpy(c->callers, callers, sizeof c->callers);
        }
        if (strcmp(c->what, what) == 0 && memcmp(c->callers, callers, sizeof c->callers) == 0)
            return c;
    }
    abort();
}

void world_call(const char *what, void *const *frame, call_end end, bool may_be_short)
{
    uintptr_t callers[DEPTH] = {0};

    walk(frame, callers);
    chain *c = find(what, callers);
    c->ends[end]++;
    c->may_be_short |= may_be_short;
}

static int first_object(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    memcpy(base, &info->dlpi_addr, sizeof info->dlpi_addr);
    return 1;
}

/* An address before the one that a call returns to is in the call. */
static void print(const chain *c, uintptr_t base)
{
    unsigned long long made = 0;

    for (int i = 0; i < CALL_ENDS; i++)
        made += c->ends[i];
    printf("call %s %llu %llu %llu ", c->what, made, c->ends[CALL_FAILED], c->ends[CALL_CUT]);
    if (c->may_be_short)
        printf("%llu ", c->ends[CALL_INTERRUPTED]);
    else
        printf("- ");
    for (int i = 0; i < DEPTH && c->callers[i] != 0; i++)
        printf("%s%llx", i > 0 ? "," : "", (unsigned long long)(c->callers[i] - 1 - base));
    putchar('\n');
}

void world_print_calls(void)
{
    uintptr_t base = 0;

    dl_iterate_phdr(first_object, &base);
    for (unsigned i = 0; i < CHAINS; i++)
        if (chains[i].what != NULL)
            print(&chains[i], base);
}
