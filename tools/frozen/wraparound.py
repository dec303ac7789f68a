# SPDX-License-Identifier: PostgreSQL
"""How near the databases of a cluster are to the end of their ids, and what a server says and does then.

Upstream: SetTransactionIdLimit and GetNewTransactionId (src/backend/access/transam/varsup.c), SetMultiXactIdLimit and
GetNewMultiXactId (multixact.c), vac_truncate_clog (src/backend/commands/vacuum.c), 13 to 18.
"""

from collections.abc import Iterator, Sequence

from ref.datfrozenxid import Pair
from tools.frozen.listing import SETTINGS, SIZE, Database, Stored

KINDS = (("datfrozenxid", "XID", 3), ("datminmxid", "MultiXactId", 1))
"""The column of pg_database, what is in it, and the first normal one."""
LIMITS = {
    13: ((11_000_000, 1_000_000), (10_000_100, 100)),
    14: ((40_000_000, 3_000_000), (40_000_000, 3_000_000)),
}
"""From which major on: how many XIDs, and MultiXactIds, before the end a server warns, and gives out no more."""
VACUUM_IT = (
    "What to do: end old transactions, commit or roll back prepared ones, drop replication slots that nobody reads, and"
    " run VACUUM (not FULL) in that database as a superuser. One that takes no connections, such as template0, is"
    " autovacuum's task: see that it runs."
)
STOPS = "No VACUUM cuts pg_xact and pg_multixact while it stands. What to do: VACUUM any table in that database."


def shown(name: str) -> str:
    """As it is, unless it holds what would start a new line or command the terminal."""
    return name if name.isprintable() else ascii(name)


def left(value: int, next_id: int, first: int) -> int | None:
    """How many ids can be taken before the value lies in the future: negative if it does; None: it is not normal."""
    end = (value + SIZE // 2 - 1) % SIZE
    if value < first:
        return None
    rest = (end + first * (end < first) - next_id) % SIZE
    return rest if rest < SIZE // 2 else rest - SIZE


def warnings(databases: Sequence[Database], next_ids: Pair, stored: Stored | None) -> Iterator[str]:
    """Of all databases; and of the horizon, if it is known."""
    version = stored.server_version_num if stored else SETTINGS["server_version_num"]
    limits = LIMITS[max((major for major in LIMITS if major * 10000 <= version), default=13)]
    near = False
    for i, (column, what, first) in enumerate(KINDS):
        warned, refused = limits[i]
        for one in databases:
            rest, said = left(one.dat[i], next_ids[i], first), f"{column} {one.dat[i]} of database {shown(one.name)}"
            if rest is None or rest < 0:
                # What happens to that of this database is said elsewhere.
                if stored and one.name != stored.database:
                    ahead = f"lies in the future (the next {what} is {next_ids[i]})"
                    yield f"WRONG: {said} {f'is no normal {what}' if rest is None else ahead}. {STOPS}"
            elif rest <= warned:
                near = True
                end = f"{rest:,} {what}s before the end"
                yield f"REFUSED: no new {what}: {said}, {end}" if rest <= refused else f"WARNING: {said}: {end}"
    if near:
        yield VACUUM_IT
    if stored and stored.horizon_age > stored.freeze_max_age:
        yield (
            f"HELD BACK: the oldest transaction, slot or snapshot is {stored.horizon_age:,} XIDs old, more than"
            f" autovacuum_freeze_max_age ({stored.freeze_max_age:,}): no VACUUM freezes what is younger, each warns."
            " What to do: end it, commit or roll it back, or drop the slot."
        )
