# SPDX-License-Identifier: PostgreSQL
"""The scheduler extracted from the proof, the oracle and the kernel, call by call in random worlds."""

import subprocess
from random import Random
from typing import Any

from ref.ioshares import Class, Costs, Limits, Request
from tests.common.extraction import agree, program
from tests.common.tally import tally
from tests.ioshares.pair import Pair
from tests.ioshares.strategies import LARGEST_FACTOR, SHARES

PROGRAM = program("ioshares")
MOST_BYTES = 2**26
"""The extracted program has 63 bits: this, an operation and a warp, times the largest factor, are below 2^58."""


class World:
    """One run: the lines for the program, and the answers that it must give."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.shares = list(rng.choice(SHARES))
        self.largest = MOST_BYTES if self.shares == LARGEST_FACTOR else rng.choice([3, 8192, MOST_BYTES])
        classes = [Class(s, rng.choice([0, 0, 2, self.largest]), rng.choice([1, 5, 50])) for s in self.shares]
        start = rng.randint(1, 12)
        limits = Limits(1, start, start + rng.randint(0, 8), rng.randint(1, 8), rng.choice([0, 0, 100, 200]))
        costs = Costs(rng.choice([0, 0, 3, self.largest]), rng.choice([0, 0, 5, self.largest]))
        self.pair = Pair(classes, limits, "sfq", costs=costs)
        of_classes = [number for c in classes for number in c]
        order = (limits.least, limits.start, limits.most, limits.window, limits.target)
        self.lines = [" ".join(map(str, ("new", *order, len(classes), *of_classes)))]
        self.answers: list[str] = []

    def state(self) -> str:
        state = self.pair.kernel.state
        numbers = [
            *(state.waiting, state.in_flight, state.limit, state.level, state.floor),
            *(state.window_completed, state.window_latency),
            *(number for c in state.classes for number in (c.lead, c.charged)),
        ]
        return "| " + " ".join(map(str, numbers))

    def call(self, line: str, answer: Any) -> None:
        """One call that oracle and kernel have answered alike."""
        went = isinstance(answer, Request)
        said = f"{answer.cls} {self.pair.oracle.cost(answer)}" if went else "done" if answer is None else "refused"
        self.lines.append(line)
        self.answers.append(f"{said} {self.state()}")

    def cancel(self, cls: int, place: int) -> None:
        """The program knows places, and the others know ids."""
        waiting = self.pair.oracle.flows[cls].waiting if cls < len(self.shares) else ()
        id = waiting[place][1].id if place < len(waiting) else 10**9
        self.call(f"cancel {cls} {place}", self.pair.cancel(cls, id))

    def set_shares(self) -> None:
        """Turned about, or others, some of which are refused."""
        count = len(self.shares)
        others = [self.rng.choice([1, 2, 6, 500, 9973, 10_000, 10_001]) for _ in range(count)]
        shares = self.rng.choice([self.rng.sample(self.shares, count), others])
        self.call(f"shares {' '.join(map(str, shares))}", self.pair.set_shares(shares))

    def run(self, calls: int) -> None:
        rng = self.rng
        for n in range(calls):
            cls, size = rng.randrange(len(self.shares) + (n % 50 == 0)), rng.randint(n % 40 > 0, self.largest)
            if rng.random() < 0.6:
                write = rng.random() < 0.5
                operation = self.pair.oracle.costs[write]
                self.call(f"submit {cls} {operation} {size}", self.pair.submit(cls, size, n, write))
            if rng.random() < 0.02:
                self.set_shares()
            if rng.random() < 0.1:
                self.cancel(cls, rng.randint(0, 6))
            self.call("next", self.pair.next())
            latency = rng.choice([10, 90, 110, 2**41])
            if n % 150 > 100:
                latency = 10  # so that the limit grows, and a probe comes
            if rng.random() < 0.7:
                self.call(f"complete {cls} {latency}", self.pair.complete(cls, latency))


def test_proof_equals_oracle_equals_kernel() -> None:
    worlds = [World(Random(seed)) for seed in range(60)]
    for world in worlds:
        world.run(300)
    questions = "\n".join(line for world in worlds for line in world.lines) + "\n"
    said = subprocess.run([PROGRAM], input=questions, capture_output=True, text=True, check=True).stdout.splitlines()
    wanted = [answer for world in worlds for answer in world.answers]
    agree(said, wanted)
    assert sum(answer.startswith("refused") for answer in wanted) > 1000
    assert max(world.pair.oracle.virtual_time for world in worlds) > 2**61
    tally("ioshares", "calls through proof, oracle and kernel", len(wanted))
