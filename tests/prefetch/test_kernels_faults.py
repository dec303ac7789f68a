# SPDX-License-Identifier: PostgreSQL
"""What the engine does when io_uring fails, at each of its calls.

A submission that fails changes nothing for replay, which preads what io_uring did not take. A wait that fails is made
again.
"""

import errno
import os
import random
from collections.abc import Iterator

import pytest
from pgquern.prefetch import BLCKSZ, Io, Replayed, replay

from tests.prefetch.files import VARIANTS, Cold, faults_of, page, skip_unless_it_runs
from tests.prefetch.test_kernels_replay import ASYNCHRONOUS, Pages

SIZE, ACCESSES, WINDOW = 30, 24, 5
SIZES = [SIZE]
PASSING = [errno.EINTR, errno.EAGAIN, errno.EBUSY]
ENDLESS = 20_000
"""Calls of one sort that no job of these needs; at 100 us a failed wait, two seconds of them."""

every = pytest.mark.parametrize("variant", VARIANTS)
asynchronous = pytest.mark.parametrize("variant", ASYNCHRONOUS)


class Failing(Cold):
    """Calls number `first` to `first + times - 1` of one sort fail."""

    def __init__(self, call: str, error: int, first: int, times: int) -> None:
        self.call, self.error, self.first, self.times = call, error, first, times
        self.calls = {"submit": 0, "wait": 0}

    def answer(self, call: str) -> int:
        self.calls[call] += 1
        if self.calls[call] == ENDLESS:
            self.times = 0
            raise AssertionError(f"{call} is called for ever")
        fails = call == self.call and self.first <= self.calls[call] < self.first + self.times
        return -self.error if fails else 0

    def submit(self) -> int:
        return self.answer("submit")

    def wait(self) -> int:
        return self.answer("wait")


def run(fds: list[int], variant: str, io: Io) -> Replayed:
    """A job that must succeed, whatever io_uring does."""
    accesses = [(0, i * 7 % SIZE) for i in range(ACCESSES)]
    pages = Pages(accesses)
    done = replay(fds, accesses, concurrency=WINDOW, buffers=WINDOW + 1, variant=variant, use=pages, io=io, log=True)
    assert (done.used, pages.wrong) == (ACCESSES, [])
    assert faults_of(done.steps, ACCESSES, WINDOW) == []
    return done


def accesses_of(done: Replayed, what: str) -> list[int]:
    return [access for step, access in done.steps if step == what]


# ---- submissions and waits that fail -------------------------------------------------------------


@asynchronous
@pytest.mark.parametrize("error", [*PASSING, errno.ENOMEM])
def test_each_submission_may_fail(fds: list[int], variant: str, error: int) -> None:
    """The job ends, and every page is right. What can pass is tried again; for the rest there is pread."""
    skip_unless_it_runs(variant, fds)
    sound = Failing("submit", 0, 0, 0)
    run(fds, variant, sound)
    assert sound.calls["submit"] > 5
    for first in range(1, sound.calls["submit"] + 1):
        for times in (1, 3):
            done = run(fds, variant, Failing("submit", error, first, times))
            given_up = accesses_of(done, "give_up")
            assert bool(given_up) == (error not in PASSING)
            assert set(given_up) <= set(accesses_of(done, "read"))


@asynchronous
@pytest.mark.parametrize("error", [*PASSING, errno.ENOMEM])
def test_each_wait_may_fail(fds: list[int], variant: str, error: int) -> None:
    """A wait that fails is repeated, for as long as it takes."""
    skip_unless_it_runs(variant, fds)
    for first, times in ((1, 1), (2, 1), (1, 10**9), (3, 10**9)):
        failing = Failing("wait", error, first, times)
        done = run(fds, variant, failing)
        assert failing.calls["wait"] >= first
        assert accesses_of(done, "give_up") == []


def test_after_a_submission_that_failed_io_uring_reads_again(fds: list[int]) -> None:
    """What was given up does not fill the ring."""
    skip_unless_it_runs("uring", fds)
    dice = random.Random(3)
    accesses = [(0, dice.randrange(SIZE)) for _ in range(80)]
    failing = Failing("submit", errno.ENOMEM, 2, 1)
    done = replay(fds, accesses, concurrency=4, buffers=7, variant="uring", io=failing, log=True)
    last = max(i for i, step in enumerate(done.steps) if step.what == "give_up")
    assert any(step.what == "submit" for step in done.steps[last:])


# ---- where a read goes ---------------------------------------------------------------------------

FAR = 600_000
"""A block beyond 4 GiB: its offset has 33 bits. It is not the block that the lower 32 of them name."""
NEAR = FAR - 2**32 // BLCKSZ


@pytest.fixture(scope="module")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A file of 5 GiB, of which two blocks are written."""
    path = tmp_path_factory.mktemp("sparse") / "0"
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        try:
            os.truncate(fd, 5 * 2**30)
        except OSError as error:
            pytest.skip(f"no sparse file of 5 GiB here: {error}")
        for block in (NEAR, FAR):
            assert os.pwrite(fd, page(0, block), block * BLCKSZ) == BLCKSZ
        os.fsync(fd)
        yield fd
    finally:
        os.close(fd)
        path.unlink()


@every
@pytest.mark.parametrize("concurrency", [0, 4])
def test_offsets_beyond_4_gib(sparse: int, variant: str, concurrency: int) -> None:
    skip_unless_it_runs(variant, [sparse])
    accesses = [(0, FAR), (0, NEAR), (0, FAR), (0, 5 * 2**30 // BLCKSZ - 1)]
    seen = list[bytes]()
    replay(
        [sparse],
        accesses,
        concurrency=concurrency,
        buffers=concurrency + 1,
        variant=variant,
        use=lambda _access, content: seen.append(content),
    )
    assert seen == [page(0, FAR), page(0, NEAR), page(0, FAR), bytes(BLCKSZ)]
