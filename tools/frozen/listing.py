# SPDX-License-Identifier: PostgreSQL
"""Listings of pg_class and pg_database: as CSV from psql's \\copy, or by a connection; checked row by row."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import psycopg

from ref.datfrozenxid import Pair
from ref.xid import XID

SIZE = 2**32
DIGITS = 20
LONGEST = 2**16
"""Characters of a line of CSV: the names in it have 63 bytes at most."""
CLASSES = "select oid, relname, relkind, relfrozenxid, relminmxid from pg_class"
HORIZON = (
    "select max(a) from (select age(backend_xmin) a from pg_stat_activity"
    " union all select age(backend_xid) from pg_stat_activity union all select age(xmin) from pg_replication_slots"
    " union all select age(catalog_xmin) from pg_replication_slots"
    " union all select age(transaction) from pg_prepared_xacts) h"
)
DATABASES = (
    "select datname, datfrozenxid, datminmxid, age(datfrozenxid) as age, mxid_age(datminmxid) as mxid_age,"
    f" datname = current_database() as current, ({HORIZON}) as horizon_age,"
    " current_setting('server_version_num') as server_version_num,"
    " current_setting('autovacuum_freeze_max_age') as autovacuum_freeze_max_age from pg_database"
)
COPIES = (
    f"\\copy ({CLASSES}) to 'classes.csv' csv header",
    f"\\copy ({DATABASES}) to 'databases.csv' csv header",
)
HELP = (
    "In psql, in the database that you ask about, as a superuser or a member of pg_monitor, each on one line:\n\n"
    + "\n\n".join(COPIES)
)


class ListingError(ValueError):
    """A listing that cannot be used; the text says why and what to do."""


@dataclass(frozen=True)
class Relation:
    """A row of pg_class."""

    oid: int
    name: str
    relkind: str
    relfrozenxid: int
    relminmxid: int


@dataclass(frozen=True)
class Database:
    """A row of pg_database."""

    name: str
    dat: Pair


@dataclass(frozen=True)
class Stored:
    """pg_database's row of this database, and the ids to be assigned next; `start`: the horizon of transactions."""

    database: str
    dat: Pair
    next_ids: Pair
    start: Pair
    all: list[Database]
    horizon_age: int
    server_version_num: int
    freeze_max_age: int


@dataclass(frozen=True)
class Listing:
    """`stored` is None if only pg_class is known."""

    relations: list[Relation]
    stored: Stored | None


Rows = Sequence[dict[str, str]]


def _number(row: dict[str, str], column: str, where: str, low: int = 0, high: int = SIZE - 1) -> int:
    text = (row[column] or "").strip()
    # int() takes no number of more than 4300 digits.
    if not text.removeprefix("-").isdecimal() or len(text) > DIGITS or not low <= int(text) <= high:
        raise ListingError(f"{where}: {column} is {text[:40]!r}, no number from {low} to {high}")
    return int(text)


def _lines(file: TextIO) -> Iterator[str]:
    """A device, or a file with a hole, may hold a line without end."""
    while line := file.readline(LONGEST):
        if len(line) == LONGEST:
            raise csv.Error(f"a line has more than {LONGEST:,} characters")
        yield line


