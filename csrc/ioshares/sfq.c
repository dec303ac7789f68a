/* SPDX-License-Identifier: PostgreSQL */
/* Start-time fair queueing: the class with the least tag, less its warp, goes first. */
#include "ioshares/scheduler.h"

#include "common/holds.h"

/* Only differences between tags matter. A class that lies behind the virtual time would start at it anyway. */
static void rebase(pgq_ioshares *s)
{
    for (uint32_t i = 0; i < s->class_count; i++)
        s->flows[i].tag = lead_of(s, &s->flows[i]);
    s->virtual_time = 0;
}

static uint32_t choose(pgq_ioshares *s)
{
    uint32_t chosen = 0;
    uint64_t least = UINT64_MAX, least_tag = UINT64_MAX;

    for (uint32_t left = s->backlogged; left != 0; left = without_lowest(left)) {
        const flow *f = &s->flows[lowest(left)];

        /* The tag less the warp, but never below 0. */
        if (f->tag + f->handicap < least) {
            least = f->tag + f->handicap;
            chosen = lowest(left);
        }
        least_tag = f->tag < least_tag ? f->tag : least_tag;
    }
    HOLDS(s->backlogged != 0 && least_tag >= s->virtual_time); /* it never goes back */
    s->virtual_time = least_tag;
    s->flows[chosen].tag += s->flows[chosen].factor * cost_of(s, first_of(&s->flows[chosen]));
    HOLDS(s->flows[chosen].tag <= 4 * REBASE); /* above, a sum of tags could exceed 64 bits */
    if (s->virtual_time >= REBASE)
        rebase(s);
    return chosen;
}

pgq_status pgq_ioshares_sfq(void *memory, size_t bytes, const pgq_ioshares_config *config,
                            pgq_ioshares **scheduler)
{
    return pgq_ioshares_make(memory, bytes, config, choose, scheduler);
}
