# SPDX-License-Identifier: PostgreSQL
"""mClock as a peer in the simulation: weights, reservations, who was idle, and how many requests are in flight."""

from collections import Counter

import pytest
from pgquern.ioshares import Request

from tools.simulate.mclock import MClock, Terms, Waits


class Clock:
    """Seconds; a service takes a hundredth."""

    def __init__(self, *terms: Terms, in_flight: int = 1) -> None:
        self.now = 1.0
        self.scheduler = MClock(terms, in_flight, lambda: self.now)

    def submit(self, cls: int, n: int) -> None:
        for number in range(n):
            self.scheduler.submit(Request(cls, 8192, number))

    def serve(self, n: int) -> Counter[int]:
        """The requests served, by class; each makes room for the next one."""
        served: Counter[int] = Counter()
        for _ in range(n):
            request = self.scheduler.next()
            served[request.cls] += 1
            self.now += 0.01
            self.scheduler.complete(request.cls, 10_000_000)
        return served


def test_without_reservations_service_is_by_weight() -> None:
    clock = Clock(Terms(300), Terms(100))
    clock.submit(0, 400)
    clock.submit(1, 400)
    assert clock.serve(400)[0] == pytest.approx(300, abs=2)


def test_a_reservation_comes_before_the_weights() -> None:
    """A hundred a second are served; of them 60 are promised to who has a hundredth of the weight."""
    clock = Clock(Terms(1, 60), Terms(99))
    clock.submit(0, 400)
    clock.submit(1, 400)
    assert clock.serve(400)[0] == pytest.approx(0.6 * 400, abs=4)


def test_a_reservation_below_the_share_changes_nothing() -> None:
    clock = Clock(Terms(50, 30), Terms(50))
    clock.submit(0, 400)
    clock.submit(1, 400)
    assert clock.serve(400)[0] == pytest.approx(200, abs=4)


def test_what_went_by_weight_is_not_taken_from_the_reservation() -> None:
    """Who had the device for itself has its reservation from the moment on in which somebody else comes."""
    clock = Clock(Terms(1, 30), Terms(99))
    clock.submit(0, 600)
    clock.serve(200)
    clock.submit(1, 600)
    assert clock.serve(200)[0] == pytest.approx(60, abs=4)


def test_who_idled_has_no_reservation_in_arrears() -> None:
    clock = Clock(Terms(1, 30), Terms(99))
    clock.submit(0, 200)
    clock.serve(200)
    clock.now += 100
    clock.submit(0, 400)
    clock.submit(1, 400)
    assert clock.serve(200)[0] == pytest.approx(60, abs=4)


def test_who_was_idle_is_neither_ahead_nor_behind() -> None:
    """The tags of the weights run ahead of time here: a tenth of a second a request, which takes a hundredth."""
    clock = Clock(Terms(10), Terms(10))
    clock.submit(0, 700)
    clock.serve(200)
    clock.submit(1, 50)
    assert clock.serve(100)[1] == pytest.approx(50, abs=1)
    assert clock.serve(100)[1] <= 1
    clock.submit(1, 100)
    assert clock.serve(100)[1] == pytest.approx(50, abs=2)


def test_requests_of_a_class_keep_their_order_and_no_more_are_in_flight_than_may_be() -> None:
    clock = Clock(Terms(100), in_flight=2)
    clock.submit(0, 3)
    assert [clock.scheduler.next().id, clock.scheduler.next().id] == [0, 1]
    with pytest.raises(Waits):
        clock.scheduler.next()
    clock.scheduler.complete(0, 1)
    assert clock.scheduler.next().id == 2
    clock.scheduler.complete(0, 1)
    with pytest.raises(Waits):  # nothing waits
        clock.scheduler.next()
