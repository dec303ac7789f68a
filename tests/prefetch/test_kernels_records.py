# SPDX-License-Identifier: PostgreSQL
"""Jobs whose WAL records have several blocks, or none: the log is the definition's, and every page the right one."""

import random

import pytest
from _pgquern import lib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pgquern.prefetch import ReplayError, replay

from ref.prefetch import PROBE_EVERY, AdvicePolicy
from tests.prefetch.files import VARIANTS, skip_unless_it_runs
from tests.prefetch.test_kernels_replay import SIZES, Answers, expected, random_accesses

MOST = 33
"""XLR_MAX_BLOCK_ID + 1."""

every = pytest.mark.parametrize("variant", VARIANTS)
some = settings(max_examples=settings().max_examples // 5, suppress_health_check=list(HealthCheck))
seeds = st.integers(0, 2**32 - 1)
windows = st.sampled_from([1, 2, 3, 10, 32])


def records_of(accesses: int, seed: int) -> list[int]:
    """The blocks of each record, of that many in all."""
    dice, sizes, left = random.Random(seed), list[int](), accesses
    most, many = dice.choice([1, 3, MOST]), accesses // 3
    while left:
        sizes += [0] * (150 if left == many else dice.choice([0, 0, 0, 1])) + [dice.randint(1, min(most, left))]
        left -= sizes[-1]
    return sizes + [0] * dice.choice([0, 3])


@some
@given(size=st.integers(0, 100), seed=seeds, concurrency=windows, more=st.sampled_from([1, 5, 40]))
def test_the_log_of_advise_is_that_of_the_definition(
    fds: list[int], size: int, seed: int, concurrency: int, more: int
) -> None:
    accesses, records = random_accesses(size, seed)[:size], records_of(size, seed)
    done = replay(
        fds,
        accesses,
        concurrency=concurrency,
        buffers=concurrency + more,
        records=records,
        variant="advise",
        log=True,
    )
    assert done.steps == expected(accesses, concurrency, concurrency + more, set(), sizes=records)


@some
@given(
    size=st.integers(0, 500),
    seed=seeds,
    concurrency=windows,
    part=st.sampled_from([0, 2, 1000]),
    forgets=st.sampled_from([0, 150, 400]),
)
def test_the_log_of_advise_adaptive_is_that_of_the_definition(
    fds: list[int], size: int, seed: int, concurrency: int, part: int, forgets: int
) -> None:
    """While it rests too, and if a read wakes it in the middle of a record."""
    accesses, records = random_accesses(size, seed)[:size], records_of(size, seed)
    cached: set[tuple[int, int]] = (
        set() if part == 0 else {access for i, access in enumerate(sorted(set(accesses))) if i % part != 1}
    )
    kernel = Answers(cached, fds)

    def forget(access: int, _content: bytes) -> None:
        if forgets and (access + 1) % forgets == 0:
            kernel.cached_blocks.clear()

    done = replay(
        fds,
        accesses,
        concurrency=concurrency,
        buffers=concurrency + 1,
        records=records,
        variant="advise_adaptive",
        use=forget,
        io=kernel,
        log=True,
    )
    policy = AdvicePolicy(probe_every=PROBE_EVERY)
    assert done.steps == expected(accesses, concurrency, concurrency + 1, cached, policy, forgets, records)
    assert sum(done.counters.values()) + done.rested <= size


@every
def test_a_refusal_in_the_middle_of_a_record_says_which_block(fds: list[int], variant: str) -> None:
    skip_unless_it_runs(variant, fds)
    accesses = [(1, i) for i in range(12)]
    accesses[7] = (1, SIZES[1])
    with pytest.raises(ReplayError) as refusal:
        replay(fds, accesses, concurrency=4, buffers=6, records=[2, 0, 10], variant=variant)
    assert (refusal.value.code, refusal.value.index) == (lib.PGQ_PREFETCH_PAST_END, 8)
    assert refusal.value.replayed.used == 7


@every
@pytest.mark.parametrize("records", [[40], [34, 6], [20, 19], [20, 21], [33, 7, 1], []])
def test_records_that_cannot_be_are_refused(fds: list[int], variant: str, records: list[int]) -> None:
    """One has more than 33 blocks, or they do not come to 40."""
    accesses = [(1, i % 30) for i in range(40)]
    with pytest.raises(ReplayError) as refusal:
        replay(fds, accesses, concurrency=4, buffers=6, records=records, variant=variant)
    assert (refusal.value.code, refusal.value.replayed.used) == (lib.PGQ_PREFETCH_JOB, 0)
    assert lib.PGQ_PREFETCH_RECORD_BLOCKS == MOST
    replay(fds, accesses, concurrency=4, buffers=6, records=[33, 0, 7], variant="sync")
