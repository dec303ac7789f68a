# SPDX-License-Identifier: PostgreSQL
"""What a cluster's files say of a relation file: its table, and the oldest ids that its rows may have. 12 to 18.

Upstream: src/include/catalog/pg_class.h (the fixed fields), src/backend/utils/cache/relmapper.c (RelMapFile),
src/include/access/htup_details.h. The files are read as they are on the disk. Of a cluster that was not shut down the
table's pages may be older than its row in pg_class: what a vacuum froze may not be written yet, though its relfrozenxid
is. `Row.lsn` tells: what was logged before the last checkpoint began is written. And they may be newer: pg_class may
lack columns.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ref.page import BLCKSZ, LP_NORMAL, Header, line_pointers
from ref.xid import XID
from tools.common.heap_tuple import (
    XMAX_COMMITTED,
    XMAX_INVALID,
    XMAX_IS_MULTI,
    XMAX_LOCK_ONLY,
    XMIN_COMMITTED,
    XMIN_INVALID,
    Tuple,
    tuple_at,
)
from tools.common.relation_file import Cluster

MAP_MAGIC = 0x592717
PG_CLASS, PG_NAMESPACE = 1259, 2615
HEAP_AM = 2
BTREE_AM, HASH_AM, GIST_AM, GIN_AM, BRIN_AM, SPGIST_AM = 403, 405, 783, 2742, 3580, 4000
IN_PROGRESS, COMMITTED, ABORTED = 0, 1, 2
XIDS_A_SEGMENT = 32 * BLCKSZ * 4


FIXED = 140
"""Bytes of pg_class's columns before relacl and reloptions, in all versions at least."""


@dataclass(frozen=True)
class Row:
    """Of pg_class, as far as it is used here."""

    oid: int
    name: str
    namespace: int
    am: int
    kind: str
    natts: int
    relfrozenxid: int
    relminmxid: int
    filenode: int
    toast: int
    lsn: int = 0
    """Of the page that it lies on."""
    fillfactor: int | None = None


