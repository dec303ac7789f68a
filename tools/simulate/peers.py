# SPDX-License-Identifier: PostgreSQL
"""The same loads under a scheduler that others use: mClock, told what ours is not: how many requests to keep in flight.

The foreground asks for half of the device. With a reservation it is promised a little more than that, which is the best
an administrator could do who knows it; without one there are only the weights, which are our shares.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tools.simulate.device import (
    AUTOVACUUM,
    BACKEND,
    CAPACITY_A_SECOND,
    CHECKPOINTER,
    CLASSES,
    DEPTH,
    FOREGROUND,
    LIMITS,
    TRANSACTIONS,
    Backlog,
    Load,
    Simulation,
)
from tools.simulate.mclock import Terms

RESERVED = 0.6
"""Of the device, for the foreground."""
SECONDS = 0.5
FOREGROUNDS: dict[str, Load] = {"arrivals": FOREGROUND, "sessions": TRANSACTIONS}
BACKGROUND = (Backlog(CHECKPOINTER, 256), Backlog(AUTOVACUUM, 256))


@dataclass(frozen=True)
class Peer:
    """A scheduler as an administrator may set it up. in_flight: 0 for ours, which finds it out."""

    name: str
    variant: str
    in_flight: int = 0
    reserved: float = 0.0

    def simulation(self, loads: list[Load]) -> Simulation:
        terms = tuple(
            Terms(cls.share, self.reserved * CAPACITY_A_SECOND if number == BACKEND else 0.0)
            for number, cls in enumerate(CLASSES)
        )
        limits = LIMITS._replace(most=self.in_flight) if self.in_flight else LIMITS
        return Simulation(loads, self.variant, 3, limits=limits, terms=terms)


PEERS = (
    Peer("fifo", "fifo"),
    *(
        Peer(f"mclock, {in_flight} in flight{', reserved' * bool(reserved)}", "mclock", in_flight, reserved)
        for in_flight in (DEPTH, 4 * DEPTH)
        for reserved in (0.0, RESERVED)
    ),
    Peer("sfq, ours", "sfq"),
)


@dataclass(frozen=True)
class Run:
    """A peer, with a foreground of a kind beside a checkpointer and an autovacuum that never stop."""

    peer: Peer
    foreground: str

    def figures(self) -> tuple[float, float, float]:
        """The foreground's p99 in µs, its requests a second, and those of the background."""
        found = self.peer.simulation([FOREGROUNDS[self.foreground], *BACKGROUND]).run(SECONDS)
        return found.p99(), found.a_second(), sum(found.a_second(cls) for cls in (CHECKPOINTER, AUTOVACUUM))


def runs() -> list[Run]:
    return [Run(peer, foreground) for foreground in FOREGROUNDS for peer in PEERS]


def curves(figures: Mapping[Run, tuple[float, float, float]]) -> list[dict[str, Any]]:
    """Each run, for who reads the result."""
    return [
        {
            "foreground": run.foreground,
            "peer": run.peer.name,
            "p99_us": p99,
            "a_second": a_second,
            "background": background,
        }
        for run, (p99, a_second, background) in figures.items()
    ]
