# SPDX-License-Identifier: PostgreSQL
"""States and data directories for `pgquern frozen`, made here: as a server of 13 to 18 lays them down."""

import struct
from collections.abc import Sequence
from pathlib import Path

from ref.datfrozenxid import Pair, Row
from tests.page.cluster import cluster
from tests.page.rows import BLCKSZ, FROZEN_BITS, XMAX_INVALID, Rows
from tools.check_pages.catalog import MAP_MAGIC, PG_CLASS, PG_NAMESPACE
from tools.common.crc32c import crc32c
from tools.common.relation_file import Ids
from tools.frozen.files import MAGIC, PG_DATABASE
from tools.frozen.state import SETTINGS, Database, Holder, Relation, State

CONTROLS = {17: 1700, 18: 1800}


def relations(rows: Sequence[Row]) -> list[Relation]:
    return [Relation(16384 + i, f"public.t{i}", *row) for i, row in enumerate(rows)]


def state(
    *databases: Database,
    next_ids: Pair = Pair(1000, 50),  # noqa: B008
    holders: Sequence[Holder] = (),
    major: int = 18,
    members: int | None = None,
    **settings: int,
) -> State:
    """As a server has told it, at the time 1000."""
    known = SETTINGS | settings
    return State("7", major, 1000.0, *next_ids, list(databases), list(holders), known, 0, members)


def mine(rows: Sequence[Row], stored: Pair, name: str = "mine") -> Database:
    return Database(name, stored, relations=relations(rows))


def heap(path: Path, datas: Sequence[bytes]) -> None:
    """A catalog's file of one page: its rows are frozen."""
    rows = Rows(bytearray(BLCKSZ), 0)
    for data in datas:
        number = rows.tuple(2, 0, 0, FROZEN_BITS | XMAX_INVALID, None, len(data))
        rows.page[rows.off(number) + 24 : rows.off(number) + 24 + len(data)] = data
    struct.pack_into("<5H", rows.page, 10, 0, 24 + 4 * rows.n, rows.upper, BLCKSZ, BLCKSZ | 4)
    path.write_bytes(rows.page)


def pg_class_row(major: int, oid: int, name: str, row: Row, namespace: int = 2200, toast: int = 0) -> bytes:
    more = 4 * (major >= 18)
    data = bytearray(144 + more)
    struct.pack_into("<I64sI", data, 0, oid, name.encode(), namespace)
    struct.pack_into("<I", data, 88, 0 if oid in (PG_CLASS, PG_DATABASE) else oid)
    struct.pack_into("<I", data, 108 + more, toast)
    struct.pack_into("<c", data, 115 + more, row.relkind.encode())
    struct.pack_into("<II", data, 132 + more, row.relfrozenxid, row.relminmxid)
    return bytes(data)


def pg_database_row(major: int, oid: int, name: str, dat: Pair, limit: int = -1, connects: bool = True) -> bytes:
    """The fixed fields, and a byte of what follows."""
    head = struct.pack("<I64sII", oid, name.encode(), 10, 6)
    if major < 15:
        return head + struct.pack("<128s??xxiIIII", b"C", False, connects, limit, 13000, *dat, 1663)
    flags = (False, connects) if major < 17 else (False, connects, False)
    return (
        head + struct.pack(f"<c{len(flags)}?", b"c", *flags).ljust(4, b"\0") + struct.pack("<iIII", limit, *dat, 1663)
    )


def prepared_file(major: int, gid: str, xid: int, database: int) -> bytes:
    """pg_twophase/XID: the header, the gid, no subtransaction, and the checksum."""
    name = gid.encode() + b"\0"
    counts = 3 if major < 15 else 5
    size = (64 if major < 15 else 72) + len(name) + -len(name) % 8 + 4
    content = struct.pack("<4IqI", MAGIC, size, xid, database, 10**15, 10) + bytes(4 * (counts + 1))
    content += struct.pack("<?xHQq", False, len(name), 0, 0) + name + bytes(-len(name) % 8)
    return content + struct.pack("<I", crc32c(content))


def data_directory(
    top: Path,
    major: int,
    rows: Sequence[Row],
    dat: Pair,
    ids: Ids,
    *,
    temporary: Row | None = None,
    others: Sequence[bytes] = (),
) -> Path:
    """Its databases are `template1`, which has these tables t0, t1, ..., and `others`, rows of pg_database.

    A TOAST table belongs to the table before it. `temporary` is one of session 3.
    """
    top.mkdir()
    cluster(top, str(major), version=CONTROLS.get(major, 1300), ids=ids)
    (top / "base" / "1").mkdir(parents=True)
    for folder, oid in ((top / "global", PG_DATABASE), (top / "base" / "1", PG_CLASS)):
        head = struct.pack("<4I", MAP_MAGIC, 1, oid, oid)
        (folder / "pg_filenode.map").write_bytes(head.ljust(524, b"\0"))
    toasts = [i for i, row in enumerate(rows) if row.relkind == "t"]
    listed = [
        pg_class_row(major, 16384 + i, f"t{i}", row, toast=16385 + i if i + 1 in toasts else 0)
        for i, row in enumerate(rows)
    ]
    if temporary:
        listed.append(pg_class_row(major, 30000, "tt", temporary, 3000))
    catalogs = [(oid, Row("r", 0, 0)) for oid in (PG_CLASS, PG_NAMESPACE, PG_DATABASE)]
    heap(top / "base/1" / str(PG_CLASS), [*listed, *(pg_class_row(major, o, f"pg_{o}", r, 11) for o, r in catalogs)])
    spaces = ((11, "pg_catalog"), (2200, "public"), (3000, "pg_temp_3"))
    heap(top / "base/1" / str(PG_NAMESPACE), [struct.pack("<I64sI", oid, name.encode(), 10) for oid, name in spaces])
    heap(top / "global" / str(PG_DATABASE), [pg_database_row(major, 1, "template1", dat), *others])
    (top / "pg_twophase").mkdir()
    (top / "pg_replslot").mkdir()
    return top
