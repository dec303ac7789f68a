# SPDX-License-Identifier: PostgreSQL
"""Proof = oracle = kernel: the ring extracted from the proofs, beside the definition's and the kernel's, step by step.

build/oracle/prefetch runs the ring that proofs/prefetch/ proves right. It gets the same calls, and the same answers of
the callback, as the definition's ring gets in a random world; how many answers it asks for is its own decision. Then it
judges the event log, which is the same of the definition and of the kernel: it must ask for each reference that was
looked at, and hold after each record what the kernel's ring holds.
"""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ref.prefetch import Event, Next, Prefetcher, Record, Ring
from tests.extracted import program
from tests.prefetch.kernel import KernelPrefetcher
from tests.prefetch.random_world import random_world
from tests.prefetch.world import replay
from tests.tally import tally

PROGRAM = program("prefetch")


@dataclass
class Questions:
    """Calls of a ring, as the program reads them, and what it must answer."""

    lines: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)

    def ask(self, line: str, ring: Ring, consumed: int = 0) -> None:
        held = "".join(f" {'i' if io else 'n'}{lsn}" for lsn, io in ring.entries)
        self.lines.append(line)
        self.answers.append(f"{ring.inflight} {len(ring.entries) - ring.inflight} {consumed} 0{held}")

    def check(self) -> int:
        """Ask them all; AssertionError at the first other answer. The number asked."""
        text = "".join(line + "\n" for line in self.lines)
        run = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, check=True)
        for line, got, expected in zip(self.lines, run.stdout.splitlines(), self.answers, strict=True):
            assert got == expected, f"{line}: the extracted proof says {got}, not {expected}"
        return len(self.lines)


@dataclass
class Logged(Ring):
    """A ring of the definition that notes its calls, and what its callback answered."""

    questions: Questions = field(default_factory=Questions)

    def __post_init__(self) -> None:
        self.questions.ask(f"new {self.max_distance} {self.max_inflight}", self)

    def prefetch(self, look: Callable[[], tuple[Next, int]]) -> None:
        given: list[str] = []

        def noted() -> tuple[Next, int]:
            answer, lsn = look()
            given.append("a" if answer is Next.AGAIN else f"{'i' if answer is Next.IO else 'n'}{lsn}")
            return answer, lsn

        super().prefetch(noted)
        self.questions.ask(" ".join(["prefetch", *given]), self, len(given))

    def complete(self, replayed_up_to: int) -> None:
        super().complete(replayed_up_to)
        self.questions.ask(f"complete {replayed_up_to}", self)


class LoggedPrefetcher(Prefetcher):
    """Its rings note their calls; held: what the ring holds after each record."""

    questions: Questions
    held: list[list[tuple[int, bool]]]

    def reconfigure(self, concurrency: int) -> None:
        super().reconfigure(concurrency)
        self.ring = Logged(self.ring.max_inflight, self.ring.max_distance, questions=self.questions)

    def read_record(self) -> Record | None:
        record = super().read_record()
        self.held.append(list(self.ring.entries))
        return record


def logged(questions: Questions, held: list[list[tuple[int, bool]]]) -> type[LoggedPrefetcher]:
    return type("Noting", (LoggedPrefetcher,), {"questions": questions, "held": held})


@given(st.integers(0, 60), st.integers(0, 2**32), st.sampled_from([0, 1, 2, 3, 7, 16]), st.sampled_from([0, 1, 5]))
def test_the_extracted_ring_is_the_definition_s_and_the_kernel_s(size: int, seed: int, first: int, then: int) -> None:
    """The concurrency changes half way."""
    questions, held = Questions(), list[list[tuple[int, bool]]]()
    changes = {size // 2: then}
    oracle = replay(random_world(size, seed), first, make=logged(questions, held), changes=changes)
    tally("prefetch", "calls of a ring answered by the extracted proof", questions.check())

    kernels: list[list[tuple[int, bool]]] = []

    class Noting(KernelPrefetcher):
        def read_record(self) -> Record | None:
            record = super().read_record()
            kernels.append(list(self.kernel.ring))
            return record

    kernel = replay(random_world(size, seed), first, make=Noting, changes=changes)
    assert kernels == held
    assert kernel.log == oracle.log
    tally("prefetch", "events of logs judged by the extracted proof", judge(kernel.log, first, kernels))


def judge(log: Sequence[Event | Record | int], concurrency: int, held: Sequence[list[tuple[int, bool]]]) -> int:
    """Give the extracted ring what a log says; AssertionError where it would not have asked for a reference, or holds
    something else. held: the ring after each read. Returns how many events it judged. While prefetching is off nothing
    is looked at, and nothing judged."""
    lines, expected = list[str](), list[tuple[int, list[tuple[int, bool]]] | None]()

    def ask(line: str, answer: tuple[int, list[tuple[int, bool]]] | None = None) -> None:
        lines.append(line)
        expected.append(answer)

    looked, reads, replayed_up_to = list[str](), 0, 0
    ask(f"new {4 * concurrency} {concurrency}")
    for entry in [*log, None]:
        if isinstance(entry, Event):
            looked.append(f"{'i' if entry.what == 'prefetch' else 'n'}{entry.lsn}")
        elif isinstance(entry, int):
            concurrency = entry
            ask(f"new {4 * concurrency} {concurrency}")
        else:
            if concurrency:
                ask(f"complete {replayed_up_to}")
                ask(" ".join(["prefetch", *looked, "a"]), (len(looked), held[reads]))
            looked, reads, replayed_up_to = [], reads + 1, entry.next_lsn if entry else 0
    text = "".join(line + "\n" for line in lines)
    run = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, check=True)
    for line, got, answer in zip(lines, run.stdout.splitlines(), expected, strict=True):
        if answer:
            _, _, consumed, _, *entries = got.split()
            assert int(consumed) >= answer[0], f"{line}: the extracted proof stops after {consumed}"
            assert entries == [f"{'i' if io else 'n'}{lsn}" for lsn, io in answer[1]]
    return sum(isinstance(entry, Event) for entry in log)


def test_a_log_that_looks_too_far_is_noticed() -> None:
    """The judge can fail: two are in flight, and one is allowed."""
    held: list[list[tuple[int, bool]]] = []
    log = replay(random_world(25, 3), 2, make=logged(Questions(), held)).log
    judge(log, 2, held)
    with pytest.raises(AssertionError, match="the extracted proof stops after"):
        judge(log, 1, held)


@pytest.mark.parametrize("line", ["prefetch x1", "complete", "complete -1", f"complete {2**62}", "nonsense"])
def test_the_program_refuses_what_it_does_not_know(line: str) -> None:
    run = subprocess.run([PROGRAM], input=line + "\n", capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stderr.startswith("oracle/prefetch: ")


def test_a_ring_that_looks_too_far_is_noticed() -> None:
    """The check can fail: the definition stops at three in flight here, a ring for four asks once more."""
    questions = Questions()
    ring = Logged(3, 12, questions=questions)
    numbers = iter(range(1, 9))
    ring.prefetch(lambda: (Next.IO, next(numbers)))
    assert questions.check() == 2
    questions.lines[0] = "new 16 4"
    with pytest.raises(AssertionError, match="the extracted proof says"):
        questions.check()
