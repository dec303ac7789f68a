# SPDX-License-Identifier: PostgreSQL
"""The engine on real files.

Every variant reads the right pages in order, its log is that of the definition, and a fault is reported where replay
meets it.
"""

import ctypes
import errno
import mmap
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path

import pytest
from _pgquern import ffi, lib
from hypothesis import HealthCheck, given, settings
from hypothesis import event as hypothesis_event
from hypothesis import strategies as st
from pgquern.prefetch import BLCKSZ, Io, Policy, Replayed, ReplayError, Step, replay

from ref.prefetch import (
    COLD_PROBES,
    COMBINE,
    FEWEST_PROBES,
    LONG_QUIET,
    MOST_PROBES,
    PROBE_EVERY,
    PROBE_SELDOM,
    TIMES_COLD,
    WATCH_ALL,
    WATCH_EVERY,
    Advice,
    AdvicePolicy,
    BlockReference,
    Event,
    Prefetcher,
    Record,
    Relation,
)
from tests.common.tally import tally
from tests.prefetch.files import VARIANTS, Cold, cached_pages, faults_of, files, page, skip_unless_it_runs
from tests.prefetch.world import World

ASYNCHRONOUS = [variant for variant in VARIANTS if variant.startswith("uring")]
SIZES = [7, 30]
"""Blocks of the two files."""
POSITION = 77
"""Of the files, where nobody has moved it."""

some = settings(max_examples=settings().max_examples // 5, suppress_health_check=list(HealthCheck))
blocks = st.tuples(st.just(0), st.integers(0, SIZES[0] - 1)) | st.tuples(st.just(1), st.integers(0, SIZES[1] - 1))
jobs = st.lists(blocks, max_size=80)
concurrencies = st.sampled_from([0, 1, 2, 3, 10, 32])
every = pytest.mark.parametrize("variant", VARIANTS)
POLICIES = {"advise_adaptive": PROBE_EVERY, "uring_direct": 1}
"""The variants that have one, and how often it probes."""


@pytest.fixture(scope="module")
def fds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[int]]:
    with files(tmp_path_factory.mktemp("files"), SIZES, extra=BLCKSZ - 1) as opened:
        for fd in opened:
            os.lseek(fd, POSITION, os.SEEK_SET)
        yield opened


class Pages:
    """What replay was given: it must be the page of each access."""

    def __init__(self, accesses: list[tuple[int, int]]) -> None:
        self.accesses, self.wrong = accesses, list[int]()
        self.seen = list[int]()

    def __call__(self, access: int, content: bytes) -> None:
        self.seen.append(access)
        if content != page(*self.accesses[access]):
            self.wrong.append(access)


# ---- all is read, in order -----------------------------------------------------------------------


@every
@some
@given(accesses=jobs, concurrency=concurrencies, more=st.sampled_from([1, 2, 5, 40]), cold=st.booleans())
def test_every_page_is_the_right_one(
    fds: list[int], variant: str, accesses: list[tuple[int, int]], concurrency: int, more: int, cold: bool
) -> None:
    skip_unless_it_runs(variant, fds)
    pages = Pages(accesses)
    done = replay(
        fds,
        accesses,
        concurrency=concurrency,
        buffers=concurrency + more,
        variant=variant,
        use=pages,
        io=Cold() if cold else None,
        log=True,
    )
    assert pages.seen == list(range(len(accesses)))
    assert pages.wrong == []
    assert [os.lseek(fd, 0, os.SEEK_CUR) for fd in fds] == [POSITION] * len(fds), "the files' positions"
    assert done.used == len(accesses)
    assert faults_of(done.steps, len(accesses), concurrency) == []
    tally("prefetch", "accesses", len(accesses))


def test_a_log_with_a_fault_is_seen() -> None:
    good = [
        Step("submit", 0),
        Step("submit", 1),
        Step("complete", 1),
        Step("complete", 0),
        Step("use", 0),
        Step("use", 1),
    ]
    assert faults_of(good, 2, 2) == []
    assert faults_of(good, 2, 1) == ["2 in flight"]
    assert faults_of(good, 3, 2) == ["replayed: [0, 1]"]
    assert faults_of([*good[:3], *good[4:]], 2, 2) == ["0 used before its read had ended"]
    assert faults_of([good[0], *good], 2, 2) == ["submit of 0 twice"]


