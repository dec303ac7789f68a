# SPDX-License-Identifier: PostgreSQL
"""Blocks that follow each other are one read of io_uring: which ones, and what becomes of each when it fails."""

import errno
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from _pgquern import lib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pgquern.prefetch import BLCKSZ, ReplayError, replay

from ref.prefetch import COMBINE
from tests.prefetch.files import Cold, faults_of, files, page, skip_unless_it_runs
from tests.prefetch.test_kernels_replay import ASYNCHRONOUS, Pages

SIZES = [70, 40]
"""Blocks of the two files."""

asynchronous = pytest.mark.parametrize("variant", ASYNCHRONOUS)
some = settings(max_examples=settings().max_examples // 5, suppress_health_check=list(HealthCheck))


class AsksForTheRest(Cold):
    """io_uring's answer for some accesses is another one. What pread reads then is noted: of `fd`, since the engine
    may have opened that once more.
    """

    def __init__(self, results: dict[int, int], fd: int) -> None:
        self.results, self.seen = results, list[int]()
        self.fd, self.reads = fd, list[tuple[int, int]]()

    def completed(self, access: int, result: int) -> int:
        self.seen.append(access)
        return self.results.get(access, result)

    def read(self, fd: int, size: int, offset: int, *, nowait: bool) -> bytes | int:
        self.reads.append((offset, size))
        return os.pread(self.fd, size, offset)


@pytest.fixture(scope="module")
def fds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[int]]:
    with files(tmp_path_factory.mktemp("files"), SIZES) as opened:
        yield opened


# ---- which blocks are one read -------------------------------------------------------------------


