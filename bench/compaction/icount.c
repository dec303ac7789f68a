/* SPDX-License-Identifier: PostgreSQL */
/* What is counted for compaction: one PageRepairFragmentation. SHAPE: N LEN_MIN LEN_MAX LIVE presorted|random. */
#include "icount/subject.h"
#include "pages.h"
#include "pgquern.h"

#include <stdlib.h>
#include <string.h>

SUBJECT_KIND(compaction)

static pgq_compaction_fn kernel;
static page_shape shape;
static uint64_t state = PAGES_FIRST_STATE;
static _Alignas(4096) uint8_t page[PAGE_SIZE];

bool subject_choose(const char *variant, int words, char **argv)
{
    kernel = subject_find_compaction(variant);
    if (words != 5 || kernel == NULL)
        return false;
    shape = (page_shape){atoi(argv[0]), atoi(argv[1]), atoi(argv[2]), atoi(argv[3]),
                         strcmp(argv[4], "random") == 0};
    return make_pages(page, 0, &shape, &state);
}

bool subject_warm_up(void)
{
    subject_next();
    return kernel(page, true).code == PGQ_OK;
}

void subject_next(void)
{
    make_pages(page, 1, &shape, &state);
}

__attribute__((noinline)) bool counted_call(void)
{
    pgq_code code = kernel(page, true).code;

    __asm__ volatile("" ::: "memory");
    return code == PGQ_OK;
}
