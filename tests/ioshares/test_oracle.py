# SPDX-License-Identifier: PostgreSQL
"""The definition by hand, and by its laws in random worlds."""

from fractions import Fraction
from random import Random

import pytest

from ref.ioshares import Class, Costs, Limit, Limits, Policy, Refused, Request, Scheduler, factors
from tests.common.tally import tally
from tests.ioshares.strategies import POSTGRES


def waiting(classes: list[Class], *sizes: int, limits: Limits | None = None, times: int = 1) -> Scheduler:
    """A scheduler in which each class has `times` requests of its size waiting."""
    scheduler = Scheduler(classes, limits or Limits())
    for cls, size in enumerate(sizes):
        for id in range(times):
            scheduler.submit(Request(cls, size, id))
    return scheduler


def served(scheduler: Scheduler, n: int, policy: Policy = Policy.SFQ) -> list[int]:
    """The classes of the next n requests, each completed at once."""
    order = []
    for _ in range(n):
        request = scheduler.next(policy)
        scheduler.complete(request.cls, 1)
        order.append(request.cls)
    return order


def test_factors_are_the_least_in_inverse_proportion() -> None:
    assert factors([500, 200, 200, 100]) == [2, 5, 5, 10]
    assert factors([7]) == [1]


def test_service_divides_by_the_shares_exactly() -> None:
    """A thousand requests of equal size: 500, 200, 200 and 100 of them."""
    order = served(waiting([Class(c.share) for c in POSTGRES], *[8192] * 4, times=1000), 1000)
    assert [order.count(i) for i in range(4)] == [500, 200, 200, 100]
    assert order[:10] == [0, 1, 2, 3, 0, 0, 1, 2, 0, 0]


def test_a_request_of_twice_the_size_counts_twice() -> None:
    order = served(waiting([Class(1), Class(1)], 100, 200, times=60), 60)
    assert [order.count(i) for i in range(2)] == [40, 20]


def test_no_class_is_starved_by_rounding() -> None:
    """Requests of one byte, and a share that divides none of the others."""
    order = served(waiting([Class(997), Class(3), Class(1)], 1, 1, 1, times=1001), 1001)
    assert [order.count(i) for i in range(3)] == [997, 3, 1]


def test_an_idle_class_banks_nothing() -> None:
    """Class 1 returns after class 0 has been served alone for long: they alternate at once."""
    scheduler = waiting([Class(1), Class(1)], 10, times=200)
    assert served(scheduler, 100) == [0] * 100
    for id in range(20):
        scheduler.submit(Request(1, 10, id))
    order = served(scheduler, 8)
    assert order in ([1, 0] * 4, [1, *[0, 1] * 3, 0])


def test_a_lone_class_gets_all() -> None:
    assert served(waiting(list(POSTGRES), 8192, times=50), 50) == [0] * 50


def test_a_warp_lets_a_burst_go_first_and_changes_no_share() -> None:
    """A warp of ten requests: the first ten, and the one that is due, go ahead; after them the shares hold again."""
    order = served(waiting([Class(1, 100), Class(1)], 10, 10, times=100), 100)
    assert order[:11] == [0] * 11
    assert order[11:] == [1, 0] * 44 + [1]


def test_fifo_ignores_the_shares() -> None:
    scheduler = Scheduler([Class(1), Class(100)], Limits())
    for id in range(10):
        scheduler.submit(Request(id % 3 % 2, 1, id))
    assert served(scheduler, 10, Policy.FIFO) == [id % 3 % 2 for id in range(10)]


# ---- the limit -----------------------------------------------------------------------------------


def windows(limit: Limit, n: int, latency: int, pressed: bool = True) -> list[int]:
    """The limit after each of n windows of the same latency."""
    seen = []
    for _ in range(n):
        limit.observe(latency, pressed)
        while limit.completed:
            limit.observe(latency, pressed)
        seen.append(limit.now)
    return seen