# ---- the log is that of the definition -----------------------------------------------------------


class CachedByTheKernel(Io):
    """A kernel whose cache is known: it has these blocks, and all that were advised or read. It does not say so."""

    def __init__(self, cached: set[tuple[int, int]], fds: list[int]) -> None:
        self.cached_blocks, self.fds = set(cached), fds

    def key(self, fd: int, offset: int) -> tuple[int, int]:
        return self.fds.index(fd), offset // BLCKSZ

    def read(self, fd: int, size: int, offset: int, *, nowait: bool) -> bytes | int:
        if nowait and self.key(fd, offset) not in self.cached_blocks:
            return -errno.EAGAIN
        if size == BLCKSZ:
            self.cached_blocks.add(self.key(fd, offset))
        return os.pread(fd, size, offset)

    def advise(self, fd: int, offset: int, size: int) -> None:
        assert size == BLCKSZ
        self.cached_blocks.add(self.key(fd, offset))


class Told(list[Event]):
    """Events, of which each advice is told at once, with its access: what it comes to decides how look-ahead goes on.

    firsts: the first access of each record, by its LSN.
    """

    def __init__(self, firsts: dict[int, int], advise: Callable[[int], None]) -> None:
        super().__init__()
        self.next, self.advise = dict(firsts), advise

    def append(self, event: Event) -> None:
        super().append(event)
        access = self.next[event.lsn]
        self.next[event.lsn] += 1
        if event.what == "prefetch":
            self.advise(access)


class Resting(World):
    """A world whose WAL has nothing more while the policy is quiet."""

    policy: AdvicePolicy | None = None

    def read_ahead(self, queued: int, *, nonblocking: bool) -> Record | None:
        if self.policy and self.policy.quiet and nonblocking:
            return None
        return super().read_ahead(queued, nonblocking=nonblocking)


def expected(
    accesses: list[tuple[int, int]],
    concurrency: int,
    pool: int,
    cached: set[tuple[int, int]],
    policy: AdvicePolicy | None = None,
    forgets: int = 0,
    sizes: list[int] | None = None,
) -> list[Step]:
    """The steps by the definition: the prefetcher in a world of these files, and advice always, or by the policy.

    forgets: after each so many accesses the kernel has nothing cached any more; 0: it never forgets. sizes: how many of
    the accesses each record has; None: one.
    """
    sizes = [1] * len(accesses) if sizes is None else sizes
    firsts = dict(enumerate(accumulate(sizes, initial=0), 1))
    references = [BlockReference(Relation(0, 0, file), block) for file, block in accesses]
    records = [
        Record(i + 1, i + 2, tuple(references[firsts[i + 1] : firsts[i + 1] + size])) for i, size in enumerate(sizes)
    ]
    world = Resting(records, {Relation(0, 0, file): size for file, size in enumerate(SIZES)}, pool)
    world.policy, world.room = policy, 4 * concurrency + 2
    prefetcher = Prefetcher(world, world, concurrency, 1)
    steps, kernel, used, replayed = list[Step](), set(cached), 0, 0

    def advise(i: int) -> None:
        advice = policy.look(*accesses[i], comes_next=i == used) if policy else Advice.GIVE
        if policy and advice is Advice.PROBE:
            steps.append(Step("probe", i))
            advice = Advice.GIVE if policy.probed(cached=accesses[i] in kernel) else Advice.NONE
        if advice is Advice.GIVE:
            steps.append(Step("advise", i))
            kernel.add(accesses[i])

    prefetcher.events = Told(firsts, advise)
    while True:
        rests = policy and (concurrency < 2 or (policy.quiet and not prefetcher.queue))
        record: Record | None
        if rests and replayed < len(records):
            record = records[replayed]
            world.decoded = replayed + 1
        else:
            record = prefetcher.read_record()
        if record is None:
            return steps
        replayed += 1
        for i, reference in enumerate(record.blocks, firsts[record.lsn]):
            if (reference.relation, reference.block) not in world.buffers:
                if policy and policy.quiet and policy.watches():
                    policy.read(cached=accesses[i] in kernel)
                steps.append(Step("read", i))
                kernel.add(accesses[i])
            world.apply(Record(record.lsn, record.next_lsn, (reference,)), {})
            steps.append(Step("use", i))
            used += 1
            if forgets and used % forgets == 0:
                kernel.clear()


