/* SPDX-License-Identifier: PostgreSQL */
/*
 * prb: the server's own PageRepairFragmentation, callable from SQL on any heap page.
 *
 * The server exports the function (src/backend/storage/page/bufpage.c; declared in src/include/storage/bufpage.h), so
 * the dynamic linker binds the name below to it. Its errors are the server's own reports and are not changed. It trusts
 * what it does not check: give it only pages that our checks accept, or refuse for the header, lp_off or total. Any
 * other page can destroy the backend's stack (tests/compaction/prb.py).
 */
#include "abi.h"

enum { BLOCK = 8192 };

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
