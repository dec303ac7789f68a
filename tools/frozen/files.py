# SPDX-License-Identifier: PostgreSQL
"""What a cluster's files say, without a server: pg_control, pg_database, each pg_class, pg_twophase, pg_replslot.

Upstream: src/backend/access/transam/twophase.c (TwoPhaseFileHeader), src/include/catalog/pg_database.h, 13 to 18.
"""

import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from ref.datfrozenxid import Pair
from ref.xid import XID
from tools.check_pages.catalog import Catalog, Xact, rows
from tools.common.crc32c import crc32c
from tools.common.relation_file import Cluster, ClusterError, cluster_of, major_of, os_words, start_of
from tools.frozen.state import SETTINGS, SIZE, Database, Holder, Relation, State, StateError, members, prepared, slot
from tools.snap.slots import slots_of

PG_DATABASE = 1262
MAJORS = range(13, 19)
MAGIC = 0x57F94534
POSTGRES_EPOCH = 946684800
"""2000-01-01, in seconds since 1970."""
MOST = 1 << 30
"""Bytes of a prepared transaction: a server can allocate no more."""


def two_phase(content: bytes, major: int) -> tuple[str, int, int, int, int]:
    """A file of pg_twophase: gid, XID, the OIDs of its database and owner, and when it was prepared.

    That is in microseconds since 2000. ValueError: it is cut, foreign, or its checksum is wrong.
    """
    size, places = (64, 46) if major < 15 else (72, 54)  # of the header, and of gidlen in it
    if len(content) < size + 4:
        raise ValueError(f"{len(content)} bytes, fewer than its header has")
    magic, length, xid, database, at, owner = struct.unpack_from("<4IqI", content)
    (gid,) = struct.unpack_from("<H", content, places)
    if magic != MAGIC or length != len(content) or not 0 < gid <= 200:
        raise ValueError(f"it is no file of a prepared transaction of PostgreSQL {major}")
    if (right := crc32c(content[:-4])) != (found := int.from_bytes(content[-4:], "little")):
        raise ValueError(f"checksum {found:#010x}, calculated {right:#010x}")
    text = content[size : size + gid].split(b"\0")[0].decode(errors="backslashreplace")
    return text, xid, database, owner, at


def database(data: bytes, major: int) -> tuple[int, Database] | None:
    """A row of pg_database, by its OID; None if it is cut."""
    at = 204 if major < 15 else 77
    limit = at + 4 if major < 15 else 80
    frozen = limit + (8 if major < 15 else 4)
    if len(data) < frozen + 8:
        return None
    oid, name = struct.unpack_from("<I64s", data)
    (connections,) = struct.unpack_from("<i", data, limit)
    dat = Pair(*struct.unpack_from("<II", data, frozen))
    text = name.rstrip(b"\0").decode(errors="backslashreplace")
    return oid, Database(text, dat, connections == -2, data[at + 1] != 0)


def _databases(cluster: Cluster, major: int) -> Iterator[tuple[int, Database]]:
    """Of two versions of a row of which neither is known to be dead, the older one."""
    shared = Catalog(cluster.path / "base" / "1", cluster, major)
    file = next((str(row.filenode) for row in shared.files.values() if row.oid == PG_DATABASE), "")
    found = dict[int, Database]()
    for data, _ in rows(cluster.path / "global" / file, Xact(cluster.path)) if file else ():
        if (row := database(data, major)) and (
            row[0] not in found or XID.precedes(row[1].dat.xid, found[row[0]].dat.xid)
        ):
            found[row[0]] = row[1]
    yield from found.items()


def _relations(cluster: Cluster, oid: int, major: int) -> list[Relation]:
    """Of a database, wherever it lies."""
    for folder in (cluster.path / "base" / str(oid), *cluster.path.glob(f"pg_tblspc/*/PG_{major}_*/{oid}")):
        if not (folder / "pg_filenode.map").exists():
            continue
        catalog = Catalog(folder, cluster, major)
        found = list[Relation]()
        for row in catalog.files.values():
            names = [
                f"{catalog.namespaces.get(one.namespace, '?')}.{one.name}"
                for one in (row, catalog.owners.get(row.oid, row))
            ]
            temporary = re.match(r"pg_(toast_)?temp_\d", names[0]) is not None
            found.append(Relation(row.oid, names[0], row.kind, row.relfrozenxid, row.relminmxid, names[1], temporary))
        return found
    return []


