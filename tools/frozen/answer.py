# SPDX-License-Identifier: PostgreSQL
"""The verdict on a cluster's ids: who holds them back, how much room is left, and what to do."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from _pgquern import lib
from pgquern.datfrozenxid import min_frozen_strided, need_update
from pgquern.errors import PgquernError

from ref.datfrozenxid import RELKINDS, Pair
from ref.xid import XID
from tools.frozen.state import SIZE, TEMPORARY, Database, Holder, Relation, State, StateError, temporary
from tools.frozen.wraparound import AGES, KINDS, LIMITS, Room, left, rooms

TOP = 10
FUTURE = {lib.PGQ_DATFROZENXID_FUTURE_XID: 0, lib.PGQ_DATFROZENXID_FUTURE_MULTI: 1}
MEND = (
    "VACUUM (FREEZE) {table}, in database {database}: it sets the value anew. While it stands, no VACUUM moves that"
    " database's {dat}, and the server says nothing"
)
OLDER_ROWS = (
    ". If it fails (found xmin ... from before relfrozenxid), rows are left that are not frozen: then dump and reload"
    " the table; if it is a catalog, the database"
)
STOPS = "VACUUM any table in that database. Until then no VACUUM cuts pg_xact and pg_multixact"


@dataclass(frozen=True)
class Finding:
    """Something that is not well, and the command that mends it."""

    kind: str
    says: str
    do: str


@dataclass(frozen=True)
class Outcome:
    """What vac_update_datfrozenxid would do in a database: `minimum` is None if it gives up at `future`.

    `after` is what pg_database has then; None if a table has a permanent XID, of which a server makes what it will.
    """

    minimum: Pair | None
    future: tuple[Relation, int] | None
    after: Pair | None


@dataclass(frozen=True)
class Answer:
    """The worst finding comes first; holders, by age, too."""

    state: State
    rooms: list[Room]
    findings: list[Finding]
    holders: list[Holder]
    outcomes: dict[str, Outcome]

    def age(self, holder: Holder) -> int:
        return XID.difference(self.state.next_ids.xid, holder.xid)


def outcome(state: State, database: Database) -> Outcome:
    """What the kernels say."""
    rows = [(one.relkind if one.relkind.isascii() else "?", one.relfrozenxid, one.relminmxid)
            for one in database.relations]  # fmt: skip
    try:
        minimum = Pair(*min_frozen_strided(rows, state.start, state.next_ids))
    except PgquernError as error:
        if error.code not in FUTURE:
            raise StateError(f"database {database.name}: {error}") from error
        return Outcome(None, (database.relations[error.index - 1], FUTURE[error.code]), database.dat)
    if not XID.is_normal(minimum.xid):
        return Outcome(minimum, None, None)
    replaces = need_update(database.dat, minimum, state.next_ids)
    after = Pair(*(new if yes else old for yes, new, old in zip(replaces, minimum, database.dat, strict=True)))
    return Outcome(minimum, None, after)


def age(value: int, kind: int, next_id: int) -> int | None:
    """Negative: the value lies in the future. None: a permanent XID."""
    return None if value < KINDS[kind][3] else (next_id - value + SIZE // 2) % SIZE - SIZE // 2


def oldest(state: State, database: Database, kind: int) -> list[tuple[int | None, Relation]]:
    """Its tables by age; a permanent XID comes first, and invalid values do not count."""
    found = [(age(value, kind, state.next_ids[kind]), one) for one in database.relations
             if one.relkind in RELKINDS and (value := getattr(one, KINDS[kind][1]))]  # fmt: skip
    return sorted(found, key=lambda pair: (pair[0] is not None, -(pair[0] or 0), pair[1].oid))


def vacuum(state: State, database: Database, kind: int, command: str = "VACUUM (FREEZE)") -> str:
    """The command, with the tables that are older than autovacuum lets them become."""
    name = database.name if re.fullmatch("[a-z_][a-z0-9_]*", database.name) else f'"{database.name}"'
    if not database.connects:
        return (
            f"see that autovacuum runs; or ALTER DATABASE {name} ALLOW_CONNECTIONS true, {command} in it as a"
            " superuser, and set it to false again"
        )
    limit = state.settings[AGES[kind][0]]
    tables = [one.table or one.name for at, one in oldest(state, database, kind)
              if not one.temporary and (at is None or at > limit)]  # fmt: skip
    named = ", ".join(list(dict.fromkeys(tables))[:TOP])
    more = ", and what pgquern frozen names then" if len(set(tables)) > TOP else ""
    return f"{command}{' ' * bool(named)}{named}{more}, in database {name} as a superuser"


def _near(state: State, held: bool) -> Iterator[Finding]:
    """Each database near the end of its ids, or whose value cannot be."""
    limits = LIMITS[max((major for major in LIMITS if major <= state.major), default=13)]
    first = "first end what is HELD BACK here; then " if held else ""
    for i, (column, _, what, normal) in enumerate(KINDS):
        for one in (database for database in state.databases if not database.invalid):
            rest, says = left(one.dat[i], state.next_ids[i], normal), f"{column} {one.dat[i]} of database {one.name}"
            if rest is None:
                yield Finding("WRONG", f"{says} is no normal {what}", STOPS)
            elif rest < 0:
                yield Finding("WRONG", f"{says} lies in the future (the next {what} is {state.next_ids[i]})", STOPS)
            elif rest <= limits[i][1]:
                do = first + vacuum(state, one, i, "VACUUM")
                yield Finding("REFUSED", f"no new {what}: {says}, {rest:,} {what}s before the end", do)
            elif rest <= limits[i][0]:
                do = first + vacuum(state, one, i)
                yield Finding("WARNING", f"{says}: {rest:,} {what}s before the end", do)
            elif (since := SIZE // 2 - 1 - rest) > state.settings[AGES[i][1]]:
                do = first + vacuum(state, one, i)
                yield Finding("LATE", f"{says} is {since:,} {what}s old: autovacuum should have moved it", do)


def _wrong(state: State, database: Database, found: Outcome) -> Iterator[Finding]:
    """In a database: what makes the function give up, or what it has overtaken."""
    if found.future:
        one, kind = found.future
        says = f"{KINDS[kind][1]} {getattr(one, KINDS[kind][1])} of {one.name} (oid {one.oid}), database"
        says += f" {database.name}, lies in the future: vac_update_datfrozenxid would change nothing"
        mend = MEND.format(table=one.table or one.name, database=database.name, dat="datfrozenxid and datminmxid")
        yield Finding("GIVES UP", says, mend + OLDER_ROWS * (kind == 0))
    for i, (column, held_in, _, _) in enumerate(KINDS):
        at = age(database.dat[i], i, state.next_ids[i])
        for since, one in oldest(state, database, i)[:1]:
            of = f"{held_in} {getattr(one, held_in)} of {one.name} (oid {one.oid}), database {database.name}"
            do = f"VACUUM (FREEZE) {one.table or one.name}, in that database"
            if since is None:
                yield Finding("PERMANENT", f"{of}: no table has that XID, it is corrupt", do)
            elif at is not None and since > at >= 0:
                says = f"{column} {database.dat[i]} lies beyond {of}: what its rows need of pg_xact may be cut off"
                yield Finding("OVERTAKEN", says, f"ask again; if it stays, {do} before any other")


ORDER = ("REFUSED", "WARNING", "HELD BACK", "LATE", "GIVES UP", "PERMANENT", "OVERTAKEN", "WRONG")


def judge(state: State) -> Answer:
    """StateError: the tables cannot be judged."""
    tables = dict[tuple[str, str], Holder]()
    for database in state.databases:
        for _, one in reversed(oldest(state, database, 0)):
            if one.temporary and XID.is_normal(one.relfrozenxid):
                tables[database.name, one.table or one.name] = temporary(one, database.name)
    limit, next_xid = state.settings[AGES[0][0]], state.next_ids.xid
    # Of those of one age the transaction with that XID comes first: snapshots are as old because of it.
    holders = sorted(
        [*state.holders, *tables.values()],
        key=lambda one: (-XID.difference(next_xid, one.xid), not one.is_origin, one.kind, one.name),
    )
    held = [
        Finding(
            "HELD BACK",
            f"{one.kind} {one.name} holds {'its datfrozenxid' if one.kind == TEMPORARY else 'the horizon'}: it is"
            f" {at:,} XIDs old, more than autovacuum_freeze_max_age ({limit:,}) ({one.says})",
            one.do,
        )
        for one in holders
        if (at := XID.difference(next_xid, one.xid)) > limit
    ]
    outcomes = {one.name: outcome(state, one) for one in state.databases if one.relations and not one.invalid}
    found = [*held, *_near(state, bool(held))]
    for database in state.databases:
        if database.name in outcomes:
            found += _wrong(state, database, outcomes[database.name])
    room = list(rooms(state))
    for space in (space for space in room if space.what == "member" and space.until["forced"] < 0):
        do = "VACUUM (FREEZE) the tables with the oldest relminmxid"
        if space.until["refuses"] <= 0:
            found.append(Finding("REFUSED", "no new MultiXactId: the space of their members is full", do))
        else:
            says = f"{-space.until['forced']:,} members of MultiXactIds more are kept than autovacuum lets become"
            found.append(Finding("LATE", says, do))
    found.sort(key=lambda one: ORDER.index(one.kind))
    return Answer(state, room, found, holders, outcomes)