@some
@given(accesses=jobs, concurrency=concurrencies, more=st.sampled_from([1, 2, 5, 40]))
def test_the_log_of_advise_is_that_of_the_definition(
    fds: list[int], accesses: list[tuple[int, int]], concurrency: int, more: int
) -> None:
    done = replay(fds, accesses, concurrency=concurrency, buffers=concurrency + more, variant="advise", log=True)
    assert done.steps == expected(accesses, concurrency, concurrency + more, set())


@some
@given(accesses=jobs, buffers=st.sampled_from([1, 2, 5, 40]))
def test_the_log_of_sync_is_that_of_the_definition_without_prefetching(
    fds: list[int], accesses: list[tuple[int, int]], buffers: int
) -> None:
    done = replay(fds, accesses, concurrency=0, buffers=buffers, variant="sync", log=True)
    assert done.steps == expected(accesses, 0, buffers, set())


def random_accesses(size: int, seed: int) -> list[tuple[int, int]]:
    """Blocks that come again, and runs of blocks that follow each other."""
    dice = random.Random(seed)
    found, runs = [(1, 0)], dice.choice([0, 0.1, 0.9])
    while len(found) < size:
        file, block = found[-1]
        follows = block + 1 < SIZES[file] and dice.random() < runs
        found.append((file, block + 1) if follows else (file := dice.randrange(2), dice.randrange(SIZES[file])))
    return found[:size]


class Answers(CachedByTheKernel):
    """And says so when it is asked, without a read."""

    def cached(self, fd: int, offset: int, size: int) -> int:
        assert size == BLCKSZ
        return self.key(fd, offset) in self.cached_blocks


@pytest.mark.parametrize("answers", [True, False])
@some
@given(
    size=st.integers(0, 900),
    seed=st.integers(0, 2**32 - 1),
    concurrency=concurrencies,
    more=st.sampled_from([1, 40]),
    part=st.sampled_from([0, 2, 20, 1000]),
    forgets=st.sampled_from([0, 3, 150, 400]),
)
def test_the_log_of_advise_adaptive_is_that_of_the_definition(
    fds: list[int], size: int, seed: int, concurrency: int, more: int, part: int, forgets: int, answers: bool
) -> None:
    """Of the blocks the kernel has none cached, or all but each so-manieth."""
    accesses = random_accesses(size, seed)
    cached: set[tuple[int, int]] = (
        set() if part == 0 else {access for i, access in enumerate(sorted(set(accesses))) if i % part != 1}
    )
    kernel = (Answers if answers else CachedByTheKernel)(cached, fds)

    def forget(access: int, _content: bytes) -> None:
        if forgets and (access + 1) % forgets == 0:
            kernel.cached_blocks.clear()

    done = replay(
        fds,
        accesses,
        concurrency=concurrency,
        buffers=concurrency + more,
        variant="advise_adaptive",
        use=forget,
        io=kernel,
        log=True,
    )
    policy = AdvicePolicy(probe_every=PROBE_EVERY if answers else PROBE_SELDOM)
    wanted = expected(accesses, concurrency, concurrency + more, cached, policy, forgets)
    if policy.probes_needed > FEWEST_PROBES:
        hypothesis_event("it was quiet, and woke")
    assert done.steps == wanted


def test_the_counters_are_those_of_the_definition(fds: list[int]) -> None:
    accesses = [(1, block) for block in (3, 4, 3, 9, 9, 20, 21, 22, 23, 3)]
    done = replay(fds, accesses, concurrency=3, buffers=4, variant="advise")
    assert sum(done.counters.values()) == len(accesses)
    assert done.counters == {"prefetch": 8, "hit": 0, "skip_init": 0, "skip_new": 0, "skip_fpw": 0, "skip_rep": 2}


