# SPDX-License-Identifier: PostgreSQL
"""What bench/prefetch/distance.py says of ReadStream's distance in recovery; and its ring, by hand."""

import pytest
from click.testing import CliRunner

from bench.prefetch.distance import SHARES, Outcome, StreamRing, cold_blocks, main, try_rule
from ref.prefetch import Next
from tools.advise.device import Device

COUNT = 1500


def outcomes(share: int, concurrency: int) -> tuple[Outcome, Outcome, Outcome]:
    cold = cold_blocks(COUNT, share)
    found = [try_rule(rule, concurrency, cold, Device(64, 1e-4)) for rule in ("recovery", "stream", "patient")]
    return found[0], found[1], found[2]


def test_the_distance_step_by_step() -> None:
    ring = StreamRing(2, 8)
    answers = iter([Next.IO, Next.NO_IO, Next.NO_IO, Next.IO, Next.AGAIN])

    def look() -> tuple[Next, int]:
        return next(answers), 1

    ring.prefetch(look)
    assert (len(ring.entries), ring.inflight, ring.distance) == (1, 1, 1)
    ring.needed()
    ring.needed()
    assert ring.distance == 4
    ring.prefetch(look)  # Each of two hits takes one off, and three references are in the ring.
    assert (len(ring.entries), ring.inflight, ring.distance) == (3, 1, 2)
    ring.complete(2)
    ring.prefetch(look)
    assert (len(ring.entries), ring.distance) == (1, 2)
    for _ in range(5):
        ring.needed()
    assert ring.distance == ring.max_distance


def test_patience_leaves_the_distance_alone_for_a_while() -> None:
    ring = StreamRing(2, 8, patience=3)
    for _ in range(3):
        ring.needed()
    for _ in range(3):
        ring.found()
    assert ring.distance == 8
    ring.found()
    assert ring.distance == 7


@pytest.mark.parametrize("concurrency", [10, 64])
@pytest.mark.parametrize("share", SHARES)
def test_the_distance_makes_no_replay_faster(share: int, concurrency: int) -> None:
    recovery, stream, patient = outcomes(share, concurrency)
    assert recovery.seconds <= stream.seconds * 1.001
    assert recovery.seconds <= patient.seconds * 1.001
    assert stream.ahead <= recovery.ahead


def test_where_few_blocks_are_cold_it_is_as_slow_as_no_prefetching() -> None:
    for share in (3, 10):
        recovery, stream, _ = outcomes(share, 10)
        none = try_rule("recovery", 1, cold_blocks(COUNT, share), Device(64, 1e-4))
        assert stream.seconds > 1.1 * recovery.seconds
        assert stream.ahead < 1.2
        assert stream.seconds > 0.95 * none.seconds


def test_where_all_is_cached_it_looks_at_nothing_ahead() -> None:
    recovery, stream, patient = outcomes(0, 10)
    assert stream.seconds == patient.seconds == recovery.seconds
    assert stream.ahead < 1.01 < 30 < recovery.ahead


def test_the_table_has_a_row_for_each_share() -> None:
    done = CliRunner().invoke(main, ["--records", "40"])
    assert done.exit_code == 0, done.output
    rows = [line for line in done.output.splitlines() if line.startswith("│")]
    assert [row.split()[1] for row in rows] == [str(share) for share in SHARES]
