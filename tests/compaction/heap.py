# SPDX-License-Identifier: PostgreSQL
"""Pages of real tables, before and after a HOT prune by the server itself.

Autovacuum is off. A session holds a snapshot while others update, delete and roll back, so nothing can be pruned; a
count(*) sets the hint bits; a checkpoint writes the file: BEFORE. The snapshot ends, a plain SELECT prunes, another
checkpoint writes the file: AFTER. The prune's decisions (which line pointers became redirects, dead or unused) are read
from AFTER and put into BEFORE; the remaining difference is only the work of PageRepairFragmentation.
"""

from __future__ import annotations

from typing import NamedTuple

from ref import page as rp
from tests.postgres.server import Server


class Pruned(NamedTuple):
    """One page of a table. `decided` is `before` with the prune's decisions put in: PageRepairFragmentation's input."""

    before: bytes
    decided: bytes
    after: bytes


TABLES = {
    # The two-INT table of the recovery experiment; and one of mixed widths, whose pages hold 30 to 60 tuples.
    "narrow": "(id int, v int) WITH (fillfactor = 85)",
    "wide": "(id int, v int, pad text) WITH (fillfactor = 80)",
}
ROWS = {"narrow": 12000, "wide": 2500}


def _blocks(content: bytes) -> list[bytes]:
    return [content[at : at + rp.BLCKSZ] for at in range(0, len(content), rp.BLCKSZ)]


def decide(before: bytes, after: bytes) -> bytes:
    """BEFORE with the line pointers that AFTER no longer has as tuples set as the prune set them."""
    header = rp.Header.parse(before)
    old, new = rp.line_pointers(before), rp.line_pointers(after)
    new += [rp.UNUSED] * (len(old) - len(new))
    lps = [kept if now.is_used and now.has_storage else now for kept, now in zip(old, new, strict=True)]
    return rp.build(lps, header=header, fill=before)


def pruned_pages(server: Server, table: str) -> list[Pruned]:
    """Those pages of a freshly made table that the server pruned. About a second."""
    rows = ROWS[table]
    pad = ", repeat('x', (random() * 160)::int)" if table == "wide" else ""
    with server.connect() as work, server.connect(autocommit=False) as holder:
        work.execute("SELECT setseed(0.25)")
        work.execute(f"CREATE TABLE {table} {TABLES[table]}".encode())
        work.execute(f"INSERT INTO {table} SELECT g, g{pad} FROM generate_series(1, {rows}) g".encode())
        # Rounds that are pruned at once: line pointers are used again, so their order is mixed.
        for _ in range(3):
            work.execute(f"UPDATE {table} SET v = v + 1 WHERE random() < 0.15".encode())
            work.execute(f"SELECT count(*) FROM {table}".encode())
            work.execute(f"DELETE FROM {table} WHERE random() < 0.02".encode())
            work.execute(f"VACUUM {table}".encode())

        holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        holder.execute("SELECT 1")
        for share in (0.06, 0.05):
            work.execute(f"UPDATE {table} SET v = v + 1 WHERE random() < {share}".encode())
        work.execute(f"DELETE FROM {table} WHERE random() < 0.06".encode())
        # A rolled-back update leaves unused line pointers at the end of the array: what 15 and later cut off.
        work.execute("BEGIN")
        work.execute(f"UPDATE {table} SET v = v + 1 WHERE random() < 0.02".encode())
        work.execute("ROLLBACK")
        work.execute(f"SELECT count(*) FROM {table}".encode())
        work.execute("CHECKPOINT")
        path = server.data_file(table)
        before = _blocks(path.read_bytes())

        holder.rollback()
        # In a new session: from 14 on a session that has just computed the horizon does not compute it again.
        server.execute(f"SELECT count(*) FROM {table}")
        work.execute("CHECKPOINT")
        after = _blocks(path.read_bytes())
    return [Pruned(b, decide(b, a), a) for b, a in zip(before, after, strict=True) if _was_pruned(b, a)]


def _was_pruned(before: bytes, after: bytes) -> bool:
    return before[rp.SIZE_OF_PAGE_HEADER :] != after[rp.SIZE_OF_PAGE_HEADER :]


def settled(page: bytes) -> bytes:
    """The page without what a prune changes beside PageRepairFragmentation: pd_lsn, pd_checksum, pd_prune_xid, and of
    pd_flags all but PD_HAS_FREE_LINES."""
    header = rp.Header.parse(page)
    plain = header._replace(pd_lsn=0, pd_checksum=0, pd_prune_xid=0, pd_flags=header.pd_flags & rp.PD_HAS_FREE_LINES)
    return plain.pack() + page[rp.SIZE_OF_PAGE_HEADER :]