def probed(limits: Limits, floor: int) -> Limit:
    """After its first probe, which has found the floor."""
    limit = Limit(limits, limits.start)
    assert windows(limit, 3, floor)[:2] == [max(limits.least, limits.start // 2), limits.start]
    assert (limit.now, limit.floor, limit.settling) == (limits.start, floor, False)
    return limit


def test_the_limit_falls_with_the_gradient_and_recovers_by_one() -> None:
    """Twice the floor: five eighths are left. The window after a fall is not looked at."""
    limit = probed(Limits(2, 40, 64, 10), 100)
    assert windows(limit, 6, 200) == [25, 25, 15, 15, 9, 9]
    assert windows(limit, 8, 200) == [5, 5, 3, 3, 2, 2, 3, 4]
    assert limit.floor == 200  # the limit was at its least, so this is what the device takes
    assert max(windows(limit, 100, 200)) == 64


def test_the_limit_rises_up_to_its_bound() -> None:
    """7/4 of the floor; a target moves it between 3/2 and 2."""
    for target, bound in ((0, 175), (1, 150), (149, 150), (160, 160), (201, 200), (10**6, 200)):
        assert windows(probed(Limits(1, 40, 64, 10, target), 100), 1, bound) == [41]
        assert windows(probed(Limits(1, 40, 64, 10, target), 100), 1, bound + 1) == [40 * 500 // (4 * bound + 4)]


def test_a_fall_is_one_at_least() -> None:
    limit = probed(Limits(1, 2, 64, 1), 100)
    assert windows(limit, 1, 176) == [1]
    limit = probed(Limits(7, 8, 64, 1), 100)
    assert windows(limit, 1, 10_000) == [7]


def test_the_limit_stays_if_it_holds_nothing_back() -> None:
    limit = probed(Limits(1, 5, 9, 8), 1)
    assert windows(limit, 200, 1, pressed=False) == [5] * 200
    limit.observe(1, True)
    assert windows(limit, 1, 1, pressed=False) == [6]


def test_a_window_has_as_many_completions_as_may_be_in_flight() -> None:
    limit = Limit(Limits(1, 5, 9, 3), 5)
    for _ in range(4):
        limit.observe(1, True)
    assert (limit.completed, limit.settling) == (4, True)
    limit.observe(1, True)
    assert (limit.completed, limit.settling) == (0, False)


def test_the_floor_is_probed_again() -> None:
    """After 64 windows in which the limit may grow: half as many, for two windows. What was the floor is forgotten."""
    limit = probed(Limits(1, 40, 50, 10), 100)
    assert windows(limit, 30, 100, pressed=False) == [40] * 30
    assert windows(limit, 64, 101)[-3:] == [50, 50, 25]
    assert limit.floor == 100
    assert windows(limit, 1, 1000) == [25]  # not looked at
    assert windows(limit, 1, 120) == [50]
    assert limit.floor == 120
    assert windows(limit, 65, 120)[-2:] == [50, 25]


def test_the_lowest_window_is_the_floor() -> None:
    limit = probed(Limits(1, 8, 50, 10), 100)
    windows(limit, 1, 90)
    windows(limit, 1, 95)
    assert limit.floor == 90


def test_a_latency_at_the_floor_never_lowers_the_limit() -> None:
    """Whatever the target: there is no cliff."""
    for target in (0, 1, 99, 100, 10**9):
        seen = windows(probed(Limits(1, 8, 20, 5, target), 100), 60, 100)
        assert seen == sorted(seen)


def test_a_limit_that_fell_below_what_is_in_flight_stops_dispatch() -> None:
    scheduler = waiting([Class(1)], 1, limits=Limits(1, 8, 8, 1), times=60)
    for _ in range(24):
        request = scheduler.next()
        scheduler.complete(request.cls, 10)
    assert (scheduler.limit.now, scheduler.limit.floor) == (8, 10)
    for _ in range(8):
        scheduler.next()
    for _ in range(7):
        scheduler.complete(0, 99)
        scheduler.next()
    scheduler.complete(0, 99)
    assert (scheduler.in_flight, scheduler.limit.now) == (7, 1)
    with pytest.raises(Refused):
        scheduler.next()


# ---- shares that change, and operations ------------------------------------------------------------


def test_shares_change_at_once_for_what_waits() -> None:
    scheduler = waiting([Class(1), Class(1)], 10, 10, times=100)
    assert served(scheduler, 4) == [0, 1, 0, 1]
    scheduler.set_shares([3, 1])
    order = served(scheduler, 80)
    assert (order.count(0), order.count(1)) == (60, 20)


def test_a_class_that_was_far_ahead_does_not_wait_for_long() -> None:
    """It has used a warp of ten requests with a small share. With a large one it waits for less."""
    scheduler = waiting([Class(1, 100), Class(10)], 10, 10, times=300)
    served(scheduler, 200)
    before = scheduler.lead(0) // scheduler.flows[0].factor
    scheduler.set_shares([10, 1])
    assert scheduler.lead(0) == before * scheduler.flows[0].factor
    order = served(scheduler, 22)
    assert (order.count(0), order.count(1)) == (20, 2)


def test_the_cost_of_a_volume() -> None:
    """125 MiB and 3,000 operations a second: 16 reads of 8 KiB cost more than one of 128 KiB."""
    operation = 125 * 2**20 // 3000
    assert operation == 43_690
    scheduler = Scheduler([Class(1), Class(1)], Limits(), Costs(operation, operation))
    assert scheduler.cost(Request(0, 8192, 0)) == 51_882
    for id in range(400):
        scheduler.submit(Request(0, 8192, id))
        scheduler.submit(Request(1, 131072, id, True))
    order = served(scheduler, 400)
    assert order.count(0) / order.count(1) == pytest.approx((operation + 131072) / (operation + 8192), rel=0.02)


# ---- taken back ----------------------------------------------------------------------------------


def test_what_is_taken_back_does_not_go_and_costs_nothing() -> None:
    scheduler = waiting([Class(1), Class(1)], 10, 10, limits=Limits(8, 8, 8), times=3)
    scheduler.cancel(0, 1)
    assert [scheduler.next()[::2] for _ in range(5)] == [(0, 0), (1, 0), (0, 2), (1, 1), (1, 2)]
    assert [flow.served for flow in scheduler.flows] == [20, 30]


def test_only_what_waits_is_taken_back() -> None:
    scheduler = waiting([Class(1), Class(1)], 10, times=2)
    scheduler.next()
    for cls, id in ((0, 0), (1, 1), (0, 7), (2, 1)):
        with pytest.raises(Refused):
            scheduler.cancel(cls, id)
    scheduler.cancel(0, 1)
    with pytest.raises(Refused):
        scheduler.cancel(0, 1)


# ---- laws ----------------------------------------------------------------------------------------


class World:
    """Random requests and completions, and what the laws speak of, counted here once more."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.shares = [rng.randint(1, 12) for _ in range(rng.randint(2, 5))]
        self.largest = rng.choice([1, 7, 8192])
        self.warps = [rng.choice([0, 0, 3 * self.largest]) for _ in self.shares]
        start = rng.randint(1, 6)
        limits = Limits(1, start, start + 3, rng.randint(1, 5), 100)
        self.most = limits.most
        self.costs = Costs(rng.choice([0, 2 * self.largest]), rng.choice([0, self.largest]))
        classes = [Class(s, w, 10_000) for s, w in zip(self.shares, self.warps, strict=True)]
        self.scheduler = Scheduler(classes, limits, self.costs)
        self.flying: list[int] = []
        # Of each class: what was given to it, in bytes and operations.
        self.given = [0] * len(classes)

    def step(self) -> None:
        rng, s = self.rng, self.scheduler
        for _ in range(rng.choice([0, 1, 1, 3])):
            cls, size = rng.randrange(len(self.shares)), rng.randint(1, self.largest)
            s.submit(Request(cls, size, 0, rng.random() < 0.5))
        while s.waiting and s.in_flight < s.limit.now:
            request = s.next()
            self.flying.append(request.cls)
            self.given[request.cls] += request.size + self.costs[request.write]
        for _ in range(rng.randint(0, len(self.flying))):
            s.complete(self.flying.pop(rng.randrange(len(self.flying))), rng.choice([50, 150]))

    def change_shares(self) -> None:
        self.shares = [self.rng.randint(1, 12) for _ in self.shares]
        self.scheduler.set_shares(self.shares)

    def backlogged(self, cls: int) -> bool:
        return bool(self.scheduler.flows[cls].waiting)

    def bound(self, f: int, g: int) -> Fraction:
        """Of the difference in normalised service, where all requests are of `largest` at most, and an operation."""
        most = self.largest + max(self.costs)
        return sum((Fraction(most + self.warps[i], self.shares[i]) for i in (f, g)), Fraction())


def test_the_law_of_fairness() -> None:
    """While two classes are backlogged, their service by share differs by at most the bound, over any interval.

    Shares change at times: from then on the bound holds by the new ones, whatever was before.
    """
    intervals = 0
    for seed in range(150):
        world = World(Random(seed))
        marks: dict[tuple[int, int], list[Fraction]] = {}
        for n in range(150):
            world.step()
            if n % 50 == 49 and seed % 2:
                world.change_shares()
                marks = {}
            for f in range(len(world.shares)):
                for g in range(f):
                    lead = Fraction(world.given[f], world.shares[f]) - Fraction(world.given[g], world.shares[g])
                    if not (world.backlogged(f) and world.backlogged(g)):
                        marks[f, g] = []
                        continue
                    marks.setdefault((f, g), []).append(lead)
                    intervals += len(marks[f, g]) - 1
                    assert max(marks[f, g]) - min(marks[f, g]) <= world.bound(f, g)
    tally("ioshares", "intervals held to the bound", intervals)
    assert intervals > 100_000


def test_the_bound_is_nearly_reached() -> None:
    """Equal shares, requests of 1 and of 100 bytes: the bound is 101, and the difference comes within 2 of it."""
    scheduler = waiting([Class(1), Class(1)], 1, 100, times=1000)
    given, lead = [0, 0], []
    for _ in range(500):
        request = scheduler.next()
        scheduler.complete(request.cls, 1)
        given[request.cls] += request.size
        lead.append(given[1] - given[0])
    assert 99 <= max(lead) - min(lead) <= 101


def test_the_laws_of_dispatch() -> None:
    """World.step dispatches up to the limit, and next() always finds one. Then nothing more goes. Tags stay near."""
    at_limit = 0
    for seed in range(100):
        world = World(Random(1000 + seed))
        for _ in range(100):
            world.step()
            s = world.scheduler
            assert s.in_flight == len(world.flying) <= world.most
            if s.in_flight >= s.limit.now and s.waiting:
                at_limit += 1
                with pytest.raises(Refused):
                    s.next()
            for flow in s.flows:
                assert flow.tag <= s.virtual_time + flow.warp + flow.factor * (world.largest + max(world.costs))
                assert not flow.waiting or flow.tag >= s.virtual_time
    assert at_limit > 1000
