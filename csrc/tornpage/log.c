/* SPDX-License-Identifier: PostgreSQL */
/*
 * The log: a ring in which a record's LSN is its position as if the log were endless. A record counts if it says its own
 * LSN, the epoch of the last recovery, the store's number, and a right CRC over header and payload. So neither a torn record, nor
 * one of an earlier lap, nor one that a crash left behind the end that recovery found, nor another store's, is ever replayed.
 */
#include "tornpage/store.h"

#include "common/holds.h"

/* Copies between the ring at `lsn` and plain memory. */
static void ring_copy(store *s, uint64_t lsn, uint8_t *out, const uint8_t *in, size_t size)
{
    while (size > 0) {
        uint64_t at = lsn % s->config.log_capacity, room = s->config.log_capacity - at;
        size_t n = size < room ? size : (size_t)room;

        if (out != NULL) {
            memcpy(out, s->log + at, n);
            out += n;
        } else {
            memcpy(s->log + at, in, n);
            in += n;
        }
        lsn += n, size -= n;
    }
}

/* Sets lsn, epoch and life of the head. */
void pgq_tornpage_append(store *s, record head, const void *payload)
{
    uint8_t *buffer = s->scratch;
    size_t size = record_size(head.length);
    uint32_t crc;

    HOLDS(s->insert + size - s->durable_redo <= s->config.log_capacity && s->insert % 8 == 0);
    HOLDS(head.length <= s->config.block_size); /* scratch has room for so much */
    head.lsn = s->insert;
    head.epoch = s->epoch;
    head.life = (uint32_t)s->life;
    memset(buffer + size - 8, 0, 8);
    memcpy(buffer, &head, sizeof head);
    memcpy(buffer + sizeof head, payload, head.length);
    crc = pgq_crc(&s->crc, buffer + sizeof crc, size - sizeof crc);
    memcpy(buffer, &crc, sizeof crc);
    ring_copy(s, s->insert, NULL, buffer, size);
    s->insert += size;
}

void pgq_tornpage_append_mark(store *s)
{
    pgq_tornpage_append(s, (record){.kind = MARK}, "");
}

bool pgq_tornpage_write_log(store *s)
{
    uint64_t lsn = s->flushed;

    HOLDS(s->flushed <= s->insert && s->redo <= s->insert);
    if (lsn == s->insert)
        return true;
    while (lsn < s->insert) {
        uint64_t at = lsn % s->config.log_capacity, room = s->config.log_capacity - at;
        uint64_t n = s->insert - lsn < room ? s->insert - lsn : room;

        if (!pgq_tornpage_write(s, PGQ_TORNPAGE_LOG, at, s->log + at, n))
            return false;
        lsn += n;
    }
    if (!pgq_tornpage_sync(s, PGQ_TORNPAGE_LOG))
        return false;
    s->flushed = s->insert;
    return true;
}

static bool is_sane(const store *s, const record *r)
{
    uint32_t block = s->config.block_size;

    if (r->page >= s->config.pages)
        return false;
    if (r->kind == IMAGE)
        return r->offset == 0 && r->length == block;
    if (r->kind == MARK)
        return r->length == 0;
    return r->kind == DELTA && r->length > 0 && r->offset >= PAGE_HEADER && r->offset + r->length <= block;
}

bool pgq_tornpage_next_record(store *s, uint64_t lsn, record *head, const uint8_t **payload, uint64_t *end)
{
    uint64_t limit = s->durable_redo + s->config.log_capacity;

    HOLDS(lsn >= s->durable_redo); /* before, the ring may hold the next lap */
    if (lsn + sizeof *head > limit)
        return false;
    ring_copy(s, lsn, (uint8_t *)head, NULL, sizeof *head);
    if (head->lsn != lsn || head->epoch != s->epoch || head->life != (uint32_t)s->life ||
        head->length > s->config.block_size)
        return false;
    *end = lsn + record_size(head->length);
    if (*end > limit || !is_sane(s, head))
        return false;
    ring_copy(s, lsn, s->scratch, NULL, (size_t)(*end - lsn));
    *payload = s->scratch + sizeof *head;

    size_t summed = (size_t)(*end - lsn) - sizeof head->crc;
    return pgq_crc(&s->crc, s->scratch + sizeof head->crc, summed) == head->crc;
}
