# SPDX-License-Identifier: PostgreSQL
"""Blocks that follow each other are one read of io_uring: which ones, and what becomes of each when it fails."""

from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pgquern.prefetch import replay

from ref.prefetch import COMBINE
from tests.prefetch.files import Cold, faults_of, skip_unless_it_runs
from tests.prefetch.test_kernels_replay import Pages

SIZES = [70, 40]
"""Blocks of the two files."""

some = settings(max_examples=settings().max_examples // 5, suppress_health_check=list(HealthCheck))


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
