# SPDX-License-Identifier: PostgreSQL
"""The lock extracted from the proof, the oracle and the C lock, on the same calls."""

import struct
import subprocess
from random import Random

from pgquern.rangelock import Hold, RangeLock

from ref import rangelock as ref
from tests.common.extraction import agree, program
from tests.common.tally import tally

PROGRAM = program("rangelock")
ASK, TRY, LEAVE, BEGIN = range(4)
Answer = tuple[int, list[int]]
"""Whether it is held, and tickets: see proofs/oracle/rangelock.ml."""


class Play:
    """Random calls on the oracle and the C lock, with the questions to the proved one, and the answer to each."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.questions = [struct.pack("<BBQQ", BEGIN, 0, 0, 0)]
        self.answers: list[Answer] = [(0, [])]
        self.oracle, self.kernel = ref.RangeLock(), RangeLock(variant="interval")
        self.present: list[tuple[ref.Request, Hold]] = []

    def some_range(self) -> tuple[int, int]:
        unit = self.rng.choice([1, 8192, 2**54])
        return unit * self.rng.randrange(20), self.rng.randrange(1, 6 * unit)

    def note(self, op: int, mode: bool, a: int, b: int, answer: Answer) -> None:
        self.questions.append(struct.pack("<BBQQ", op, mode, a, b))
        self.answers.append(answer)

    def ask(self) -> None:
        (offset, length), exclusive, hold = self.some_range(), self.rng.random() < 0.3, Hold()
        request = self.oracle.request(offset, length, exclusive=exclusive)
        held = request in self.oracle.held
        assert self.kernel.request(hold, offset, length, exclusive=exclusive) == held
        self.note(ASK, exclusive, offset, offset + length, (held, [request.ticket]))
        self.present.append((request, hold))

    def try_(self) -> None:
        (offset, length), exclusive, hold = self.some_range(), self.rng.random() < 0.3, Hold()
        request = self.oracle.try_request(offset, length, exclusive=exclusive)
        assert self.kernel.try_lock(hold, offset, length, exclusive=exclusive) == (request is not None)
        tickets = [request.ticket] if request else []
        self.note(TRY, exclusive, offset, offset + length, (request is not None, tickets))
        if request:
            self.present.append((request, hold))

    def leave(self) -> None:
        """Mostly by release: then several may go at once."""
        held = [one for one in self.present if one[0] in self.oracle.held]
        request, hold = self.rng.choice(self.present if self.rng.random() < 0.2 else held)
        self.present.remove((request, hold))
        if request in self.oracle.held:
            granted = self.oracle.release(request)
            self.kernel.unlock(hold)
        else:
            granted = self.oracle.cancel(request)
            self.kernel.cancel(hold)
        assert all(self.kernel.is_held(h) == (r in self.oracle.held) for r, h in self.present)
        self.note(LEAVE, False, request.ticket, 0, (0, sorted(r.ticket for r in granted)))

    def play(self, calls: int, most: int) -> None:
        for _ in range(calls):
            if self.present and (len(self.present) >= most or self.rng.random() < 0.45):
                self.leave()
            else:
                self.rng.choice([self.ask, self.ask, self.try_])()
        while self.present:
            self.leave()
        self.kernel.close()


def parsed(output: bytes) -> list[Answer]:
    found, at = [], 0
    while at < len(output):
        code, n = struct.unpack_from("<BI", output, at)
        found.append((code, sorted(struct.unpack_from(f"<{n}Q", output, at + 5))))
        at += 5 + 8 * n
    return found


def test_proof_equals_oracle_equals_kernel() -> None:
    plays = [Play(seed) for seed in range(100)]
    for number, play in enumerate(plays):
        play.play(100, most=[4, 12, 60][number % 3])
    questions = b"".join(question for play in plays for question in play.questions)
    done = subprocess.run([PROGRAM], input=questions, capture_output=True, check=True)
    wanted = [answer for play in plays for answer in play.answers]
    agree(parsed(done.stdout), wanted)
    assert sum(len(tickets) > 1 for _, tickets in wanted) > 50  # departures that grant several
    tally("rangelock", "calls through proof, oracle and C lock", len(wanted))
