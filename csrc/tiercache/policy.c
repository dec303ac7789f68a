/* SPDX-License-Identifier: PostgreSQL */
#include "tiercache/policy.h"

#include "common/outcome.h"

#include <string.h>

bool pgq_tiercache_policy_make(policy *p, const policy_calls *calls, uint32_t n)
{
    size_t all = 2 * (size_t)n + 1; /* n may be 0 */

    memset(p, 0, sizeof *p);
    p->calls = calls;
    p->n = p->holds = n;
    p->caution = 2 * n;
    for (unsigned q = 0; q < QUEUES; q++)
        p->queues[q] = (queue){TABLE_NONE, TABLE_NONE, 0};
    p->newer = malloc(all * sizeof *p->newer);
    p->older = malloc(all * sizeof *p->older);
    p->pages = calloc(all, sizeof *p->pages);
    p->queue_of = malloc(all);
    p->hits = malloc(all);
    p->free_ghost = n;
    p->spare_ghost = TABLE_NONE;
    bool counts = sketch_make(&p->counts, n);

    return table_make(&p->ghosts, n) && counts && p->newer != NULL && p->older != NULL && p->pages != NULL &&
           p->queue_of != NULL && p->hits != NULL;
}

void pgq_tiercache_policy_free(policy *p)
{
    free(p->newer);
    free(p->older);
    free(p->pages);
    free(p->queue_of);
    free(p->hits);
    free(p->ghosts.entries);
    sketch_free(&p->counts);
}

/* A cache without contents: pages come, are hit, and make room. */
static pgq_status replay(policy *p, table *where, const uint64_t pages[], size_t n, uint64_t *hits)
{
    uint32_t used = 0;
    uint64_t found = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t entry = table_get(where, pages[i]);

        if (entry != TABLE_NONE) {
            p->calls->hit(p, entry);
            found++;
            continue;
        }
        if (used < p->n) {
            entry = used++;
        } else {
            entry = p->calls->victim(p);
            table_remove(where, p->pages[entry]);
            p->calls->remove(p, entry, true);
        }
        table_put(where, pages[i], entry);
        p->calls->insert(p, entry, pages[i]);
    }
    *hits = found;
    return accepted();
}

pgq_status pgq_tiercache_policy_replay(const policy_calls *calls, const uint64_t pages[], size_t n,
                                       uint32_t frames, uint64_t *hits)
{
    policy p;
    table where;

    if (pages == NULL || hits == NULL)
        return refused(PGQ_NULL, 0);
    if (frames < 1 || frames > (uint32_t)1 << 28)
        return refused(PGQ_TIERCACHE_OPTIONS, 0);
    bool made = pgq_tiercache_policy_make(&p, calls, frames);
    made = table_make(&where, frames) && made;
    pgq_status status = made ? replay(&p, &where, pages, n, hits) : refused(PGQ_MEMORY, 0);
    pgq_tiercache_policy_free(&p);
    free(where.entries);
    return status;
}