class Xact:
    """pg_xact: whether an XID committed."""

    def __init__(self, top: Path) -> None:
        self.segment = cache(lambda number: _bytes(top / "pg_xact" / f"{number:04X}"))

    def status(self, xid: int) -> int | None:
        """IN_PROGRESS (or crashed), COMMITTED, ABORTED; None: it cannot be read."""
        if xid < 3:
            return COMMITTED if xid else None
        content, at = self.segment(xid // XIDS_A_SEGMENT), xid % XIDS_A_SEGMENT
        if at // 4 >= len(content):
            return None
        status = content[at // 4] >> at % 4 * 2 & 3
        return COMMITTED if status == 3 else status


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def rows(path: Path, xact: Xact) -> Iterator[tuple[bytes, int]]:
    """The data of each row of a catalog that was inserted, and that nobody has deleted for good; its page's LSN."""
    content = _bytes(path)
    for at in range(0, len(content) // BLCKSZ * BLCKSZ, BLCKSZ):
        page = content[at : at + BLCKSZ]
        for off, flags, length in line_pointers(page):
            if flags == LP_NORMAL and length >= 24 and off + length <= BLCKSZ:
                one = tuple_at(page, off, length)
                if _is_born(one, xact) and _is_alive(one, xact):
                    yield page[off + one.hoff : off + length], Header.parse(page).pd_lsn


def _is_born(one: Tuple, xact: Xact) -> bool:
    committed = not one.infomask & XMIN_INVALID and xact.status(one.xmin) in (COMMITTED, None)
    return bool(one.infomask & XMIN_COMMITTED) or committed


def _is_alive(one: Tuple, xact: Xact) -> bool:
    if one.infomask & (XMAX_INVALID | XMAX_LOCK_ONLY | XMAX_IS_MULTI) or not one.xmax:
        return True
    return not one.infomask & XMAX_COMMITTED and xact.status(one.xmax) != COMMITTED


def _either(one: Row, other: Row) -> Row:
    """Of two versions of which neither is known to be dead, what allows more."""
    first = min(one, other, key=lambda row: XID.difference(row.relfrozenxid, one.relfrozenxid))
    multi = min(one, other, key=lambda row: XID.difference(row.relminmxid, one.relminmxid))
    natts, lsn = max(one.natts, other.natts), max(one.lsn, other.lsn)
    return replace(first, relminmxid=multi.relminmxid, natts=natts, lsn=lsn)


def _mapped(path: Path) -> dict[int, int]:
    """pg_filenode.map: the file of each catalog that has it there."""
    content = _bytes(path)
    if len(content) < 512 or int.from_bytes(content[:4], "little") != MAP_MAGIC:
        return {}
    number = min(int.from_bytes(content[4:8], "little"), 62)
    pairs = struct.unpack_from(f"<{2 * number}I", content, 8)
    return dict(zip(pairs[::2], pairs[1::2], strict=True))


def _row(data: bytes, lsn: int, major: int, mapped: dict[int, int]) -> Row | None:
    more = 4 if major >= 18 else 0  # relallfrozen
    if len(data) < FIXED + more:
        return None
    oid, name, namespace = struct.unpack_from("<I64sI", data)
    am, filenode = struct.unpack_from("<II", data, 84)
    (toast,) = struct.unpack_from("<I", data, 108 + more)
    kind, natts = struct.unpack_from("<ch", data, 115 + more)
    relfrozenxid, relminmxid = struct.unpack_from("<II", data, 132 + more)
    text = name.rstrip(b"\0").decode(errors="replace")
    of = (filenode or mapped.get(oid, 0), toast)
    # reloptions are a text array: nothing else in the columns that follow is plain text of this form.
    said = re.search(rb"fillfactor=(\d{1,3})", data[FIXED:])
    ids = (natts, relfrozenxid, relminmxid)
    return Row(oid, text, namespace, am, kind.decode(errors="replace"), *ids, *of, lsn, int(said[1]) if said else None)


class Catalog:
    """A database's pg_class: relations by the number of their file."""

    def __init__(self, folder: Path, cluster: Cluster, major: int) -> None:
        xact, local = Xact(cluster.path), _mapped(folder / "pg_filenode.map")
        mapped = local | _mapped(cluster.path / "global" / "pg_filenode.map")
        self.files = dict[int, Row]()
        for data, lsn in rows(folder / str(local.get(PG_CLASS, 0)), xact) if major >= 12 else ():
            row = _row(data, lsn, major, mapped)
            if row and row.filenode and row.kind in "rtmiSIp":
                other = self.files.get(row.filenode)
                self.files[row.filenode] = _either(row, other) if other else row
        spaces = next((row.filenode for row in self.files.values() if row.oid == PG_NAMESPACE), 0)
        pairs = (struct.unpack_from("<I64s", data) for data, _ in rows(folder / str(spaces), xact) if len(data) >= 68)
        self.namespaces = {oid: name.rstrip(b"\0").decode(errors="replace") for oid, name in pairs}
        self.owners = {row.toast: row for row in self.files.values() if row.toast}

    def name(self, row: Row) -> str:
        """As a person writes it in SQL; of a TOAST table, that of its owner, too."""
        own = f"{self.namespaces.get(row.namespace, '?')}.{row.name}"
        return (
            f"{own}, which holds the long values of {self.name(self.owners[row.oid])}"
            if row.oid in self.owners
            else own
        )


@cache
def _catalog(folder: Path, cluster: Cluster, major: int) -> Catalog:
    return Catalog(folder, cluster, major)


def catalog_of(path: Path, cluster: Cluster, major: int) -> tuple[Catalog, Row | None] | None:
    """The catalog of the database that a relation's file belongs to, and its row, if it has one."""
    folder, found = path.parent, re.match(r"\d+", path.name)
    if folder.name == "global":
        folder = cluster.path / "base" / "1"
    if not (folder / "pg_filenode.map").exists():
        folder = cluster.path / "base" / folder.name
    if not found or not (folder / "pg_filenode.map").exists():
        return None
    catalog = _catalog(folder, cluster, major)
    return (catalog, catalog.files.get(int(found[0]))) if catalog.files else None
