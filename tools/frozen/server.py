# SPDX-License-Identifier: PostgreSQL
"""What a server says: one connection to each database that takes any; nothing is written.

A backend that runs a lazy VACUUM holds nobody back (PROC_IN_VACUUM), nor does one that decodes: its slot does
(src/backend/storage/ipc/procarray.c, ComputeXidHorizons). An invalidated slot does not count, either (slot.c).
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from ref.datfrozenxid import Pair
from ref.xid import XID
from tools.common.relation_file import Ids
from tools.frozen.state import (
    AT_STANDBY,
    SETTINGS,
    SIZE,
    Database,
    Holder,
    Relation,
    State,
    StateError,
    members,
    prepared,
    slot,
)

Connection = psycopg.Connection[dict[str, Any]]
NOW = (
    "select current_setting('server_version_num')::int as version, extract(epoch from now())::float8 as now,"
    " pg_is_in_recovery() as standby, txid_snapshot_xmax(txid_current_snapshot()) as xmax,"
    " (select system_identifier::text from pg_control_system()) as system,"
    " (select count(*) from pg_stat_activity where query = '<insufficient privilege>' and usesysid is not null)"
    " as hidden,"
    " (datfrozenxid::text::bigint + age(datfrozenxid)) % 4294967296 as next_xid,"
    " (datminmxid::text::bigint + mxid_age(datminmxid)) % 4294967296 as next_multi from pg_database"
    " where datfrozenxid::text::bigint > 2 and datminmxid::text <> '0' limit 1"
)
"""A normal value, and its age, give the next id. It is asked last: no table was frozen beyond it before."""
DATABASES = (
    "select datname, datfrozenxid::text::bigint as xid, datminmxid::text::bigint as multi, datconnlimit = -2 as"
    " invalid, datallowconn, datname = current_database() as here, current_setting('server_version_num')::int as"
    " version from pg_database"
)
PREPARED = (
    "select gid, transaction::text::bigint as xid, database, owner, prepared::timestamptz(0)::text as since"
    " from pg_prepared_xacts"
)
SLOTS = (
    "select slot_name, slot_type, database, active_pid, xmin::text::bigint as xmin,"
    " catalog_xmin::text::bigint as catalog_xmin from pg_replication_slots where wal_status is distinct from 'lost'"
)
BACKENDS = (
    "select pid, coalesce(datname, '-') as datname, usename, application_name, coalesce(state, backend_type) as state,"
    " backend_xid::text::bigint as xid, backend_xmin::text::bigint as xmin, xact_start::timestamptz(0)::text as since"
    " from pg_stat_activity where coalesce(backend_xid, backend_xmin) is not null and pid <> pg_backend_pid()"
    " and pid not in (select pid from pg_stat_progress_vacuum) and pid not in (select pid from pg_stat_replication)"
)
STANDBYS = (
    "select r.pid, r.application_name, coalesce(r.client_addr::text, 'a socket') as client, r.state,"
    " r.backend_xmin::text::bigint as xmin from pg_stat_replication r where r.backend_xmin is not null and not exists"
    " (select from pg_replication_slots s where s.active_pid = r.pid and s.slot_type = 'logical')"
)
RELATIONS = (
    "select c.oid::bigint as oid, format('%I.%I', n.nspname, c.relname) as name, c.relkind::text as relkind,"
    " c.relfrozenxid::text::bigint as xid, c.relminmxid::text::bigint as multi, coalesce(t.name, format('%I.%I',"
    " n.nspname, c.relname)) as table, c.relpersistence = 't' as temporary, substring(n.nspname from"
    " '_temp_(\\d+)$')::int as backend from pg_class c join pg_namespace n on n.oid = c.relnamespace left join"
    " (select o.reltoastrelid, format('%I.%I', m.nspname, o.relname) as name from pg_class o join pg_namespace m"
    " on m.oid = o.relnamespace where o.reltoastrelid <> 0) t on t.reltoastrelid = c.oid where c.relkind in"
    " ('r', 'm', 't')"
)
SESSION = (
    "select case when pg_stat_get_backend_dbid(%s) = (select oid from pg_database where datname = current_database())"
    " then pg_stat_get_backend_pid(%s) else 0 end as pid"
)
ALONE = (
    "select case when exists (select from pg_stat_activity where datname = current_database() and pid <>"
    " pg_backend_pid() and backend_type = 'client backend') then null else 0 end as pid"
)
"""Before 16 no function finds the session of pg_temp_N; but if there is none, it has none."""
MEMBERS = (
    "select next_multixact_id::text::bigint as next_multi, oldest_multi_xid::text::bigint as oldest_multi,"
    " next_multi_offset::text::bigint as next_offset from pg_control_checkpoint()"
)


SETTING = "select name, setting from pg_settings where name like '%age'"


def _connect(conninfo: str) -> Connection:
    connection = psycopg.connect(conninfo, autocommit=True, row_factory=dict_row, client_encoding="UTF8")
    connection.execute("set default_transaction_read_only = on")
    return connection


def _all(connection: Connection, query: str) -> list[dict[str, Any]]:
    return connection.execute(query.encode()).fetchall()


def _holders(connection: Connection) -> list[Holder]:
    found = list[Holder]()
    for row in _all(connection, PREPARED):
        says = f"database {row['database']}, of {row['owner']}, since {row['since']}"
        found.append(prepared(row["gid"], row["xid"], row["database"], says))
    for row in _all(connection, SLOTS):
        says = f"{row['slot_type']}{', database ' + row['database'] if row['database'] else ''}"
        says += ", in use" if row["active_pid"] else ", nobody uses it"
        physical = row["slot_type"] == "physical"
        found += slot(
            row["slot_name"], row["xmin"] or 0, row["catalog_xmin"] or 0, says, row["active_pid"], physical=physical
        )
    for row in _all(connection, BACKENDS):
        both = [(xid, column) for xid, column in ((row["xid"], "backend_xid"), (row["xmin"], "backend_xmin")) if xid]
        xid, column = min(both, key=lambda one: XID.difference(one[0], both[0][0]))
        says = f"{row['state']}, database {row['datname']}, {row['usename']} {row['application_name']}".rstrip()
        do = f"end its transaction in its client, or SELECT pg_terminate_backend({row['pid']})"
        says = f"{says}, transaction since {row['since']}, {column} {xid}"
        found.append(Holder("backend", str(row["pid"]), xid, says, do, is_origin=column == "backend_xid"))
    for row in _all(connection, STANDBYS):
        says = f"from {row['client']}, {row['state']}, by hot_standby_feedback, backend_xmin {row['xmin']}"
        found.append(Holder("standby", row["application_name"], row["xmin"], says, AT_STANDBY))
    return found


def _relations(connection: Connection, version: int) -> list[Relation]:
    found = list[Relation]()
    for row in _all(connection, RELATIONS):
        session = None
        if row["temporary"]:
            by_number = version >= 160000 and row["backend"] is not None
            asked = connection.execute(SESSION, [row["backend"]] * 2) if by_number else connection.execute(ALONE)
            session = asked.fetchall()[0]["pid"]
        ids = (row["oid"], row["name"], row["relkind"], row["xid"], row["multi"])
        found.append(Relation(*ids, row["table"], row["temporary"], session))
    return found


def _members(connection: Connection) -> tuple[int, int | None]:
    """The next offset, and how many members are kept."""
    (row,) = _all(connection, MEMBERS)

    def read(name: str, at: int) -> bytes:
        with suppress(psycopg.Error):
            found = connection.execute("select pg_read_binary_file(%s, %s, 4) as it", (name, at)).fetchone()
            return bytes(found["it"]) if found else b""
        return b""

    return row["next_offset"], members(Ids(**row), read)


def _databases(connection: Connection, conninfo: str, unknown: list[str]) -> list[Database]:
    found = list[Database]()
    for row in _all(connection, DATABASES):
        one = Database(row["datname"], Pair(row["xid"], row["multi"]), row["invalid"], row["datallowconn"])
        if row["here"]:
            one = replace(one, relations=_relations(connection, row["version"]))
        elif one.connects and not one.invalid:
            try:
                with _connect(make_conninfo(conninfo, dbname=one.name)) as other:
                    one = replace(one, relations=_relations(other, row["version"]))
            except psycopg.Error as error:
                unknown.append(f"the tables of database {one.name}: {str(error).strip()}")
        found.append(one)
    return found


def state_of(where: str) -> State:
    """By a connection string, a URI or a database's name; by libpq's environment if it is empty."""
    unknown = list[str]()
    try:
        conninfo = make_conninfo(where) if "=" in where or "://" in where else make_conninfo(dbname=where or None)
        with _connect(conninfo) as connection:
            holders, databases = _holders(connection), _databases(connection, conninfo, unknown)
            (next_offset, used), given = _members(connection), _all(connection, SETTING)
            now = _all(connection, NOW)
    except psycopg.Error as error:
        raise StateError(
            f"the server says: {str(error).strip()}\nGive a connection string ('host=... dbname=... user=...'), a"
            " database's name, or the cluster's data directory; without it PGHOST, PGSERVICE and such are taken."
        ) from error
    if not now:
        raise StateError("no database has a normal datfrozenxid and datminmxid: the next ids are not known")
    if now[0]["hidden"]:
        hidden = f"{now[0]['hidden']} sessions: ask again as a superuser or a member of pg_monitor"
        unknown.append(f"{hidden}, who sees what they hold")
    if now[0]["standby"]:
        unknown.append("what holds back the primary of this standby: ask the primary")
    if used is None:
        unknown.append(
            "how many members of MultiXactIds are kept: ask again as a superuser or a member of pg_read_server_files"
        )
    settings = SETTINGS | {row["name"]: int(row["setting"]) for row in given if row["name"] in SETTINGS}
    xmax = now[0]["xmax"]
    next_xid = xmax + XID.difference(now[0]["next_xid"], xmax % SIZE)
    ids = (now[0]["system"], now[0]["version"] // 10000, now[0]["now"], next_xid, now[0]["next_multi"])
    return State(*ids, databases, holders, settings, next_offset, used, unknown)
