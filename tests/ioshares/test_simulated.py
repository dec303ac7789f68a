# SPDX-License-Identifier: PostgreSQL
"""The scheduler on the simulated device, for a short while. No clock is read, so every bound holds on any machine."""

import numpy as np
import pytest

from bench.ioshares.device import (
    AUTOVACUUM,
    CHECKPOINTER,
    CLASSES,
    DEPTH,
    LIMITS,
    Backlog,
    Bursts,
    Outcome,
    Simulation,
)
from bench.ioshares.simulate import ALL_BACKLOGGED, DEADLINE, FOREGROUND, SATURATING, SEED, outcome, share_error


@pytest.fixture(scope="module")
def alone() -> Outcome:
    return outcome([FOREGROUND], "sfq", 0.2)


def test_the_foreground_hardly_notices_background_work(alone: Outcome) -> None:
    beside = outcome([FOREGROUND, *SATURATING], "sfq", 0.2)
    assert beside.p99() <= 1.5 * alone.p99()
    assert beside.a_second(CHECKPOINTER) > 0.8 * beside.a_second(AUTOVACUUM) > 10_000


def test_first_come_first_served_makes_it_wait(alone: Outcome) -> None:
    assert outcome([FOREGROUND, *SATURATING], "fifo", 0.2).p99() > 5 * alone.p99()


def test_shares_alone_do_not_suffice(alone: Outcome) -> None:
    """Without a warp the foreground, which needs nine tenths of its share, waits when a burst of it comes."""
    no_warp = tuple(c._replace(warp=0) for c in CLASSES)
    plain = Simulation([FOREGROUND, *SATURATING], "sfq", SEED, classes=no_warp).run(0.2)
    assert plain.p99() > 1.5 * alone.p99()


def test_a_flush_makes_nobody_late_but_with_first_come_first_served() -> None:
    flush = Bursts(CHECKPOINTER, 512, 50_000_000)
    assert outcome([FOREGROUND, flush], "fifo", 0.2).late(DEADLINE) > 0.01
    assert outcome([FOREGROUND, flush], "sfq", 0.2).late(DEADLINE) < 0.0002


def test_all_backlogged_get_their_shares() -> None:
    found = outcome(ALL_BACKLOGGED, "sfq", 0.3)
    assert share_error(found) < 0.02
    assert share_error(outcome(ALL_BACKLOGGED, "fifo", 0.3)) > 0.2


def test_a_lone_class_gets_the_whole_device() -> None:
    """Work conservation: the autovacuum alone is served as fast as all four classes together."""
    lone = outcome([Backlog(AUTOVACUUM, 64)], "sfq", 0.2)
    together = outcome(ALL_BACKLOGGED, "sfq", 0.2)
    assert lone.a_second(AUTOVACUUM) > 0.98 * sum(together.a_second(cls) for cls in range(4))


def test_the_limit_finds_the_depth_of_the_device() -> None:
    """It starts far too high and far too low, and ends around the eight that the device serves side by side."""
    for start in (1, 64):
        limits = LIMITS._replace(start=start)
        found = Simulation(list(ALL_BACKLOGGED), "sfq", SEED, limits=limits).run(0.2)
        assert found.limits[0] == start
        assert DEPTH - 3 <= np.mean(found.limits[-5000:]) <= DEPTH + 3
