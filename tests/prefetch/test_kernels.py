# SPDX-License-Identifier: PostgreSQL
"""The C prefetcher against its definition: in random worlds as a whole, and step by step with all that each asks."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from pgquern import PgquernError

from ref.prefetch import MAIN_FORK, Event, Prefetcher, Record, Relation
from tests.common.tally import tally
from tests.prefetch.kernel import KERNELS, KernelPrefetcher, state_of
from tests.prefetch.random_world import BLOCKS, EFFECTS, MOST, RELATIONS, random_world, reference
from tests.prefetch.test_oracle import cold
from tests.prefetch.world import World, replay

concurrencies = st.sampled_from([0, 1, 1, 2, 3, 8, 1000])


# ---- whole worlds --------------------------------------------------------------------------------


def test_the_picture_of_twelve_blocks() -> None:
    picture = "a1 a2 a3 p1 a4 p2 a5 p3 a6 p4 a7 p5 a8 p6 a9 p7 a10 p8 a11 p9 a12 p10 p11 p12"
    assert " ".join(replay(cold(12), 3, make=KernelPrefetcher).script) == picture


@pytest.mark.parametrize("make", KERNELS.values(), ids=KERNELS)
@given(
    st.integers(1, MOST),
    st.integers(0, 2**32 - 1),
    concurrencies,
    st.dictionaries(st.integers(0, MOST), concurrencies, max_size=3),
)
def test_every_world_is_replayed_as_by_the_definition(
    make: type[KernelPrefetcher], size: int, seed: int, concurrency: int, changes: dict[int, int]
) -> None:
    oracle = replay(random_world(size, seed), concurrency, changes=changes)
    assert replay(random_world(size, seed), concurrency, make=make, changes=changes) == oracle
    tally("prefetch", "references", len(oracle.events))


@given(st.integers(1, MOST), st.integers(0, 2**32 - 1), concurrencies, st.integers(1, MOST))
def test_recovery_that_stops_reads_its_last_record_again(size: int, seed: int, concurrency: int, stop: int) -> None:
    """Whatever was looked at beyond it; and all agree in what they then look at."""
    ends = []
    makers: list[Callable[..., Prefetcher | KernelPrefetcher]] = [Prefetcher, *KERNELS.values()]
    for make in makers:
        world = random_world(size, seed)
        prefetcher = make(world, world, concurrency, world.records[0].lsn)
        for last in world.records[:stop]:
            assert prefetcher.read_record() is last
            world.apply(last, {})
        world.decoded = world.replayed - 1
        prefetcher.begin_read(last.lsn)
        assert prefetcher.read_record() is last
        ends.append((prefetcher.events, state_of(prefetcher)))
    assert ends[1:] == ends[:1] * len(KERNELS)


@pytest.mark.parametrize("concurrency", [1, 10, 64])
@pytest.mark.parametrize("make", KERNELS.values(), ids=KERNELS)
def test_a_long_world(make: type[KernelPrefetcher], concurrency: int) -> None:
    """The ring wraps many times, and filters come and go in great number."""
    size = 600
    oracle = replay(random_world(size, 7), concurrency)
    assert replay(random_world(size, 7), concurrency, make=make) == oracle
    assert len(oracle.events) > size


# ---- step by step --------------------------------------------------------------------------------


class Asked(World):
    """A world that notes what it is asked."""

    def __init__(self, records: list[Record], sizes: dict[Relation, int], pool: int, room: int) -> None:
        super().__init__(records, dict(sizes), pool, room)
        self.asked: list[tuple[object, ...]] = []

    def read_ahead(self, queued: int, *, nonblocking: bool) -> Record | None:
        self.asked.append(("read_ahead", queued, nonblocking))
        return super().read_ahead(queued, nonblocking=nonblocking)

    def exists(self, relation: Relation) -> bool:
        self.asked.append(("exists", relation))
        return super().exists(relation)

    def blocks(self, relation: Relation) -> int:
        self.asked.append(("blocks", relation))
        return super().blocks(relation)

    def buffer(self, relation: Relation, block: int) -> int | None:
        self.asked.append(("buffer", relation, block))
        return super().buffer(relation, block)


class SideBySide(RuleBasedStateMachine):
    """WAL arrives, is read and replayed; the concurrency changes; files vanish; the WAL is corrupt. After each step the
    two agree in what they asked, in what they answered, and in all that they keep."""

    @initialize(
        seed=st.integers(0, 2**32 - 1),
        concurrency=concurrencies,
        begin=st.integers(1, 2**63),
        direct=st.sampled_from([False, False, True]),
        make=st.sampled_from(list(KERNELS.values())),
    )
    def begin(self, seed: int, concurrency: int, begin: int, direct: bool, make: type[KernelPrefetcher]) -> None:
        dice = Random(seed)
        sizes = {relation: dice.randint(1, BLOCKS) for relation in RELATIONS if dice.random() < 0.6}
        pool, room = dice.choice([0, 1, 2, 4]), dice.choice([1, 2, 5, 1000])
        self.records: list[Record] = []
        self.end = begin
        self.worlds = [Asked(self.records, sizes, pool, room) for _ in range(2)]
        self.oracle = Prefetcher(self.worlds[0], self.worlds[0], concurrency, begin, direct=direct)
        self.kernel = make(self.worlds[1], self.worlds[1], concurrency, begin, direct=direct)
        self.ahead: list[Event] = []

    @rule(seed=st.integers(0, 2**32 - 1), how_many=st.integers(1, 6))
    def arrive(self, seed: int, how_many: int) -> None:
        dice = Random(seed)
        for _ in range(how_many):
            start = self.end + dice.choice([0, 0, 0, 2])
            self.end = start + dice.choice([1, 3, 100, 8191, 8192])
            blocks = tuple(reference(dice) for _ in range(dice.choice([0, 1, 1, 2, 5])))
            effect, relation = dice.choice(EFFECTS), dice.choice(RELATIONS)
            self.records.append(Record(start, self.end, blocks, effect, relation, dice.randrange(BLOCKS)))

    @precondition(lambda self: self.records and self.worlds[0].decoded == self.worlds[1].decoded == len(self.records))
    @rule(back=st.integers(1, 5))
    def arrive_corrupt(self, back: int) -> None:
        """A record that starts before the last one ended."""
        if self.end - back > 0:
            self.records.append(Record(self.end - back, self.end + 1))

    @rule(times=st.integers(1, 4))
    def read(self, times: int) -> None:
        for _ in range(times):
            self.read_one()

    def read_one(self) -> None:
        before, record = len(self.oracle.events), None
        try:
            record = self.oracle.read_record()
        except ValueError:
            with pytest.raises(PgquernError, match="a record must start above LSN 0"):
                self.kernel.read_record()
            event("corrupt WAL")
        else:
            assert self.kernel.read_record() is record
        events = self.oracle.events[before:]
        assert self.kernel.events[before:] == events
        self.agree()
        self.ahead += events
        if record is not None:
            self.replay(record)

    def replay(self, record: Record) -> None:
        hints = {e.reference: e.buffer for e in self.ahead if e.lsn <= record.lsn and e.buffer is not None}
        self.ahead = [e for e in self.ahead if e.lsn > record.lsn]
        for world in self.worlds:
            world.apply(record, hints)

    @rule(concurrency=concurrencies)
    def reconfigure(self, concurrency: int) -> None:
        self.oracle.reconfigure(concurrency)
        self.kernel.reconfigure(concurrency)
        self.agree()

    @precondition(lambda self: self.records)
    @rule(place=st.integers(0, 2**32 - 1))
    def begin_read(self, place: int) -> None:
        """Back or forward, to the start of a record."""
        at = place % len(self.records)
        self.oracle.begin_read(self.records[at].lsn)
        self.kernel.begin_read(self.records[at].lsn)
        for world in self.worlds:
            world.decoded = at
        self.ahead.clear()
        self.agree()

    @rule()
    def show(self) -> None:
        self.oracle.show_distances()
        self.kernel.show_distances()
        self.agree()

    @rule(relation=st.sampled_from(RELATIONS))
    def vanish(self, relation: Relation) -> None:
        """A file is removed behind the prefetcher's back."""
        for world in self.worlds:
            world.sizes.pop(relation, None)

    def agree(self) -> None:
        assert state_of(self.kernel) == state_of(self.oracle)
        assert self.kernel.counters == self.oracle.counters
        assert self.worlds[1].asked == self.worlds[0].asked
        for world in self.worlds:
            world.asked.clear()

    def teardown(self) -> None:
        if hasattr(self, "oracle"):
            whats = {event.what for event in self.oracle.events}
            for what in whats | {"another fork" for e in self.oracle.events if e.reference.fork != MAIN_FORK}:
                event(what)
            tally("prefetch", "references", len(self.oracle.events))


TestSideBySide = SideBySide.TestCase
TestSideBySide.settings = settings(max_examples=settings().max_examples // 4, stateful_step_count=30)
