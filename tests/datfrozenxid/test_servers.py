# SPDX-License-Identifier: PostgreSQL
"""vac_update_datfrozenxid of real servers of 13 to 18 and of Debian's 15, against the definition.

Before each call pg_class and pg_database are written by UPDATE: values that are older, equal, newer, invalid,
permanent, in the future; rows of other kinds with any values. Afterwards datfrozenxid and datminmxid must be what
ref.update() gives for the rows that pg_class holds and the bounds that the server reports. Half of the cases are close
to the wrap.
"""

from collections import Counter
from random import Random

import pytest

from ref.datfrozenxid import Ids, Pair, Row, update
from ref.xid import XID
from tests.common.tally import tally
from tests.datfrozenxid.server import SETTINGS, Database
from tests.datfrozenxid.strategies import MULTIXACTS, XIDS, normal_of
from tests.postgres.server import BUILDS, Build, Server
from tests.postgres.wrap import move_next_to_wrap

pytestmark = [pytest.mark.servers, pytest.mark.claim3]

RELATIONS, CASES = 8, 40
OTHER_KINDS = "ivScp"
FAR = 1_500_000_000
"""An age, or a distance into the future, that is less than half the ring and starts nothing in the server."""


def past(rng: Random, ids: Ids, next_id: int) -> int:
    return normal_of(ids, next_id - rng.choice([1, 2, 3, 50, 1000, 10**6, FAR, rng.randrange(FAR)]))


def future(rng: Random, ids: Ids, next_id: int) -> int:
    """Far enough ahead that the few ids assigned until the call do not reach it."""
    return normal_of(ids, next_id + rng.choice([10_000, 10**6, FAR]))


def row(rng: Random, next_ids: Pair, fault: bool) -> Row:
    kind = rng.choice("rmt" * 2 + OTHER_KINDS)
    values = []
    for ids, next_id in zip((XIDS, MULTIXACTS), next_ids, strict=True):
        may_fail = fault or kind in OTHER_KINDS
        choices = [past(rng, ids, next_id)] * 6 + [0] + ([future(rng, ids, next_id)] if may_fail else [])
        values.append(rng.choice(choices))
    return Row(kind, *values)


def stored(rng: Random, next_ids: Pair, rows: list[Row]) -> Pair:
    """Older or newer than the minimum, equal to some row, in the future, or permanent."""
    some = rng.choice(rows)
    xid = [past(rng, XIDS, next_ids.xid), some.relfrozenxid, future(rng, XIDS, next_ids.xid), next_ids.xid, 1, 2]
    multi = [past(rng, MULTIXACTS, next_ids.multi), some.relminmxid, future(rng, MULTIXACTS, next_ids.multi), 1]
    return Pair(rng.choice(xid), rng.choice(multi))


@pytest.mark.parametrize("at_wrap", [False, True], ids=["young", "at the wrap"])
@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.label)
def test_the_servers_own_function(build: Build, at_wrap: bool) -> None:
    rng = Random(build.major * 2 + at_wrap)
    outcomes: Counter[str] = Counter()
    with Server(build, settings=SETTINGS) as server:
        if at_wrap:
            move_next_to_wrap(server, 60)
        database = Database(server, RELATIONS)
        for case in range(CASES // 2):
            next_ids = database.next_ids()
            rows = [row(rng, next_ids, fault=case % 5 == 0) for _ in range(RELATIONS)]
            database.write(rows, stored(rng, next_ids, rows))
            before, table = database.stored(), database.rows()
            start, sane = database.update()
            expected = update(before, table, start, sane)
            assert database.stored() == expected.stored, (before, rows, start, sane)
            outcomes["gave up" if expected.passed is None else "written" if expected.dirty else "kept"] += 1
            tally("datfrozenxid", "calls of real servers")
        assert XID.is_normal(sane.xid)
        database.connection.close()
    assert set(outcomes) == {"gave up", "written", "kept"}, outcomes
