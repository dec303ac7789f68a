# SPDX-License-Identifier: PostgreSQL
"""A world for the recovery prefetcher: WAL that may arrive late, relations that come and go, a small buffer pool.

`replay` drives a prefetcher through it as the startup process does: read a record, replay it, and so on. It keeps what
the properties speak of in ghost sets of its own, and never looks at the prefetcher's counters.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ref.prefetch import MAIN_FORK, BlockReference, Effect, Event, Prefetcher, Record, Relation

HINT_LIFETIME = 1 << 30


@dataclass
class World:
    """Implements Wal and Storage. sizes: blocks of each relation at the start; pool: buffers; room: decode queue."""

    records: Sequence[Record]
    sizes: dict[Relation, int]
    pool: int
    room: int = HINT_LIFETIME
    lateness: Sequence[int] = ()
    """lateness[i]: record i arrives once so many records have been replayed. Missing: at once."""
    decoded: int = 0
    replayed: int = 0
    generation: dict[tuple[Relation, int], int] = field(default_factory=dict)
    """How often a block was created, extended, truncated away or dropped: a block of another generation is another."""
    buffers: OrderedDict[tuple[Relation, int], int] = field(default_factory=OrderedDict)
    allocated: int = 0

    def read_ahead(self, queued: int, *, nonblocking: bool) -> Record | None:
        if self.decoded == len(self.records):
            return None
        late = self.decoded < len(self.lateness) and self.lateness[self.decoded] > self.replayed
        if nonblocking and (late or queued >= self.room):
            return None
        self.decoded += 1
        return self.records[self.decoded - 1]

    def exists(self, relation: Relation) -> bool:
        return relation in self.sizes

    def blocks(self, relation: Relation) -> int:
        return self.sizes[relation]

    def buffer(self, relation: Relation, block: int) -> int | None:
        return self.buffers.get((relation, block))

    def apply(self, record: Record) -> None:
        """Replays a record: its effect, then its blocks, which are created if they do not exist and end in the pool."""
        if record.effect is Effect.CREATE:
            self._resize(record.relation, 0)
        elif record.effect is Effect.TRUNCATE:
            self._resize(record.relation, min(record.block, self.sizes.get(record.relation, 0)))
        elif record.effect is Effect.CREATE_DATABASE:
            for relation in [r for r in self.sizes if r.database == record.relation.database]:
                self._resize(relation, 0)
        for reference in record.blocks:
            if reference.in_use and reference.fork == MAIN_FORK:
                self._touch(reference.relation, reference.block)
        self.replayed += 1

    def _resize(self, relation: Relation, size: int) -> None:
        """Blocks from `size` on are gone."""
        old = self.sizes.get(relation, 0)
        for block in range(size, old):
            self.generation[relation, block] = self.generation.get((relation, block), 0) + 1
            self.buffers.pop((relation, block), None)
        self.sizes[relation] = size

    def _touch(self, relation: Relation, block: int) -> None:
        for new in range(self.sizes.get(relation, 0), block + 1):
            self.generation[relation, new] = self.generation.get((relation, new), 0) + 1
        self.sizes[relation] = max(self.sizes.get(relation, 0), block + 1)
        self.buffers.pop((relation, block), None)
        while self.pool and len(self.buffers) >= self.pool:
            self.buffers.popitem(last=False)
        if self.pool:
            self.allocated += 1
            self.buffers[relation, block] = self.allocated


@dataclass
class Seen:
    """What happened, in order."""

    replayed: list[Record] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    script: list[str] = field(default_factory=list)
    """a<block> for an advise, p<block> for a block that replay uses."""
    unreplayed: list[int] = field(default_factory=list)
    """After each look-ahead: how many advised references stand in records that have not been replayed."""
    wrong_generation: list[Event] = field(default_factory=list)
    """Advises of a block that another block of the same name replaced before its record was replayed."""
    late: list[Event] = field(default_factory=list)
    """What was looked at only after its record had been given out."""


def replay(
    world: World,
    concurrency: int,
    *,
    make: Callable[..., Prefetcher] = Prefetcher,
    changes: dict[int, int] | None = None,
) -> Seen:
    """Replays the whole world. changes: {records replayed: new concurrency}."""
    seen, at_advise = Seen(), {}
    prefetcher = make(world, world, concurrency, world.records[0].lsn if world.records else 1)
    while True:
        if changes and world.replayed in changes:
            prefetcher.reconfigure(changes[world.replayed])
        before = len(prefetcher.events)
        record = prefetcher.read_record()
        new = prefetcher.events[before:]
        seen.events += new
        for event in new:
            key = (event.reference.relation, event.reference.block)
            if event.what == "prefetch":
                at_advise[id(event)] = world.generation.get(key, 0)
                seen.script.append(f"a{event.reference.block}")
        given = seen.replayed[-1].lsn if seen.replayed else 0
        seen.late += [event for event in new if event.lsn <= given]
        advised = [event for event in seen.events if event.what == "prefetch"]
        seen.unreplayed.append(sum(event.lsn > given for event in advised))
        if record is None:
            return seen
        for event in advised:
            now = world.generation.get((event.reference.relation, event.reference.block), 0)
            if event.lsn == record.lsn and now != at_advise[id(event)]:
                seen.wrong_generation.append(event)
        world.apply(record)
        seen.script += [f"p{reference.block}" for reference in record.blocks]
        seen.replayed.append(record)


def looked_at(records: Sequence[Record]) -> list[tuple[int, BlockReference]]:
    """Every reference that could be looked at, with its record's LSN."""
    return [(record.lsn, reference) for record in records for reference in record.blocks if reference.in_use]
