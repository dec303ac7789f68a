# SPDX-License-Identifier: PostgreSQL
"""`pgquern check-pages` names the rows that verify_heapam of amcheck names, on pages that a machine damages.

The pages are a real server's: rows with NULLs, HOT chains, redirects, dead line pointers, MultiXacts, frozen rows. The
damage is done while it is stopped, and has a right checksum. verify_heapam looks at the values of columns, too; what it
says of those is left out. 300 pages of each major that has it (14 to 18).
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from pgquern.tornpage import checksums

from ref.page import line_pointers
from tests.postgres.server import EMBEDDED, Server
from tools.check_pages.relation import rows_of
from tools.check_pages.tuples import faults
from tools.common.heap_tuple import tuple_at
from tools.common.relation_file import cluster_of

pytestmark = pytest.mark.servers

BLCKSZ, PAGES = 8192, 300
OURS = "shares bytes|t_ctid|more than any"
"""Faults that verify_heapam does not look for."""
SINCE_16 = "heap-only|HOT|points to|a (dead|redirecting) line pointer"
"""Faults that it looks for since 16."""
THEIRS = r"^attribute|toast"
SETUP = (
    "CREATE EXTENSION amcheck",
    "CREATE TABLE t (id int, a int, b text) WITH (fillfactor = 70, autovacuum_enabled = off)",
    "INSERT INTO t SELECT g, nullif(g % 3, 0), repeat('x', g % 50) FROM generate_series(1, 60000) g",
    "CREATE INDEX ON t (id)",
    "DELETE FROM t WHERE id % 7 = 0",
    "VACUUM FREEZE t",
    "UPDATE t SET a = a + 1 WHERE id % 5 = 0",
    "DELETE FROM t WHERE id % 11 = 0",
    "VACUUM t",
    "UPDATE t SET a = a + 1 WHERE id % 4 = 0",
    "DELETE FROM t WHERE id % 13 = 0",
    "BEGIN; UPDATE t SET a = a + 1 WHERE id % 17 = 0; ROLLBACK",
    "SELECT count(*) FROM t WHERE a > 1",
    "CHECKPOINT",
)


@dataclass(frozen=True)
class Damaged:
    """A stopped cluster, and its table's file."""

    server: Server
    path: Path


@pytest.fixture(scope="module", params=[14, 15, 16, 17, 18])
def damaged(request: pytest.FixtureRequest) -> Iterator[Damaged]:
    with Server(EMBEDDED[request.param], initdb=["--data-checksums"]) as server:
        for statement in SETUP:
            server.execute(statement)
        with server.connect() as one, server.connect() as other:
            for connection in (one, other):
                connection.execute("BEGIN")
                connection.execute("SELECT count(*) FROM (SELECT FROM t WHERE id % 10 = 3 FOR SHARE) s")
        server.execute("CHECKPOINT")
        path = server.data_file("t")
        server.stop()
        yield Damaged(server, path)


def damage(page: bytearray, rng: Random) -> None:
    """One fault in a line pointer or in a tuple's header."""
    lines = line_pointers(bytes(page))
    stored = [number for number, (_, flags, _) in enumerate(lines) if flags == 1]
    number = rng.choice(stored)
    off = lines[number][0]
    where = rng.randrange(14)
    if where < 3:
        (word,) = struct.unpack_from("<I", page, 24 + 4 * number)
        others = [word ^ 1 << rng.randrange(32), 2 << 15 | rng.randrange(len(lines) + 3), word ^ 24 << 17]
        struct.pack_into("<I", page, 24 + 4 * number, others[where])
    elif where < 6:
        struct.pack_into("<I", page, off + 4 * (where % 2), rng.choice([1, 5, 600, 100000, 2**31, 2**32 - 1]))
    elif where < 8:
        page[off + 22] = rng.choice([0, 23, 24, 32, 40, 200, 255])
    elif where < 10:
        struct.pack_into("<H", page, off + 16, rng.choice([0, 1, number + 1, number + 2, rng.choice(stored) + 1, 999]))
    else:
        page[off + 18 + rng.randrange(4)] ^= 1 << rng.randrange(8)


def amcheck_gives_up(page: bytearray) -> bool:
    """It asks pg_multixact for the members of any xmax that may be a MultiXact, and stops with an error."""
    return any(
        tuple_at(page, off, length).unknown_updater
        for off, flags, length in line_pointers(bytes(page))
        if flags == 1 and off + 24 <= BLCKSZ
    )


def theirs(damaged: Damaged) -> dict[tuple[int, int], str]:
    """What verify_heapam finds: the block, and the line pointer."""
    damaged.server.start()
    try:
        rows = damaged.server.execute("SELECT blkno, offnum, msg FROM verify_heapam('t') ORDER BY 1, 2")
    finally:
        damaged.server.stop()
    return {(block, offset): words for block, offset, words in rows if not re.search(THEIRS, words)}


def ours(path: Path, unlike: str) -> dict[tuple[int, int], str]:
    """Without the faults whose words are like that."""
    cluster = cluster_of(path)
    assert cluster
    bounds = rows_of(path, cluster).bounds
    content = path.read_bytes()
    found = dict[tuple[int, int], str]()
    for block in range(len(content) // BLCKSZ):
        for number, words in faults(content[block * BLCKSZ : (block + 1) * BLCKSZ], block, bounds):
            if not re.search(unlike, words):
                found[block, number] = words
    return found


def test_the_rows_that_amcheck_names(damaged: Damaged) -> None:
    content = bytearray(damaged.path.read_bytes())
    whole, rng = bytes(content), Random(damaged.server.build.major)
    unlike = OURS if damaged.server.build.major >= 16 else f"{OURS}|{SINCE_16}"
    assert not ours(damaged.path, "^$"), "nothing is wrong with a sound table"
    for block in rng.sample(range(len(content) // BLCKSZ), PAGES):
        page = sound = content[block * BLCKSZ : (block + 1) * BLCKSZ]
        while page == sound or amcheck_gives_up(page):
            page = sound.copy()
            damage(page, rng)
        (right,) = checksums(bytes(page), block_size=BLCKSZ, first_block=block)
        struct.pack_into("<H", page, 8, right)
        content[block * BLCKSZ : (block + 1) * BLCKSZ] = page
    damaged.path.write_bytes(content)
    try:
        found, expected = ours(damaged.path, unlike), theirs(damaged)
    finally:
        damaged.path.write_bytes(whole)
    assert len(expected) > PAGES // 6
    assert found.keys() == expected.keys(), {
        at: (found.get(at), expected.get(at)) for at in found.keys() ^ expected.keys()
    }
