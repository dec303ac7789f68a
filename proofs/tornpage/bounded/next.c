/* SPDX-License-Identifier: PostgreSQL */
/* Whatever stands in the log, a record is let through only if it is whole, in its place, and of this epoch and store. */
#include "bounded.h"
#include "tornpage/log.c"

static uint32_t checksum;
static size_t summed;

uint32_t pgq_crc(const crc_table *crc, const void *bytes, size_t size)
{
    (void)crc, (void)bytes, summed = size;
    return checksum;
}

void proof(void)
{
    uint8_t log[CAPACITY], scratch[32 + BLOCK];
    store s = {.config = {.block_size = BLOCK, .pages = 3, .log_capacity = CAPACITY},
               .log = log,
               .scratch = scratch};
    uint64_t lsn = (uint64_t)nondet_u8() * 8, end, room;
    const uint8_t *payload;
    record head;

    __CPROVER_havoc_object(log);
    s.epoch = nondet_u32(), s.life = nondet_u64(), s.durable_redo = (uint64_t)nondet_u8() * 8;
    checksum = nondet_u32();
    assume(s.durable_redo <= lsn);
    room = s.durable_redo + CAPACITY;
    if (!pgq_tornpage_next_record(&s, lsn, &head, &payload, &end))
        return;
    claim(head.lsn == lsn, "it says its place");
    claim(head.epoch == s.epoch, "it is of this epoch");
    claim(head.life == (uint32_t)s.life, "it is of this store");
    claim(head.length <= BLOCK && head.page < 3 && end == lsn + 32 + (head.length + 7) / 8 * 8 && end <= room,
          "it ends before the ring goes round to what is needed");
    claim(payload == scratch + 32 && head.crc == checksum && summed == end - lsn - 4,
          "its checksum is right, to its end");
}