# ---- the policy ----------------------------------------------------------------------------------


def both_look(oracle: AdvicePolicy, kernel: Policy, file: int, block: int, *, cached: bool, comes_next: bool) -> None:
    """One reference, with what the kernel says of it, and what replay's read says while they are quiet."""
    advice = oracle.look(file, block, comes_next=comes_next)
    assert kernel.look(file, block, comes_next=comes_next) == advice.value
    if advice is Advice.PROBE:
        assert kernel.probed(cached=cached) == oracle.probed(cached=cached)
    if oracle.quiet:
        watched = oracle.watches()
        assert kernel.watches() == watched
        if watched:
            oracle.read(cached=cached)
            kernel.read(cached=cached)
    assert (kernel.quiet, kernel.probes_needed) == (oracle.quiet, oracle.probes_needed)


@some
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 0.99, 1.0]), st.sampled_from([1, 8, 64]))
def test_the_policy_step_by_step(seed: int, share: float, probe_every: int) -> None:
    dice = random.Random(seed)
    runs = dice.choice([0, 0.5, 0.97])
    oracle, kernel = AdvicePolicy(probe_every), Policy(probe_every)
    file = block = 0
    for _ in range(600):
        if dice.random() < runs:
            block += 1
        else:
            file, block = dice.randrange(2), dice.randrange(6)
        cached, comes_next = dice.random() < share, dice.random() < 0.05
        both_look(oracle, kernel, file, block, cached=cached, comes_next=comes_next)


@pytest.mark.parametrize("probe_every", [1, PROBE_EVERY])
def test_the_policy_over_long_stretches(probe_every: int) -> None:
    """All is cached, until a read has to wait: soon, at the last moment that is soon, later, once few reads are
    watched. And nothing is cached, until most probes are left out."""
    oracle, kernel = AdvicePolicy(probe_every), Policy(probe_every)
    for reads in (1, LONG_QUIET - 1, LONG_QUIET, WATCH_ALL + 3 * WATCH_EVERY, *[1] * 6, LONG_QUIET - 1, 2):
        misses = 0
        while not oracle.quiet:
            misses += 1
            both_look(oracle, kernel, 0, 2 * misses, cached=True, comes_next=False)
        while oracle.quiet_reads < reads - 1 or oracle.until_watch:
            both_look(oracle, kernel, 1, 2 * oracle.quiet_reads, cached=True, comes_next=False)
        both_look(oracle, kernel, 0, 0, cached=False, comes_next=False)
        assert not oracle.quiet
    assert oracle.probes_needed == MOST_PROBES
    for reference in range(2 * COLD_PROBES * TIMES_COLD * probe_every):
        both_look(oracle, kernel, reference % 2, 5, cached=False, comes_next=False)
    assert oracle.cold_probes == COLD_PROBES


def test_the_policys_numbers_are_the_definitions() -> None:
    assert (lib.PGQ_PREFETCH_PROBE_EVERY, lib.PGQ_PREFETCH_PROBE_SELDOM) == (PROBE_EVERY, PROBE_SELDOM)
    assert (lib.PGQ_PREFETCH_FEWEST_PROBES, lib.PGQ_PREFETCH_MOST_PROBES) == (FEWEST_PROBES, MOST_PROBES)
    assert (lib.PGQ_PREFETCH_LONG_QUIET, lib.PGQ_PREFETCH_COMBINE) == (LONG_QUIET, COMBINE)
    assert (lib.PGQ_PREFETCH_COLD_PROBES, lib.PGQ_PREFETCH_TIMES_COLD) == (COLD_PROBES, TIMES_COLD)
    assert (lib.PGQ_PREFETCH_WATCH_ALL, lib.PGQ_PREFETCH_WATCH_EVERY) == (WATCH_ALL, WATCH_EVERY)


