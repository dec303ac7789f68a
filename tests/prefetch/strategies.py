# SPDX-License-Identifier: PostgreSQL
"""Hypothesis strategies: small worlds in which every way to skip, filter, suspend and evict is common."""

from typing import Any

from hypothesis import strategies as st

from ref.prefetch import BlockReference, Effect, Record, Relation
from tests.prefetch.world import World

RELATIONS = [Relation(1663, database, number) for database in (5, 6) for number in (16384, 16385)]
BLOCKS = st.integers(0, 5)

references = st.builds(
    BlockReference,
    relation=st.sampled_from(RELATIONS),
    block=BLOCKS,
    fork=st.sampled_from([0, 0, 0, 0, 1]),
    has_image=st.sampled_from([False] * 5 + [True]),
    will_init=st.sampled_from([False] * 5 + [True]),
    in_use=st.sampled_from([True] * 5 + [False]),
)


@st.composite
def wal(draw: st.DrawFn, most: int = 25) -> list[Record]:
    """Records in order; some leave a gap before the next, as at a WAL page boundary."""
    records, lsn = [], 100
    for _ in range(draw(st.integers(1, most))):
        effect = draw(st.sampled_from([Effect.NONE] * 8 + list(Effect)))
        fields: dict[str, Any] = {}
        if effect is not Effect.NONE:
            fields = {"relation": draw(st.sampled_from(RELATIONS)), "block": draw(BLOCKS)}
        end = lsn + draw(st.sampled_from([1, 1, 3]))
        blocks = tuple(draw(st.lists(references, max_size=3)))
        records.append(Record(lsn, end, blocks, effect, **fields))
        lsn = end + draw(st.sampled_from([0, 0, 2]))
    return records


@st.composite
def worlds(draw: st.DrawFn) -> World:
    records = draw(wal())
    present = draw(st.lists(st.sampled_from(RELATIONS), unique=True))
    return World(
        records,
        {relation: draw(BLOCKS) for relation in present},
        pool=draw(st.integers(0, 4)),
        room=draw(st.sampled_from([1, 2, 3, 1000])),
        lateness=draw(st.lists(st.integers(0, len(records)), max_size=len(records))),
    )


concurrencies = st.sampled_from([0, 1, 1, 2, 3, 8])
