/* SPDX-License-Identifier: PostgreSQL */
/* A page between two that are not mapped. The window lies at its end, or at its beginning, and reaches beyond. */
#include "../tests/instructions/machine.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, UNTOUCHED = 0xa5 };

sigjmp_buf window_fault;

static uint8_t *page;

static void on_fault(int signal)
{
    siglongjmp(window_fault, signal);
}

static void prepare(void)
{
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
    uint8_t *pages = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE) != 0 ||
        sigaction(SIGSEGV, &action, NULL) != 0) {
        perror("instructions: no memory with an edge");
        exit(2);
    }
    page = pages + PAGE;
}

/* Of the n bytes, those from `first` on, before `end`, are there. */
typedef struct part {
    size_t first, end;
} part;

/* As `window` of proofs/instructions/Table.v. */
static part there(uint8_t edge, size_t n)
{
    size_t e = edge % (2 * n + 2);

    return e <= n ? (part){0, e} : (part){e - n - 1, n};
}

static uint8_t *beginning(part in, size_t n)
{
    return in.end < n || in.first == 0 ? page + PAGE - in.end : page - in.first;
}

uint8_t *window_open(uint8_t edge, const uint8_t *memory, size_t n)
{
    part in = there(edge, n);
    uint8_t *p;

    if (page == NULL)
        prepare();
    p = beginning(in, n);
    memset(page, UNTOUCHED, PAGE);
    memcpy(p + in.first, memory + in.first, in.end - in.first);
    return p;
}

/* A store that reaches beyond its own bytes is seen here. */
static void expect_untouched(const uint8_t *from, const uint8_t *to)
{
    for (; from < to; from++)
        if (*from != UNTOUCHED) {
            fprintf(stderr, "instructions: a store changed a byte that is not its own\n");
            exit(3);
        }
}

void window_read(uint8_t edge, uint8_t *memory, size_t n)
{
    part in = there(edge, n);
    const uint8_t *p = beginning(in, n);

    memset(memory, 0, n);
    memcpy(memory + in.first, p + in.first, in.end - in.first);
    expect_untouched(page, p + in.first);
    expect_untouched(p + in.end, page + PAGE);
}