def _prepared(cluster: Cluster, major: int, names: dict[int, str], unknown: list[str]) -> Iterator[Holder]:
    for path in sorted(cluster.path.glob("pg_twophase/*")):
        try:
            with path.open("rb") as file:
                gid, xid, oid, owner, at = two_phase(file.read(MOST), major)
        except OSError as error:
            unknown.append(f"{path}: {os_words(path, error)}")
            continue
        except ValueError as error:
            unknown.append(f"pg_twophase/{path.name}: {error}. A server does not start with it; keep a copy")
            continue
        says = f"of the role with OID {owner}, since {_time(POSTGRES_EPOCH + at / 1e6)}"
        name = names.get(oid, f"with OID {oid}")
        yield prepared(gid, xid, name, f"database {name}, {says}")


def _time(seconds: float) -> str:
    with suppress(ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return "a time that cannot be"


def _settings(top: Path) -> dict[str, int]:
    """As the two files have them that a server reads last; files that they include are not read."""
    found = dict(SETTINGS)
    for name in ("postgresql.conf", "postgresql.auto.conf"):
        text = (start_of(top / name, 1 << 20) or b"").decode(errors="replace")
        for key, value in re.findall(r"(?m)^\s*(\w+)\s*=?\s*'?(\d{1,10})'?\s*(?:#.*)?$", text):
            if key in found:
                found[key] = int(value)
    return found


def state_of(top: Path) -> State:
    """Of a data directory."""
    try:
        cluster = cluster_of(top / "PG_VERSION")
        major = int(major_of(top / "PG_VERSION").partition(".")[0] or 0)
    except ClusterError as error:
        raise StateError(str(error)) from error
    if not cluster or cluster.path.resolve() != top.resolve():
        raise StateError(
            f"{top}: no global/pg_control that can be read is in it: give a cluster's data directory, as"
            " the user that owns it"
        )
    if cluster.is_backup:
        raise StateError(f"{top}: it is a base backup, by its backup_label: start a server on a copy, and ask that")
    if major not in MAJORS or not cluster.ids.next_xid:
        raise StateError(f"{top}: it is of PostgreSQL {major or '?'}: 13 to 18 are known without a server")
    ids, unknown, holders = cluster.ids, list[str](), list[Holder]()
    found = {oid: replace(one, relations=_relations(cluster, oid, major)) for oid, one in _databases(cluster, major)}
    if not found:
        raise StateError(
            f"{top}: pg_database cannot be read from its files: run this as the user that owns the cluster, or give a"
            " connection string"
        )
    names = {oid: one.name for oid, one in found.items()}
    holders += _prepared(cluster, major, names, unknown)
    slots, faults = slots_of(top) or ([], ["there is no pg_replslot: slots are not known"])
    unknown += faults
    for one in slots:
        if not one.invalid:
            of = f"logical, database {names.get(one.database, one.database)}" if one.database else "physical"
            holders += slot(one.name, one.xmin, one.catalog_xmin, of)
    next_xid, next_multi = ids.epoch << 32 | ids.next_xid, ids.next_multi
    if not ids.shut_down:
        # What is newer than the checkpoint is no fault then.
        pairs = [one.dat for one in found.values()]
        pairs += [Pair(one.relfrozenxid, one.relminmxid) for db in found.values() for one in db.relations]
        xids = [one.xid for one in holders] + [xid for xid, _ in pairs if XID.is_normal(xid)]
        next_xid += max(0, *(XID.difference(xid, ids.next_xid) for xid in xids))
        next_multi = (next_multi + max([0, *(XID.difference(m, ids.next_multi) for _, m in pairs if m)])) % SIZE
        seen = _time(ids.time)
        unknown.append(
            f"what came after the last checkpoint ({seen}), since the cluster was not shut down: which backends,"
            " standbys and newer prepared transactions hold something, and whether an XID lies in the future. If its"
            " server runs, give a connection string in the place of the folder"
        )
        # If none ran, it is the next XID.
        if ids.oldest_active not in {0, ids.next_xid, *(one.xid for one in holders)}:
            says = f"it ran at the last checkpoint, {seen}"
            do = "give a connection string in the place of the folder, to see whose it is"
            holders.append(Holder("transaction", str(ids.oldest_active), ids.oldest_active, says, do))

    def read(name: str, at: int) -> bytes:
        return (start_of(top / name, at + 4) or b"")[at:]

    used = members(ids, read)
    if used is None:
        unknown.append("how many members of MultiXactIds are kept: pg_multixact/offsets does not say it")
    if missing := [one.name for one in found.values() if not (one.relations or one.invalid)]:
        unknown.append(f"the tables of {', '.join(missing)}: pg_class cannot be read")
    return State(
        str(ids.system), major, float(ids.time), next_xid, next_multi,
        list(found.values()), holders, _settings(top), ids.next_offset, used, unknown,
    )  # fmt: skip