def read_csv(path: Path, columns: Sequence[str], query: str) -> Rows:
    """The rows of a file that has at least these columns."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(_lines(file), strict=True)
            header = reader.fieldnames or []
            if missing := [column for column in columns if column not in header]:
                raise ListingError(f"{path}: the header lacks {', '.join(missing)}: make it in psql with {query}")
            if len(set(header)) < len(header):
                raise ListingError(f"{path}: the header has a column twice: make it in psql with {query}")
            rows = []
            for row in reader:
                if None in row or None in row.values():
                    raise ListingError(f"{path}, line {reader.line_num}: not as many fields as the header has")
                rows.append(row)
    except OSError as error:
        raise ListingError(f"{path}: {error.strerror}: make it in psql with {query}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ListingError(f"{path}: no CSV in UTF-8 ({error}): make it in psql with {query}") from error
    if not rows:
        raise ListingError(f"{path}: it has no row: the file was cut, or the query failed")
    return rows


def relations(rows: Rows, source: str) -> Iterator[Relation]:
    seen: set[int] = set()
    for number, row in enumerate(rows, 2):
        where = f"{source}, row {number}"
        if len(row["relkind"]) != 1:
            raise ListingError(f"{where}: relkind is {row['relkind']!r}, not one letter")
        xid, multi = _number(row, "relfrozenxid", where), _number(row, "relminmxid", where)
        oid = _number(row, "oid", where)
        if oid in seen:
            raise ListingError(f"{where}: oid {oid} is there twice: a listing is of one database, made by one query")
        seen.add(oid)
        yield Relation(oid, row["relname"], row["relkind"], xid, multi)


def stored(rows: Rows, source: str) -> Stored:
    """The current database's row, and the others. The next ids are what an age is counted from."""
    found: list[tuple[Database, int, int, int]] = []
    every, xids, multis = list[Database](), set[int](), list[int]()
    for number, row in enumerate(rows, 2):
        where = f"{source}, row {number}"
        dat = Pair(_number(row, "datfrozenxid", where), _number(row, "datminmxid", where))
        ages = [_number(row, column, where, -(2**31), 2**31 - 1) for column in ("age", "mxid_age")]
        # The age of a permanent XID, and of an invalid MultiXactId, is no distance.
        if XID.is_normal(dat.xid) and dat.multi:
            xids.add((dat.xid + ages[0]) % SIZE)
            multis.append((dat.multi + ages[1]) % SIZE)
        every.append(Database(row["datname"], dat))
        if row["current"] in ("t", "true", "True"):
            horizon = _number(row, "horizon_age", where, -(2**31), 2**31 - 1) if row["horizon_age"] else 0
            settings = [_number(row, name, where) if name in row else usual for name, usual in SETTINGS.items()]
            found.append((every[-1], max(horizon, 0), settings[0], settings[1]))
    if len(found) != 1:
        raise ListingError(
            f"{source}: {len(found)} rows are of the current database: take the column `current` as it is"
        )
    if not multis:
        raise ListingError(
            f"{source}: no database has a normal datfrozenxid and datminmxid: the next ids are not known"
        )
    # age() counts from one XID in a transaction; mxid_age() counts from what is the next MultiXactId at each row.
    ahead = [(multi - multis[0] + SIZE // 2) % SIZE - SIZE // 2 for multi in multis]
    if len(xids) > 1 or max(ahead) - min(ahead) > BETWEEN_ROWS:
        raise ListingError(f"{source}: the ages contradict each other: take all rows in one query")
    next_ids = Pair(xids.pop(), (multis[0] + max(ahead)) % SIZE)
    (here, horizon, *numbers), *_ = found
    start = (next_ids.xid - horizon) % SIZE
    start_xid = start if XID.is_normal(start) else next_ids.xid
    return Stored(here.name, here.dat, next_ids, Pair(start_xid, next_ids.multi), every, horizon, *numbers)


CLASS_COLUMNS = ("oid", "relname", "relkind", "relfrozenxid", "relminmxid")
DATABASE_COLUMNS = ("datname", "datfrozenxid", "datminmxid", "age", "mxid_age", "current", "horizon_age")
SETTINGS = {"server_version_num": 140000, "autovacuum_freeze_max_age": 200_000_000}
"""Columns that a listing may lack, and what is taken then."""
BETWEEN_ROWS = 2**16
"""MultiXactIds that may be taken while pg_database is read."""


def from_files(classes: Path, databases: Path | None) -> Listing:
    found = list(relations(read_csv(classes, CLASS_COLUMNS, COPIES[0]), str(classes)))
    if databases is None:
        return Listing(found, None)
    return Listing(found, stored(read_csv(databases, DATABASE_COLUMNS, COPIES[1]), str(databases)))


def _query(connection: psycopg.Connection[Any], query: str) -> Rows:
    cursor = connection.execute(query.encode())
    names = [column.name for column in cursor.description or ()]
    return [dict(zip(names, map(_text, row), strict=True)) for row in cursor.fetchall()]


def _text(value: object) -> str:
    return "" if value is None else value.decode() if isinstance(value, bytes) else str(value)


def from_connection(conninfo: str) -> Listing:
    """The same two queries, in one session; nothing is written."""
    try:
        with psycopg.connect(conninfo, autocommit=True, options="-c default_transaction_read_only=on") as connection:
            classes, databases = _query(connection, CLASSES), _query(connection, DATABASES)
    except psycopg.Error as error:
        raise ListingError(f"the server says: {str(error).strip()}") from error
    return Listing(list(relations(classes, "pg_class")), stored(databases, "pg_database"))