def test_the_engine_watches_few_reads_of_what_is_cached(fds: list[int]) -> None:
    class Watches(Answers):
        watched = 0

        def read(self, fd: int, size: int, offset: int, *, nowait: bool) -> bytes | int:
            self.watched += nowait
            return super().read(fd, size, offset, nowait=nowait)

    accesses = [(1, i * 7 % 30) for i in range(WATCH_ALL + 1000)]
    kernel = Watches(set(accesses), fds)
    done = replay(fds, accesses, concurrency=10, buffers=11, variant="advise_adaptive", io=kernel)
    watched = WATCH_ALL + (done.rested - WATCH_ALL) // WATCH_EVERY
    assert watched <= kernel.watched <= watched + 40 // WATCH_EVERY + 1  # with those that were queued


def advised(done: Replayed) -> int:
    return sum(what == "advise" for what, _ in done.steps)


def test_advise_adaptive_gives_no_advice_for_what_is_cached(fds: list[int]) -> None:
    """Upstream's way advises each of the blocks; this one probes some, then trusts, and looks ahead no more."""
    accesses = [(1, i * 7 % 30) for i in range(300)]
    kernel = Answers(set(accesses), fds)
    always = replay(fds, accesses, concurrency=10, buffers=11, variant="advise", io=kernel, log=True)
    assert advised(always) >= 290
    for variant in POLICIES:
        skip_unless_it_runs(variant, fds)
        done = replay(fds, accesses, concurrency=10, buffers=11, variant=variant, io=kernel, log=True)
        assert {what for what, _ in done.steps} == {"probe", "read", "use"}
        assert sum(what == "probe" for what, _ in done.steps) == FEWEST_PROBES
        assert sum(done.counters.values()) + done.rested == len(accesses)
        assert done.rested >= len(accesses) - FEWEST_PROBES - 40 - 2  # look-ahead is 40 references long


