# SPDX-License-Identifier: PostgreSQL
"""Random small worlds, in which every way to skip, filter, suspend and evict is common.

A world is made of a size and a seed, so that one costs little and a failure names it by two numbers.
"""

import random

from ref.prefetch import BlockReference, Effect, Record, Relation
from tests.prefetch.world import World

RELATIONS = [Relation(*key) for key in ((1663, 5, 16384), (1700, 5, 16384), (1663, 6, 16384), (1663, 6, 16385))]
"""Each two differ in one part of the key, or in two."""
BLOCKS = 6
MOST = 25
"""Records of a world, at most."""
EFFECTS = [Effect.NONE] * 8 + list(Effect)


def reference(dice: random.Random) -> BlockReference:
    return BlockReference(
        relation=dice.choice(RELATIONS),
        block=dice.randrange(BLOCKS),
        fork=int(dice.random() < 0.1),
        has_image=dice.random() < 0.1,
        will_init=dice.random() < 0.1,
        in_use=dice.random() < 0.9,
    )


def wal(dice: random.Random, size: int) -> list[Record]:
    """Records in order; some leave a gap before the next, as at a WAL page boundary."""
    records, lsn = [], 100
    for _ in range(size):
        end = lsn + dice.choice([1, 1, 3])
        blocks = tuple(reference(dice) for _ in range(dice.choice([0, 1, 1, 2, 3])))
        effect, relation, block = dice.choice(EFFECTS), dice.choice(RELATIONS), dice.randrange(BLOCKS)
        records.append(Record(lsn, end, blocks, effect, relation, block))
        lsn = end + dice.choice([0, 0, 2])
    return records


def random_world(size: int, seed: int) -> World:
    """A world of `size` records."""
    dice = random.Random(f"{size} {seed}")
    return World(
        wal(dice, size),
        {relation: dice.randint(1, BLOCKS) for relation in RELATIONS if dice.random() < 0.6},
        pool=dice.choice([0, 1, 2, 4]),
        room=dice.choice([1, 2, 3, 1000, 1000]),
        lateness=[dice.randint(0, i) if dice.random() < 0.2 else 0 for i in range(size)],
    )
