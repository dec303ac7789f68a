# SPDX-License-Identifier: PostgreSQL
"""What is known of a cluster's ids: by a connection (server.py), or from its files (files.py)."""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from ref.datfrozenxid import Pair
from ref.xid import XID
from tools.common.relation_file import Ids

SIZE = 2**32
TEMPORARY = "temporary table"
PREPARED = "prepared transaction"
AT_STANDBY = (
    "on the standby end its oldest query (SELECT pid, query FROM pg_stat_activity ORDER BY age(backend_xmin) DESC NULLS"
    " LAST), or ALTER SYSTEM SET hot_standby_feedback = off and SELECT pg_reload_conf()"
)
SETTINGS = {
    "autovacuum_freeze_max_age": 200_000_000,
    "autovacuum_multixact_freeze_max_age": 400_000_000,
    "vacuum_failsafe_age": 1_600_000_000,
    "vacuum_multixact_failsafe_age": 1_600_000_000,
}
"""And their defaults. 13 has no failsafe, but it is late there, too."""
OFFSETS_A_SEGMENT = 65536
"""MultiXactIds in a file of pg_multixact/offsets, four bytes each."""


class StateError(ValueError):
    """Nothing can be said; the text says why and what to do."""


@dataclass(frozen=True)
class Relation:
    """A row of pg_class. `table` is what a command names: of a TOAST table its owner, with the schema.

    `session`: of a temporary table, the process id of its session; 0: no session has it; None: not known.
    """

    oid: int
    name: str
    relkind: str
    relfrozenxid: int
    relminmxid: int
    table: str = ""
    temporary: bool = False
    session: int | None = None


@dataclass(frozen=True)
class Database:
    """A row of pg_database. `invalid`: its DROP DATABASE was broken off, and no server counts its ids.

    `relations` is empty if they could not be read.
    """

    name: str
    dat: Pair
    invalid: bool = False
    connects: bool = True
    relations: list[Relation] = field(default_factory=list)


@dataclass(frozen=True)
class Holder:
    """What needs the rows that XID `xid` and later ones deleted; `do` ends it."""

    kind: str
    name: str
    xid: int
    says: str
    do: str
    is_origin: bool = False
    """It has the XID itself, and no snapshot that is as old as another's."""


@dataclass(frozen=True)
class State:
    """`when` is in seconds since 1970, `next_xid` has its epoch; `unknown` are sentences.

    `members` are used and `next_offset` the next one, of pg_multixact/members, at the last checkpoint.
    """

    system: str
    major: int
    when: float
    next_xid: int
    next_multi: int
    databases: list[Database]
    holders: list[Holder]
    settings: dict[str, int]
    next_offset: int = 0
    members: int | None = None
    unknown: list[str] = field(default_factory=list)

    @property
    def next_ids(self) -> Pair:
        """As pg_class has them."""
        return Pair(self.next_xid % SIZE, self.next_multi)

    @property
    def start(self) -> Pair:
        """Where vac_update_datfrozenxid begins: at the oldest of what runs, and at the next MultiXactId."""
        ages = [XID.difference(self.next_ids.xid, one.xid) for one in self.holders]
        start = (self.next_xid - max([0, *ages])) % SIZE
        return Pair(start if XID.is_normal(start) else self.next_ids.xid, self.next_multi)


def members(ids: Ids, read: Callable[[str, int], bytes]) -> int | None:
    """How many members of MultiXactIds are kept; None if that cannot be read.

    `read` gives four bytes of a file of the data directory from a place on.
    """
    if ids.oldest_multi == ids.next_multi:
        return 0
    segment, at = divmod(ids.oldest_multi, OFFSETS_A_SEGMENT)
    found = read(f"pg_multixact/offsets/{segment:04X}", 4 * at)
    first = struct.unpack("<I", found)[0] if len(found) == 4 else 0
    return (ids.next_offset - first) % SIZE if first else None


def literal(text: str) -> str:
    """As SQL has it."""
    return ("E" if "\\" in text else "") + "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def prepared(gid: str, xid: int, database: str, says: str) -> Holder:
    """A prepared transaction."""
    do = f"ROLLBACK PREPARED {literal(gid)} (or COMMIT PREPARED), in database {database}"
    return Holder(PREPARED, gid, xid, f"{says}, XID {xid}", do, is_origin=True)


def slot(
    name: str, xmin: int, catalog_xmin: int, says: str, pid: int | None = None, *, physical: bool = False
) -> list[Holder]:
    """A slot, by the older of its two XIDs; none if it has none."""
    both = [(xid, column) for xid, column in ((xmin, "xmin"), (catalog_xmin, "catalog_xmin")) if xid]
    if not both:
        return []
    xid, column = min(both, key=lambda one: XID.difference(one[0], both[0][0]))
    drop = f"SELECT pg_drop_replication_slot({literal(name)})"
    do = f"if nobody reads it any more, {drop}; else see that its consumer reads on and confirms"
    if pid and physical:
        do = AT_STANDBY
    elif pid:
        do = f"see that its consumer (process {pid}) reads on and confirms; or stop the consumer, and {drop}"
    return [Holder("slot", name, xid, f"{says}, {column} {xid}", do)]


def temporary(relation: Relation, database: str) -> Holder:
    """No autovacuum freezes a table of a session."""
    drop = f"DROP TABLE {relation.table}, in database {database}"
    says, do = f"database {database}; whether its session still lives is not known", drop
    if relation.session:
        says = f"database {database}, of the session with process {relation.session}"
        do = f"{drop}; or SELECT pg_terminate_backend({relation.session}), which drops it"
    elif relation.session == 0:
        says = f"database {database}, orphaned: no session has it"
    return Holder(TEMPORARY, relation.name, relation.relfrozenxid, f"{says}, relfrozenxid {relation.relfrozenxid}", do)
