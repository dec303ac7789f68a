# SPDX-License-Identifier: PostgreSQL
"""Answers to what recordings leave open: first yes; where the trace does not fit then, no, from the last one on."""

from collections.abc import Iterator, Sequence
from typing import Self

MOST = 200
"""Attempts."""


class Guesses:
    """answers: to the first questions, in turn; to all others it is yes. `given` has all answers that were given."""

    def __init__(self, answers: Sequence[bool] = ()) -> None:
        self.answers = list(answers)
        self.given: list[bool] = []

    def ask(self) -> bool:
        at = len(self.given)
        self.given.append(self.answers[at] if at < len(self.answers) else True)
        return self.given[-1]

    @classmethod
    def all(cls) -> Iterator[Self]:
        """One after the other: each tries what the one before, which is used up by then, has not. Where MOST ends them,
        some of the last one's answers are left in `given`."""
        guesses = cls()
        for _ in range(MOST):
            yield guesses
            given = guesses.given
            while given and not given[-1]:
                given.pop()
            if not given:
                return
            guesses = cls([*given[:-1], False])
