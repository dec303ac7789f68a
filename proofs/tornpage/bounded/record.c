/* SPDX-License-Identifier: PostgreSQL */
/* Which heads of records are let through: those whose payload lies on a page that there is. */
#include "bounded.h"
#include "tornpage/log.c"

void proof(void)
{
    static store s;
    record r = {.length = nondet_u32(), .page = nondet_u32(), .offset = nondet_u16(), .kind = nondet_u16()};
    uint64_t end = (uint64_t)r.offset + r.length;
    bool sane;

    s.config.block_size = nondet_u32(), s.config.pages = nondet_u32();
    assume(s.config.block_size <= 32768 &&
           r.length <= s.config.block_size); /* which its caller has seen to */
    sane = is_sane(&s, &r);
    claim(!sane || r.page < s.config.pages, "its page is one of the store");
    claim(!sane || r.length == 0 || end <= s.config.block_size, "its payload ends on the page");
    claim(!sane || r.kind != 0 || (r.offset >= 24 && r.length > 0),
          "a change leaves the page's header alone");
    claim(!sane || r.kind != 1 || (r.offset == 0 && end == s.config.block_size),
          "an image is of the whole page");
    claim(!sane || r.kind <= 2, "its kind is one of the three");
    claim(sane || r.page >= s.config.pages || r.kind != 2 || r.length != 0, "a mark is let through");
    claim(sane || r.page >= s.config.pages || r.kind != 0 || r.offset < 24 || r.length == 0 ||
              end > s.config.block_size,
          "each right change is let through");
}
