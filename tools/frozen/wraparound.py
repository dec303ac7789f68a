# SPDX-License-Identifier: PostgreSQL
"""How near a cluster is to the end of its ids, and what a server says and does then.

Upstream: SetTransactionIdLimit and GetNewTransactionId (src/backend/access/transam/varsup.c), SetMultiXactIdLimit,
GetNewMultiXactId and MultiXactMemberFreezeThreshold (multixact.c), 13 to 18.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tools.frozen.state import SIZE, State

KINDS = (("datfrozenxid", "relfrozenxid", "XID", 3), ("datminmxid", "relminmxid", "MultiXactId", 1))
"""The columns of pg_database and pg_class, what is in them, and the first normal one."""
LIMITS = {
    13: ((11_000_000, 1_000_000), (10_000_100, 100)),
    14: ((40_000_000, 3_000_000), (40_000_000, 3_000_000)),
}
"""From which major on: how many XIDs, and MultiXactIds, before the end a server warns, and gives out no more."""
AGES = (
    ("autovacuum_freeze_max_age", "vacuum_failsafe_age"),
    ("autovacuum_multixact_freeze_max_age", "vacuum_multixact_failsafe_age"),
)
MEMBERS_SAFE = SIZE // 2
"""MULTIXACT_MEMBER_SAFE_THRESHOLD: with more autovacuum forces itself."""
MEMBERS_REFUSED = 2 * 52352
"""Two segments of pg_multixact/members: the last that is free is not used, and the oldest is in part."""


def left(value: int, next_id: int, first: int) -> int | None:
    """How many ids can be taken before the value lies in the future: negative if it does; None: it is not normal."""
    end = (value + SIZE // 2 - 1) % SIZE
    if value < first:
        return None
    rest = (end + first * (end < first) - next_id) % SIZE
    return rest if rest < SIZE // 2 else rest - SIZE


@dataclass(frozen=True)
class Room:
    """How many ids of a kind are left until autovacuum forces itself, a server warns, and it gives out no more.

    Negative: since so many. `database` is the one with the oldest, or "" of members, of which no server warns early.
    """

    what: str
    database: str
    until: dict[str, int]


def rooms(state: State) -> Iterator[Room]:
    """None of a kind of which no database has a usable value."""
    limits = LIMITS[max((major for major in LIMITS if major <= state.major), default=13)]
    for i, (_, _, what, first) in enumerate(KINDS):
        rests = [
            (rest, one.name)
            for one in state.databases
            if not one.invalid and (rest := left(one.dat[i], state.next_ids[i], first)) is not None and rest >= 0
        ]
        if rests:
            rest, name = min(rests)
            forced = rest - (SIZE // 2 - 1 - state.settings[AGES[i][0]])
            yield Room(what, name, {"forced": forced, "warns": rest - limits[i][0], "refuses": rest - limits[i][1]})
    if state.members is not None:
        refuses = SIZE - MEMBERS_REFUSED - state.members
        yield Room("member", "", {"forced": MEMBERS_SAFE - state.members, "refuses": refuses})
