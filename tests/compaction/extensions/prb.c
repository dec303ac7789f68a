/* SPDX-License-Identifier: PostgreSQL */
/*
 * prb: the server's own PageRepairFragmentation, callable from SQL on any heap page, and timed beside ours.
 *
 * The server exports the function (src/backend/storage/page/bufpage.c; declared in src/include/storage/bufpage.h), so
 * the dynamic linker binds the name below to it. Its errors are the server's own reports and are not changed. It trusts
 * what it does not check: give it only pages that our checks accept, or refuse for the header, lp_off or total. Any
 * other page can destroy the backend's stack (tests/compaction/prb.py).
 */
#include "abi.h"
#include "pgquern.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCK = 8192, WORK_PAGES = 64, MAX_RACERS = 16 };

void PageRepairFragmentation(void *page);

ABI_MODULE_MAGIC;

/* prb(page bytea) -> bytea: the page after PageRepairFragmentation; exactly 8192 bytes in and out. */
ABI_FUNCTION(prb)
{
    const abi_varlena *in = abi_argument_varlena(call, 0);
    abi_varlena *out;
    void *page;

    if (abi_varlena_size(in) != BLOCK)
        abi_report(ABI_ERROR, ABI_INVALID_PARAMETER, "prb: a page of %zu bytes, not %d", abi_varlena_size(in),
                   BLOCK);
    /* The payload of a bytea is aligned to 4 only; a page in a buffer is aligned to more than 8. */
    page = palloc(BLOCK);
    memcpy(page, in->bytes, BLOCK);
    PageRepairFragmentation(page);
    out = abi_new_varlena(BLOCK);
    memcpy(out->bytes, page, BLOCK);
    return (abi_datum)out;
}

/* ---- prb_time ---- */

typedef struct racer {
    pgq_compaction_fn fn; /* NULL: the server's own */
} racer;

static uint64_t nanoseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static racer find_racer(void *library, const char *name)
{
    const pgq_compaction_variant *variants = dlsym(library, "pgq_compaction_variants");
    const size_t *count = dlsym(library, "pgq_compaction_variant_count");

    if (strcmp(name, "native") == 0)
        return (racer){NULL};
    for (size_t i = 0; variants != NULL && count != NULL && i < *count; i++)
        if (strcmp(variants[i].name, name) == 0 && variants[i].supported())
            return (racer){variants[i].fn};
    abi_report(ABI_ERROR, ABI_INVALID_PARAMETER, "prb_time: no kernel \"%s\" for this CPU in the library",
               name);
    abort(); /* not reached: the report does not return */
}

/* Copies fresh pages into the work area, untimed; then times the calls on them. */
static uint64_t time_group(racer one, const char *pages, size_t n, char *work)
{
    uint64_t began;
    bool refused = false;

    memcpy(work, pages, n * BLOCK);
    began = nanoseconds();
    if (one.fn == NULL)
        for (size_t i = 0; i < n; i++)
            PageRepairFragmentation(work + i * BLOCK);
    else
        for (size_t i = 0; i < n; i++)
            refused |= one.fn(work + i * BLOCK, PG_MAJOR >= 15).code != PGQ_OK;
    began = nanoseconds() - began;
    if (refused)
        abi_report(ABI_ERROR, ABI_DATA_CORRUPTED, "prb_time: a kernel refused one of the pages");
    return began;
}

/*
 * prb_time(pages bytea, library text, kernels text, passes int) -> bytea: how long the server's own function and our
 * kernels take on the same pages, in this process.
 *
 * pages: 8192 bytes each, all acceptable. library: path of libpgquern.so. kernels: names separated by commas, "native"
 * for the server's own; a name may stand twice (the noise floor). Groups of 64 pages are copied and run by one kernel
 * after the other, the first one rotating; a pass shows each page to each kernel once. At any moment each kernel is in
 * another part of the pages: one that had just seen those of another run of the same code would find its branches known.
 * Result: little-endian uint64 nanoseconds of PageRepairFragmentation calls, [passes][kernels].
 */
ABI_FUNCTION(prb_time)
{
    const abi_varlena *pages = abi_argument_varlena(call, 0);
    char *path = abi_cstring(abi_argument_varlena(call, 1));
    char *names = abi_cstring(abi_argument_varlena(call, 2));
    int passes = (int)call->args[3].value;
    size_t n = abi_varlena_size(pages) / BLOCK, racers = 0, groups = (n + WORK_PAGES - 1) / WORK_PAGES;
    racer field[MAX_RACERS];
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    char *work = palloc(WORK_PAGES * BLOCK + 64), *state = NULL;
    abi_varlena *out;
    uint64_t *sums;

    if (library == NULL)
        abi_report(ABI_ERROR, ABI_INVALID_PARAMETER, "prb_time: %s", dlerror());
    if (n == 0 || passes < 1 || passes > 100000 || abi_varlena_size(pages) % BLOCK != 0)
        abi_report(ABI_ERROR, ABI_INVALID_PARAMETER,
                   "prb_time: needs whole pages, at least one, and 1 to 100000 passes");
    for (char *name = strtok_r(names, ",", &state); name != NULL; name = strtok_r(NULL, ",", &state)) {
        if (racers == MAX_RACERS)
            abi_report(ABI_ERROR, ABI_INVALID_PARAMETER, "prb_time: more than %d kernels", MAX_RACERS);
        field[racers++] = find_racer(library, name);
    }
    work += 64 - (uintptr_t)work % 64;
    out = abi_new_varlena((size_t)passes * racers * sizeof(uint64_t));
    sums = palloc((size_t)passes * racers * sizeof(uint64_t));
    memset(sums, 0, (size_t)passes * racers * sizeof(uint64_t));
    for (int pass = 0; pass < passes; pass++)
        for (size_t step = 0; step < groups; step++)
            for (size_t turn = 0; turn < racers; turn++) {
                size_t who = (turn + step + (size_t)pass) % racers;
                size_t at = (step + who * groups / racers) % groups * WORK_PAGES;
                size_t some = n - at < WORK_PAGES ? n - at : WORK_PAGES;

                sums[(size_t)pass * racers + who] +=
                    time_group(field[who], pages->bytes + at * BLOCK, some, work);
            }
    memcpy(out->bytes, sums, (size_t)passes * racers * sizeof(uint64_t));
    return (abi_datum)out;
}
