# SPDX-License-Identifier: PostgreSQL
"""The simulated device behind the claim about the foreground, and where the claim ends. No clock is read."""

import pytest

from bench.ioshares.simulated import AT_LEAST, AT_MOST, AUTOVACUUM, BASE, SHARES, Point, Simulation, p99s, pair


def served(backlogs: list[int], pages: int = 1) -> int:
    """Requests in a fifth of a second, with so many of each of these classes submitted at all times."""
    one = Simulation("sfq")
    for cls in backlogs:
        one.backlog(cls, 64, pages)
    one.run(0.2)
    return len(one.done)


def test_a_lone_class_gets_the_whole_device() -> None:
    assert served([AUTOVACUUM]) > 0.98 * served(list(range(len(SHARES))))


def test_a_longer_request_takes_longer() -> None:
    """Of n pages (1 + n) / 2 times as long."""
    assert served([AUTOVACUUM]) / served([AUTOVACUUM], pages=7) == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize(
    ("point", "alone", "fifo"),
    [
        (BASE, True, True),
        (Point(foreground=0.6), False, False),
        (Point(backlog=8), True, False),
        (Point(warp=0), False, True),
    ],
    ids=str,
)
def test_the_claim_ends(point: Point, alone: bool, fifo: bool) -> None:
    """Each bound on its own. Where nothing is claimed, what holds nevertheless fails."""
    times, below = p99s(point, (3,), 0.15)
    assert (times <= AT_MOST, below >= AT_LEAST) == (alone, fifo)
    for claimed in (True, False):
        failed = {one["status"] == "failed" for one in pair("some", (times, below), claimed=claimed)}
        assert (True in failed) == (claimed != (alone and fifo))
