# SPDX-License-Identifier: PostgreSQL
"""A world for the recovery prefetcher: WAL that may arrive late, relations that come and go, a small buffer pool.

`replay` drives a prefetcher through it as the startup process does: read a record, replay it, and so on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ref.prefetch import MAIN_FORK, BlockReference, Effect, Event, Prefetcher, Record, Relation, Ring

Page = tuple[Relation, int]
"""A page's name: its relation and block number."""


@dataclass
class World:
    """Implements Wal and Storage. sizes: blocks of each relation at the start; pool: buffers; room: decode queue."""

    records: Sequence[Record]
    sizes: dict[Relation, int]
    pool: int
    room: int = 1 << 30
    lateness: Sequence[int] = ()
    """lateness[i]: record i arrives once so many records have been replayed. Missing: at once."""
    decoded: int = 0
    replayed: int = 0
    buffers: list[Page | None] = field(default_factory=list)
    """buffers[i]: the page in buffer i, None if that page is gone. The next page that needs one takes them in turn."""
    hand: int = 0
    pages: dict[Page, list[int]] = field(default_factory=dict)
    """The LSNs of the records that changed each page."""
    corners: set[str] = field(default_factory=set)
    """What has come up in this world beside the prefetcher's events."""

    def read_ahead(self, queued: int, *, nonblocking: bool) -> Record | None:
        if self.decoded == len(self.records):
            return None
        late = self.decoded < len(self.lateness) and self.lateness[self.decoded] > self.replayed
        if nonblocking and (late or queued >= self.room):
            self.corners.add("WAL is late" if late else "no room to decode")
            return None
        self.decoded += 1
        return self.records[self.decoded - 1]

    def exists(self, relation: Relation) -> bool:
        return relation in self.sizes

    def blocks(self, relation: Relation) -> int:
        return self.sizes[relation]

    def buffer(self, relation: Relation, block: int) -> int | None:
        page = (relation, block)
        return self.buffers.index(page) if page in self.buffers else None

    def apply(self, record: Record, hints: Mapping[BlockReference, int]) -> None:
        """Replays a record: its effect, then its blocks, which end in the pool."""
        if record.effect is Effect.CREATE:
            self._resize(record.relation, 0)
        elif record.effect is Effect.TRUNCATE:
            self._resize(record.relation, min(record.block, self.sizes.get(record.relation, 0)))
        elif record.effect is Effect.CREATE_DATABASE:
            for relation in [r for r in self.sizes if r.database == record.relation.database]:
                self._resize(relation, 0)
        for reference in record.blocks:
            if reference.in_use and reference.fork == MAIN_FORK:
                self._change(reference, record.lsn, hints.get(reference))
        self.replayed += 1

    def _resize(self, relation: Relation, size: int) -> None:
        """Blocks from `size` on are gone."""
        for block in range(size, self.sizes.get(relation, 0)):
            page = (relation, block)
            self.pages.pop(page, None)
            if page in self.buffers:
                self.buffers[self.buffers.index(page)] = None
        self.sizes[relation] = size

    def _change(self, reference: BlockReference, lsn: int, hint: int | None) -> None:
        """Change the block's page. A hint says in which buffer it was when it was looked at.

        A block that is written anew may be beyond the end: its file grows, and the blocks between are there too.
        A block that is changed and is not there is lost, but its file is made: a record to come removes it.
        """
        relation, block = reference.relation, reference.block
        page, size, anew = (relation, block), self.sizes.get(relation, 0), reference.has_image or reference.will_init
        self.sizes[relation] = max(size, block + 1) if anew else size
        if block >= self.sizes[relation]:
            self.corners.add("block lost")
            return
        for new in [(relation, number) for number in range(size, block + 1)]:
            self._load(new)
        self._load(page)
        if hint is not None and (hint >= len(self.buffers) or self.buffers[hint] != page):
            self.corners.add("stale hint")
        self.pages.setdefault(page, []).append(lsn)

    def _load(self, page: Page) -> None:
        """Bring a page into a buffer, if there are any and it is in none."""
        if page in self.buffers or not self.pool:
            return
        if len(self.buffers) < self.pool:
            self.buffers.append(page)
        else:
            self.buffers[self.hand] = page
            self.hand = (self.hand + 1) % self.pool


@dataclass
class Seen:
    """What happened, in order."""

    replayed: list[Record] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    script: list[str] = field(default_factory=list)
    """a<block> for an advise, p<block> for a block that replay uses."""
    advised: list[int] = field(default_factory=list)
    """After each look-ahead: how many advised references stand in records that have not been replayed."""
    looked_at: list[int] = field(default_factory=list)
    """And how many references were looked at, of these records."""
    counters: dict[str, int] = field(default_factory=dict)
    rings: list[tuple[int, int]] = field(default_factory=list)
    """After each look-ahead: what the ring counts as in flight, and how many of its entries have an I/O."""
    log: list[Event | Record | int] = field(default_factory=list)
    """All in its order: what became of a reference, a record that was replayed, the concurrency that was set."""


class Reader(Protocol):
    """A prefetcher, as `replay` uses it: the definition, or a kernel in its shape."""

    @property
    def events(self) -> list[Event]: ...
    @property
    def counters(self) -> dict[str, int]: ...
    @property
    def ring(self) -> Ring: ...
    def reconfigure(self, concurrency: int) -> None: ...
    def read_record(self) -> Record | None: ...


def replay(
    world: World,
    concurrency: int,
    *,
    make: Callable[..., Reader] = Prefetcher,
    changes: Mapping[int, int] | None = None,
) -> Seen:
    """Replays the whole world. changes: {records replayed: new concurrency}."""
    seen = Seen()
    prefetcher = make(world, world, concurrency, world.records[0].lsn if world.records else 1)
    ahead: list[Event] = []  # what was looked at of records not replayed yet
    while True:
        if changes and world.replayed in changes:
            prefetcher.reconfigure(changes[world.replayed])
            seen.log.append(changes[world.replayed])
        before = len(seen.events)
        record = prefetcher.read_record()
        seen.events += prefetcher.events[before:]
        seen.log += prefetcher.events[before:]
        ahead += seen.events[before:]
        seen.script += [f"a{event.reference.block}" for event in seen.events[before:] if event.what == "prefetch"]
        seen.advised.append(sum(event.what == "prefetch" for event in ahead))
        seen.looked_at.append(len(ahead))
        seen.rings.append((prefetcher.ring.inflight, sum(io for _, io in prefetcher.ring.entries)))
        if record is None:
            seen.counters = prefetcher.counters
            return seen
        mine = [event for event in ahead if event.lsn <= record.lsn]
        ahead = ahead[len(mine) :]
        world.apply(record, {event.reference: event.buffer for event in mine if event.buffer is not None})
        if len(mine) < sum(reference.in_use for reference in record.blocks) and concurrency:
            world.corners.add("references forgotten")
        seen.script += [f"p{reference.block}" for reference in record.blocks]
        seen.replayed.append(record)
        seen.log.append(record)
