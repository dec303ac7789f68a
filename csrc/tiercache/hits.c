/* SPDX-License-Identifier: PostgreSQL */
#include "tiercache/internal.h"

void pgq_tiercache_tell_hit(pgq_tiercache *c, hit h)
{
    c->counts.memory_hits++;
    if (readers_has(&c->readers, h.frame, h.page))
        touch_frame(c, h.frame);
}

void pgq_tiercache_tell_hits(pgq_tiercache *c)
{
    for (stripe *s = c->hits; s < c->hits + STRIPES; s++) {
        uint32_t noted = __atomic_load_n(&s->noted, __ATOMIC_ACQUIRE), told = s->told;

        if (told == noted)
            continue;
        for (; told != noted; told++)
            pgq_tiercache_tell_hit(c, s->of[told % NOTED]);
        __atomic_store_n(&s->told, told, __ATOMIC_RELEASE);
    }
}