def reads_of(accesses: list[tuple[int, int]], window: int, buffers: int) -> list[list[int]]:
    """The reads of `uring` by their definition, each a list of accesses. No block comes twice.

    A block joins the read before it if the kernel does not have that yet, the block follows its last one, so does the
    buffer, and the read has fewer than COMBINE blocks. The kernel gets what there is once look-ahead has ended and that
    is an eighth of the window, or once replay needs it.
    """
    reads, unsubmitted, started = list[list[int]](), list[list[int]](), 0
    for replayed in range(len(accesses)):
        # The first access is alone: nothing beyond it is looked at before it is replayed.
        end = min(len(accesses), replayed + window if replayed else 1)
        for i in range(started, end):
            file, block = accesses[i]
            last = unsubmitted[-1] if unsubmitted else []
            follows = i > 0 and accesses[i - 1] == (file, block - 1) and i % buffers != 0
            if last and follows and len(last) < COMBINE:
                last.append(i)
            else:
                unsubmitted.append([i])
        started = max(started, end)
        waiting = sum(map(len, unsubmitted))
        if waiting >= max(1, window // 8) or any(replayed in read for read in unsubmitted):
            reads += unsubmitted
            unsubmitted = []
    return reads


def combined(reads: list[list[int]]) -> int:
    return sum(len(read) - 1 for read in reads)


def test_reads_by_hand() -> None:
    in_sequence = [(0, block) for block in range(36)]
    reads = [[0], list(range(1, 17)), list(range(17, 33)), [33, 34, 35]]
    assert reads_of(in_sequence, 32, 100) == reads
    assert reads_of(in_sequence, 32, 34) == [*reads[:3], [33], [34, 35]]
    assert reads_of(in_sequence[::-1], 32, 100) == [[i] for i in range(36)]
    assert reads_of([(0, 3), (1, 4), (1, 5), (0, 6)], 8, 100) == [[0], [1, 2], [3]]


@st.composite
def runs(draw: st.DrawFn) -> list[tuple[int, int]]:
    """All blocks of both files, in pieces that come in any order."""
    pieces = []
    for file, size in enumerate(SIZES):
        ends = sorted({0, size, *draw(st.lists(st.integers(1, size - 1), max_size=8))})
        pieces += [[(file, block) for block in range(a, b)] for a, b in pairwise(ends)]
    return [access for piece in draw(st.permutations(pieces)) for access in piece]


@some
@given(accesses=runs(), window=st.sampled_from([1, 4, 8, 15, 16, 17, 33, 64, 200]), more=st.sampled_from([1, 3, 120]))
def test_neighbours_are_one_read(fds: list[int], accesses: list[tuple[int, int]], window: int, more: int) -> None:
    skip_unless_it_runs("uring", fds)
    pages, buffers = Pages(accesses), window + more
    done = replay(fds, accesses, concurrency=window, buffers=buffers, variant="uring", use=pages, log=True)
    assert (pages.wrong, done.used) == ([], len(accesses))
    assert faults_of(done.steps, len(accesses), window) == []
    assert [i for what, i in done.steps if what == "submit"] == list(range(len(accesses)))
    assert done.combined == combined(reads_of(accesses, window, buffers))


def test_uring_direct_reads_runs_at_once_and_leaves_sequences_to_the_kernel(fds: list[int]) -> None:
    """Runs of four, and one of 40, of which the first 16 are read ahead. The first two blocks come next."""
    skip_unless_it_runs("uring_direct", fds)
    accesses = [(1, 0), (1, 2)]
    accesses += [(0, start + i) for start in (60, 40, 50, 66) for i in range(4)] + [(0, i) for i in range(40)]
    pages = Pages(accesses)
    done = replay(fds, accesses, concurrency=40, buffers=90, variant="uring_direct", use=pages, io=Cold(), log=True)
    assert pages.wrong == []
    submitted = [i for what, i in done.steps if what == "submit"]
    assert submitted == list(range(2, 2 + 16 + COMBINE))
    assert done.combined == len(submitted) - 4 - 1


# ---- what becomes of each block ------------------------------------------------------------------


@asynchronous
@pytest.mark.parametrize("result", [0, 1, 4096, 8191, -errno.EINTR])
def test_each_block_has_its_own_part(fds: list[int], variant: str, result: int) -> None:
    """Of one read of 14 blocks some are said to be cut: pread gives the rest of these, and of no other."""
    skip_unless_it_runs(variant, fds)
    accesses = [(0, 30), *((0, block) for block in range(10, 25))]
    cut = [3, 8, 9, 15]
    pages, kernel = Pages(accesses), AsksForTheRest(dict.fromkeys(cut, result), fds[0])
    done = replay(fds, accesses, concurrency=32, buffers=40, variant=variant, use=pages, io=kernel, log=True)
    first = [0, 1] if variant == "uring_direct" else []
    assert (pages.wrong, done.combined) == ([], 14 - len(first) // 2)
    assert [i for what, i in done.steps if what == "read"] == [*first, *cut]
    there = max(result, 0)
    whole = [(accesses[i][1] * BLCKSZ, BLCKSZ) for i in first]
    assert kernel.reads == [*whole, *((accesses[i][1] * BLCKSZ + there, BLCKSZ - there) for i in cut)]


class Wrong(Cold):
    """While one submission is under way, the file cannot be read."""

    def __init__(self, fd: int, number: int) -> None:
        self.fd, self.number, self.submissions = fd, number, 0
        self.kept = os.dup(fd)
        self.results = dict[int, int]()

    def submit(self) -> int:
        self.submissions += 1
        if self.submissions == self.number:
            unreadable = os.open("/dev/null", os.O_WRONLY)
            os.dup2(unreadable, self.fd)
            os.close(unreadable)
        return 0

    def completed(self, access: int, result: int) -> int:
        os.dup2(self.kept, self.fd)
        self.results[access] = result
        return result


def test_a_read_of_several_that_fails_is_repeated_block_by_block(fds: list[int]) -> None:
    """Which of them cannot be read is not said. All of these can."""
    skip_unless_it_runs("uring", fds)
    accesses = [(0, block) for block in range(12)]
    pages, kernel = Pages(accesses), Wrong(fds[0], 2)
    try:
        done = replay(fds, accesses, concurrency=16, buffers=20, variant="uring", use=pages, io=kernel, log=True)
    finally:
        os.dup2(kernel.kept, fds[0])
        os.close(kernel.kept)
    assert (done.used, pages.wrong, done.combined) == (12, [], 10)
    assert [kernel.results[i] for i in range(12)] == [BLCKSZ] + [0] * 11
    assert [i for what, i in done.steps if what == "read"] == list(range(1, 12))


def test_a_read_of_one_that_fails_is_not_repeated(fds: list[int]) -> None:
    skip_unless_it_runs("uring", fds)
    kernel = Wrong(fds[0], 2)
    try:
        with pytest.raises(ReplayError) as refusal:
            replay(fds, [(0, 5), (0, 9), (0, 7)], concurrency=16, buffers=20, variant="uring", io=kernel, log=True)
    finally:
        os.dup2(kernel.kept, fds[0])
        os.close(kernel.kept)
    assert (refusal.value.code, refusal.value.index) == (lib.PGQ_PREFETCH_IO, 2)
    assert refusal.value.replayed.error_number == errno.EBADF


@pytest.mark.parametrize(("whole", "part"), [(10, 5000), (10, 0), (1, 1), (2, BLCKSZ - 1)])
def test_a_file_that_shrinks_before_it_is_read(tmp_path: Path, whole: int, part: int) -> None:
    """The read of 16 blocks ends early. Replay gets the blocks that are whole, and refuses the one that is not."""
    with files(tmp_path, [20]) as (fd,):
        skip_unless_it_runs("uring", [fd])

        class Shrinks(Cold):
            submissions = 0

            def submit(self) -> int:
                self.submissions += 1
                if self.submissions == 2:
                    os.truncate(tmp_path / "0", whole * BLCKSZ + part)
                return 0

        accesses = [(0, block) for block in range(20)]
        pages = list[bytes]()
        with pytest.raises(ReplayError) as refusal:
            replay(
                [fd],
                accesses,
                concurrency=17,
                buffers=20,
                variant="uring",
                use=lambda _i, content: pages.append(content),
                io=Shrinks(),
            )
        assert (refusal.value.code, refusal.value.index) == (lib.PGQ_PREFETCH_SHORT, whole + 1)
        assert pages == [page(0, block) for block in range(whole)]