def test_uring_direct_reads_ahead_what_is_not_cached(fds: list[int]) -> None:
    """It asks for each block but the first two, which come next; replay reads the others through the kernel's cache."""
    skip_unless_it_runs("uring_direct", fds)
    accesses = [(1, i * 7 % 30) for i in range(300)]
    even = {access for access in accesses if access[1] % 2 == 0}

    class Half(Io):
        def cached(self, fd: int, offset: int, size: int) -> int:
            assert (fds.index(fd), size) == (1, BLCKSZ)
            return (1, offset // BLCKSZ) in even

    done = replay(fds, accesses, concurrency=10, buffers=11, variant="uring_direct", io=Half(), log=True)
    submitted = {i for what, i in done.steps if what == "submit"}
    assert submitted == {i for i, access in enumerate(accesses) if access not in even and i > 1}
    assert {i for what, i in done.steps if what == "read"} == set(range(300)) - submitted
    assert {i for what, i in done.steps if what == "probe"} == set(range(2, 300))


def test_who_does_not_say_what_is_cached_is_asked_once_and_then_read(fds: list[int]) -> None:
    class Silent(CachedByTheKernel):
        asked = probes = 0

        def cached(self, fd: int, offset: int, size: int) -> int:
            self.asked += 1
            return -errno.ENOSYS

        def read(self, fd: int, size: int, offset: int, *, nowait: bool) -> bytes | int:
            self.probes += size == 1 and nowait
            self.cached_blocks.clear()
            return super().read(fd, size, offset, nowait=nowait)

    accesses = [(1, i * 7 % 30) for i in range(300)]
    for variant in POLICIES:
        skip_unless_it_runs(variant, fds)
        kernel = Silent(set(), fds)
        done = replay(fds, accesses, concurrency=10, buffers=11, variant=variant, io=kernel, log=True)
        assert (kernel.asked, kernel.probes) == (1, -(-298 // PROBE_SELDOM))
        assert sum(what == "probe" for what, _ in done.steps) == kernel.probes


def test_advise_adaptive_advises_what_is_cold(fds: list[int]) -> None:
    class Cold(CachedByTheKernel):
        """Forgets at once."""

        def key(self, fd: int, offset: int) -> tuple[int, int]:
            self.cached_blocks.clear()
            return super().key(fd, offset)

    accesses = [(1, i * 7 % 30) for i in range(300)]
    for variant in ("advise", "advise_adaptive"):
        done = replay(fds, accesses, concurrency=10, buffers=11, variant=variant, io=Cold(set(), fds), log=True)
        assert advised(done) >= 290


def cachestat(fd: int) -> int:
    """0, or the error with which the kernel refuses to say what it has cached."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    libc.syscall.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint]
    span, found = (ctypes.c_uint64 * 2)(0, 1), (ctypes.c_uint64 * 5)()
    return 0 if libc.syscall(451, fd, span, found, 0) == 0 else ctypes.get_errno()


def test_the_system_says_what_is_cached(tmp_path: Path) -> None:
    """Of three blocks the kernel has all, a page and nothing: all but the first are advised."""
    with files(tmp_path, [60]) as (fd,):
        if mmap.PAGESIZE >= BLCKSZ or cachestat(fd) != 0:
            pytest.skip("the kernel does not say of a part of a block whether it is cached")
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)  # so that nothing is read ahead
        if cached_pages(fd):
            pytest.skip("the kernel keeps the file's blocks")
        os.pread(fd, BLCKSZ, 20 * BLCKSZ)
        os.pread(fd, 1, 30 * BLCKSZ)
        accesses = [(0, 2), (0, 4), (0, 20), (0, 30), (0, 40)]
        done = replay([fd], accesses, concurrency=8, buffers=9, variant="advise_adaptive", log=True)
        asked = [step for step in done.steps if step.what in ("probe", "advise")]
        assert asked == [Step("probe", 2), Step("probe", 3), Step("advise", 3), Step("advise", 4)]


@pytest.mark.parametrize("variant", ASYNCHRONOUS)
def test_reads_are_submitted_together(fds: list[int], variant: str) -> None:
    """An eighth of what may be in flight: replay needs none of them before the next ones come."""
    skip_unless_it_runs(variant, fds)

    class Counts(Cold):
        submissions = 0

        def submit(self) -> int:
            self.submissions += 1
            return 0

    accesses = [(1, i * 7 % 30) for i in range(300)]
    window, batch = 16, 2
    io = Counts()
    done = replay(fds, accesses, concurrency=window, buffers=window + 1, variant=variant, io=io, log=True)
    reads = sum(what == "submit" for what, _ in done.steps)
    assert (reads - window) // batch <= io.submissions <= reads // batch + 3
    assert reads > 5 * window


def test_without_nowait_reads_advise_adaptive_is_advise(fds: list[int]) -> None:
    class Refuses(CachedByTheKernel):
        def read(self, fd: int, size: int, offset: int, *, nowait: bool) -> bytes | int:
            return -errno.EOPNOTSUPP if nowait else super().read(fd, size, offset, nowait=False)

    accesses = [(1, i * 7 % 30) for i in range(100)]
    for variant in ("advise", "advise_adaptive"):
        kernel = Refuses(set(accesses), fds)
        done = replay(fds, accesses, concurrency=10, buffers=11, variant=variant, io=kernel, log=True)
        assert advised(done) >= 98


def test_sequences_are_left_to_the_kernel(fds: list[int]) -> None:
    """All but their start: the first two blocks come next, and the last that is advised has 15 before it."""
    accesses = [(1, block) for block in range(30)]
    for variant in POLICIES:
        skip_unless_it_runs(variant, fds)
        kernel = CachedByTheKernel(set(), fds)
        done = replay(fds, accesses, concurrency=10, buffers=11, variant=variant, io=kernel, log=True)
        started = [i for what, i in done.steps if what in ("advise", "submit")]
        assert started == list(range(2, COMBINE))
        assert [i for what, i in done.steps if what == "probe"] == [2]


# ---- what is refused at once ---------------------------------------------------------------------


@every
@pytest.mark.parametrize(("concurrency", "buffers"), [(0, 0), (1, 1), (8, 8), (1001, 2000)])
def test_too_few_buffers_are_refused(fds: list[int], variant: str, concurrency: int, buffers: int) -> None:
    with pytest.raises(ReplayError) as refusal:
        replay(fds, [(0, 0)], concurrency=concurrency, buffers=buffers, variant=variant)
    assert refusal.value.code == lib.PGQ_PREFETCH_JOB


@every
def test_an_access_to_no_file_is_refused(fds: list[int], variant: str) -> None:
    with pytest.raises(ReplayError) as refusal:
        replay(fds, [(0, 0), (1, 3), (2, 0)], concurrency=1, buffers=2, variant=variant)
    assert (refusal.value.code, refusal.value.index) == (lib.PGQ_PREFETCH_FILE, 3)
    assert refusal.value.replayed.used == 0


@every
def test_a_file_that_is_not_open_is_refused(variant: str) -> None:
    with pytest.raises(ReplayError) as refusal:
        replay([1_000_000], [(0, 0)], concurrency=1, buffers=2, variant=variant)
    assert (refusal.value.code, refusal.value.replayed.error_number) == (lib.PGQ_PREFETCH_FILE, errno.EBADF)


@every
def test_null_and_a_log_too_small_are_refused(fds: list[int], variant: str) -> None:
    fn = lib.pgq_prefetch_replay_variants[VARIANTS.index(variant)].fn
    assert fn(ffi.NULL).code == lib.PGQ_NULL
    assert fn(ffi.new("pgq_prefetch_job *")).code == lib.PGQ_NULL
    c_fds, accesses = ffi.new("int[]", fds), ffi.new("pgq_prefetch_access[]", [(0, 0)] * 5)
    steps = ffi.new("pgq_prefetch_step[25]")
    job = {"fds": c_fds, "file_count": 2, "accesses": accesses, "access_count": 5, "buffers": 1, "steps": steps}
    assert fn(ffi.new("pgq_prefetch_job *", job | {"step_space": 24})).code == lib.PGQ_PREFETCH_JOB
    assert fn(ffi.new("pgq_prefetch_job *", job | {"accesses": ffi.NULL})).code == lib.PGQ_NULL
    assert fn(ffi.new("pgq_prefetch_job *", job | {"access_count": 2**32 - 1})).code == lib.PGQ_PREFETCH_JOB


def test_a_file_that_cannot_be_read_directly_is_refused() -> None:
    """Files of procfs cannot."""
    fd = os.open("/proc/self/maps", os.O_RDONLY)
    try:
        skip_unless_it_runs("uring", [fd])
        with pytest.raises(ReplayError) as refusal:
            replay([fd], [], concurrency=1, buffers=2, variant="uring_direct")
        assert (refusal.value.code, refusal.value.replayed.error_number) == (lib.PGQ_PREFETCH_DIRECT, errno.EINVAL)
    finally:
        os.close(fd)


REFUSED = """
import ctypes, struct, sys
from _pgquern import lib
from pgquern.prefetch import ReplayError, replay
if sys.argv[1] == "forbidden":
    # A seccomp filter: load the number of the system call; if it is io_uring_setup (425), EPERM; else allow.
    code = b"".join(struct.pack("<HBBI", *i) for i in [
        (0x20, 0, 0, 0), (0x15, 0, 1, 425), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)])
    held = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", 4, ctypes.addressof(held)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    assert prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()
for variant in ("uring", "uring_direct"):
    try:
        replay([0], [], concurrency=1, buffers=2, variant=variant)
    except ReplayError as error:
        assert error.code == lib.PGQ_PREFETCH_URING
        print(variant, error.replayed.error_number)
replay([0], [], concurrency=1, buffers=2)
print("the others run")
"""


@pytest.mark.parametrize(("why", "number"), [("forbidden", errno.EPERM), ("missing", 0)])
def test_without_io_uring_its_variants_refuse_and_the_others_run(
    fds: list[int], tmp_path: Path, why: str, number: int
) -> None:
    """The kernel forbids it, or liburing is missing: a file without contents stands in its place."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    if why == "missing":
        (tmp_path / "liburing.so.2").touch()
        environment["LD_LIBRARY_PATH"] = str(tmp_path)
    else:
        skip_unless_it_runs("uring", fds)
    run = subprocess.run(
        [sys.executable, "-c", REFUSED, why], capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL
    )
    assert run.stdout.splitlines() == [f"uring {number}", f"uring_direct {number}", "the others run"], run.stderr
