# SPDX-License-Identifier: PostgreSQL
"""What holds in every world, whatever the concurrency: each property by its name, over what `replay` has seen."""

from collections import Counter
from collections.abc import Callable

from ref.prefetch import COUNTERS, DISTANCE_MULTIPLIER, MAIN_FORK
from tests.prefetch.random_world import random_world
from tests.prefetch.world import Seen, World, references, replay


def is_counted_once(world: World, seen: Seen, concurrency: int) -> bool:
    """Each main-fork reference that is looked at adds to exactly one counter, the others to none."""
    main_fork = sum(event.reference.fork == MAIN_FORK for event in seen.events)
    return sum(seen.counters.values()) == main_fork and all(
        (event.what in COUNTERS) == (event.reference.fork == MAIN_FORK) for event in seen.events
    )


PROPERTIES: dict[str, Callable[[World, Seen, int], bool]] = {
    "recovery never ends early": lambda world, seen, concurrency: seen.replayed == list(world.records),
    "at most N advised blocks are unreplayed": lambda world, seen, concurrency: max(seen.advised) <= concurrency,
    "at most 4 N references are looked at ahead": lambda world, seen, concurrency: (
        max(seen.looked_at) <= DISTANCE_MULTIPLIER * concurrency
    ),
    "the ring counts what it holds": lambda world, seen, concurrency: all(count == ios for count, ios in seen.rings),
    "an advised block is the one that replay reads": lambda world, seen, concurrency: not seen.wrong_generation,
    "references are looked at before their record is replayed": lambda world, seen, concurrency: not seen.late,
    "references are looked at once": lambda world, seen, concurrency: (
        Counter((event.lsn, event.reference) for event in seen.events) <= Counter(references(world.records))
    ),
    "references are counted once": is_counted_once,
}
RESULT = "the pages are those of a replay without prefetching"


def result_is_right(world: World, size: int, seed: int) -> bool:
    """Whether `world`, which has been replayed, has the pages of a replay that looks at nothing ahead."""
    plain = random_world(size, seed)
    replay(plain, 0)
    return (world.pages, world.sizes) == (plain.pages, plain.sizes)
