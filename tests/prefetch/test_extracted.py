# SPDX-License-Identifier: PostgreSQL
"""Proof = oracle: the prefetcher extracted from the proofs, beside the definition, step by step.

build/oracle/prefetch runs the prefetcher that proofs/prefetch/ proves right. It gets what a random world answered the
definition, must ask the same questions in the same order, judge each reference alike, and end with the same filters,
window and ring. That the kernel does as the definition, test_kernels.py shows.
"""

import subprocess
from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from ref.prefetch import Effect, Event, Prefetcher, Record, Relation, Storage, Wal
from tests.common.extraction import program
from tests.common.tally import tally
from tests.prefetch.random_world import random_world
from tests.prefetch.world import replay

PROGRAM = program("prefetch")


def words(record: Record) -> str:
    """A record, as the program reads it."""
    effect = list(Effect).index(record.effect)
    text = f"{record.lsn},{record.next_lsn},{effect},{','.join(map(str, record.relation))},{record.block}"
    for r in record.blocks:
        flags = r.has_image + 2 * r.will_init + 4 * r.in_use
        text += f"/{','.join(map(str, r.relation))},{r.block},{r.fork},{flags}"
    return text


class Answers:
    """A world that notes what it answers."""

    def __init__(self, wal: Wal, storage: Storage) -> None:
        self.wal, self.storage = wal, storage
        self.given: list[str] = []

    def read_ahead(self, queued: int, *, nonblocking: bool) -> Record | None:
        record = self.wal.read_ahead(queued, nonblocking=nonblocking)
        self.given.append("w-" if record is None else f"w{words(record)}")
        return record

    def exists(self, relation: Relation) -> bool:
        exists = self.storage.exists(relation)
        if not exists:
            self.given.append("b-")
        return exists

    def blocks(self, relation: Relation) -> int:
        blocks = self.storage.blocks(relation)
        self.given.append(f"b{blocks}")
        return blocks

    def buffer(self, relation: Relation, block: int) -> int | None:
        buffer = self.storage.buffer(relation, block)
        self.given.append("f-" if buffer is None else f"f{buffer}")
        return buffer


class Questioned(Prefetcher):
    """The definition. lines: its calls and what the world answered; expected: what it came to."""

    def __init__(self, wal: Wal, storage: Storage, concurrency: int, begin: int, *, direct: bool = False) -> None:
        self.answers = Answers(wal, storage)
        self.lines, self.expected = [f"start {concurrency} {begin} {2**30} {int(direct)}"], ["ok"]
        super().__init__(self.answers, self.answers, concurrency, begin, direct=direct)

    def reconfigure(self, concurrency: int) -> None:
        super().reconfigure(concurrency)
        self.lines.append(f"change {concurrency}")
        self.expected.append("ok")

    def begin_read(self, begin: int) -> None:
        super().begin_read(begin)
        self.lines.append(f"begin {begin}")
        self.expected.append("ok")

    def read_record(self) -> Record | None:
        before = len(self.events)
        self.answers.given = []
        record = super().read_record()
        self.lines.append(" ".join(["read", *self.answers.given]))
        self.expected.append(self.state(record, self.events[before:]))
        return record

    def state(self, record: Record | None, events: Sequence[Event]) -> str:
        parts = [
            "".join(f" {e.what}@{e.lsn},{e.reference.block}" for e in events),
            "".join(
                f" {','.join(map(str, key))},{until},{block}" for key, (until, block) in self.filters.by_key.items()
            ),
            "".join(f" {','.join(map(str, relation))},{block}" for relation, block in reversed(self.recent)),
            "".join(f" {'i' if io else 'n'}{lsn}" for lsn, io in self.ring.entries),
        ]
        return f"{record.lsn if record else '-'} 0" + " :".join(parts)

    def check(self) -> int:
        """Ask the extracted proof the same; AssertionError at the first other answer. How many references it judged."""
        text = "".join(line + "\n" for line in self.lines)
        run = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, check=True)
        for line, got, expected in zip(self.lines, run.stdout.splitlines(), self.expected, strict=True):
            assert got == expected, f"{line}: the extracted proof says {got}, not {expected}"
        return len(self.events)


def questioned(
    size: int, seed: int, first: int, changes: Mapping[int, int] | None = None, *, direct: bool = False
) -> Questioned:
    """The definition, when it has replayed a random world."""
    made: list[Questioned] = []

    def make(wal: Wal, storage: Storage, concurrency: int, begin: int) -> Questioned:
        made.append(Questioned(wal, storage, concurrency, begin, direct=direct))
        return made[0]

    replay(random_world(size, seed), first, make=make, changes=changes)
    return made[0]


@given(
    st.integers(0, 60),
    st.integers(0, 2**32),
    st.sampled_from([0, 1, 2, 3, 7, 16]),
    st.sampled_from([0, 1, 5]),
    st.booleans(),
)
def test_the_extracted_prefetcher_judges_as_the_definition(
    size: int, seed: int, first: int, then: int, direct: bool
) -> None:
    """The concurrency changes half way."""
    definition = questioned(size, seed, first, {size // 2: then}, direct=direct)
    tally("prefetch", "references judged by the extracted proof", definition.check())


@given(st.integers(1, 25), st.integers(0, 2**32), st.sampled_from([0, 1, 1, 2, 7]), st.integers(1, 25))
def test_where_recovery_stops_the_extracted_one_reads_again(size: int, seed: int, concurrency: int, stop: int) -> None:
    """Its last record, as the definition does."""
    world = random_world(size, seed)
    definition = Questioned(world, world, concurrency, world.records[0].lsn)
    for last in world.records[:stop]:
        assert definition.read_record() is last
        world.apply(last, {})
    world.decoded = world.replayed - 1
    definition.begin_read(last.lsn)
    assert definition.read_record() is last
    tally("prefetch", "references judged by the extracted proof", definition.check())


def judge(log: Sequence[Event | Record | int], concurrency: int, held: Sequence[list[tuple[int, bool]]]) -> int:
    """Give the extracted ring what a log says; AssertionError where it would not have asked for a reference, or holds
    something else. held: the ring after each read. Returns how many events it judged. While prefetching is off nothing
    is looked at, and nothing judged."""
    lines, expected = list[str](), list[tuple[int, list[tuple[int, bool]]] | None]()

    def ask(line: str, answer: tuple[int, list[tuple[int, bool]]] | None = None) -> None:
        lines.append(line)
        expected.append(answer)

    looked, reads, replayed_up_to = list[str](), 0, 0
    ask(f"new {4 * concurrency} {concurrency}")
    for entry in [*log, None]:
        if isinstance(entry, Event):
            looked.append(f"{'i' if entry.what == 'prefetch' else 'n'}{entry.lsn}")
        elif isinstance(entry, int):
            concurrency = entry
            ask(f"new {4 * concurrency} {concurrency}")
        else:
            if concurrency:
                ask(f"complete {replayed_up_to}")
                ask(" ".join(["prefetch", *looked, "a"]), (len(looked), held[reads]))
            looked, reads, replayed_up_to = [], reads + 1, entry.next_lsn if entry else 0
    text = "".join(line + "\n" for line in lines)
    run = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, check=True)
    for line, got, answer in zip(lines, run.stdout.splitlines(), expected, strict=True):
        if answer:
            _, _, consumed, _, *entries = got.split()
            assert int(consumed) >= answer[0], f"{line}: the extracted proof stops after {consumed}"
            assert entries == [f"{'i' if io else 'n'}{lsn}" for lsn, io in answer[1]]
    return sum(isinstance(entry, Event) for entry in log)
