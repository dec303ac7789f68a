/* SPDX-License-Identifier: PostgreSQL */
/* A record is put into the ring of the log, wherever the ring goes round; the rest of the ring stays. */
#include "bounded.h"
#include "tornpage/log.c"

static uint32_t checksum;
static size_t summed;

uint32_t pgq_crc(const crc_table *crc, const void *bytes, size_t size)
{
    (void)crc, (void)bytes, summed = size;
    return checksum;
}

static void append_at(uint64_t lsn, uint32_t length)
{
    static uint8_t log[CAPACITY], before[CAPACITY], scratch[40], payload[8], there[40];
    static store s;
    static record head, read;
    bool same;
    uint64_t size = length == 0 ? 32 : 40;

    s = (store){.config = {.log_capacity = CAPACITY}, .log = log, .scratch = scratch, .insert = lsn};
    head = (record){.length = length, .page = nondet_u32(), .offset = nondet_u16(), .kind = nondet_u16()};

    for (uint32_t i = 0; i < CAPACITY; i++)
        log[i] = before[i] = nondet_u8();
    for (uint32_t i = 0; i < 8; i++)
        payload[i] = nondet_u8();
    for (uint32_t i = 0; i < sizeof scratch; i++)
        scratch[i] = nondet_u8(); /* of the record before */
    s.epoch = nondet_u32(), s.life = nondet_u64(), checksum = nondet_u32();
    pgq_tornpage_append(&s, head, payload);
    for (uint64_t i = 0; i < size; i++)
        there[i] = log[(lsn + i) % CAPACITY];
    memcpy(&read, there, sizeof read);
    claim(read.crc == checksum && summed == size - 4, "the checksum is of all that follows it");
    claim(s.insert == lsn + size && read.lsn == lsn && read.epoch == s.epoch && read.life == (uint32_t)s.life,
          "it says its place, epoch, and store");
    same = read.length == length && read.page == head.page && read.offset == head.offset &&
           read.kind == head.kind;
    for (uint64_t i = size; i < CAPACITY; i++)
        same &= log[(lsn + i) % CAPACITY] == before[(lsn + i) % CAPACITY];
    for (uint64_t i = 0; i < size - 32; i++)
        claim(same && there[32 + i] == (i < length ? payload[i] : 0),
              "the payload stands behind it, and zeros up to its end");
}

void proof(void)
{
    for (uint64_t lsn = 3 * CAPACITY; lsn < 4 * CAPACITY; lsn += 8) {
        append_at(lsn, 0);
        append_at(lsn, 5);
    }
}
