# SPDX-License-Identifier: PostgreSQL
"""The binding of this row: lengths that differ, reasons that do not exist, and one object in many threads."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern import snapbuild
from pgquern.memory import MOST
from pgquern.snapbuild import Committed, CommittedFull, KnownAssigned, Reason, compress, variants

from tests.common import guard_pages
from tests.common.variants import every_variant
from tests.snapbuild.agree import code_of


@pytest.mark.parametrize("variant", every_variant(variants("known_assigned")))
@pytest.mark.parametrize(("n", "flags", "tail"), [(3_000_000, 1, 0), (9, 8, 0), (8, 9, 0), (0, 1, 0), (3, 3, 4)])
def test_compress_refuses_lengths_that_differ(
    monkeypatch: pytest.MonkeyPatch, variant: str, n: int, flags: int, tail: int
) -> None:
    monkeypatch.setattr(snapbuild, "new_array", guard_pages.Arrays(at_end=True).new)
    with pytest.raises(ValueError, match=f"{n} XIDs have {flags} flags, and the tail is {tail}"):
        compress(range(3, 3 + n), [True] * flags, tail=tail, variant=variant)


def test_a_sequence_is_read_once() -> None:
    """What it says of its length later does not matter."""

    class Growing(list[int]):
        def __len__(self) -> int:
            return super().__len__() + 1000

    batch = Growing([8, 6])
    committed = Committed([5], capacity=4, sorted=True)
    committed.insert(batch)
    assert committed.xip == [5, 6, 8]
    assert Committed(batch).xip == [8, 6]
    full = CommittedFull(Growing([5]), capacity=4)
    full.insert(batch)
    assert full.fxip == [5, 6, 8]
    known = KnownAssigned(9)
    known.add(3, 9, 1)
    known.remove_tree(4, batch, 2)
    known.remove_preceding(9, 2, Growing([5]))
    assert known.get() == [5, 9]


@pytest.mark.parametrize("reason", [-1, 4, 99, "PRUNE", None])
def test_only_the_four_reasons_compress(reason: object) -> None:
    known = KnownAssigned(9)
    known.add(3, 9, 1)
    known.remove(4)
    held = known.state
    with pytest.raises(ValueError, match="is not a valid Reason"):
        known.compress(reason, 2)  # type: ignore[arg-type]
    assert known.state == held
    assert known.compress(Reason.PRUNE, 2)


def test_an_array_is_not_reserved_beyond_the_most() -> None:
    committed = Committed([5])
    for m in (2**63, MOST):
        assert code_of(lambda m=m: committed.reserve(m)) == (lib.PGQ_SNAPBUILD_CAPACITY, 0)  # type: ignore[misc]
    assert committed.capacity == 1
    past = ffi.new("pgq_snapbuild_committed *", {"xip": ffi.new("uint32_t[1]"), "xcnt_space": MOST + 1})
    assert lib.pgq_snapbuild_committed_check(past).code == lib.PGQ_SNAPBUILD_CAPACITY


class TwoNumbers:
    """An index of 2 that counts as 100,000 where an int is converted."""

    def __index__(self) -> int:
        return 2

    def __int__(self) -> int:
        return 100_000


def test_a_capacity_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """C is told the length of the array that was made."""
    monkeypatch.setattr(snapbuild, "new_array", guard_pages.Arrays(at_end=True).new)
    two: Any = TwoNumbers()
    known = KnownAssigned(two)
    assert code_of(lambda: known.add(3, 9000, 1)) == (lib.PGQ_SNAPBUILD_CAPACITY, 0)
    known.add(3, 4, 1)
    committed, full = Committed(capacity=two), CommittedFull([7], head=two)
    assert (committed.capacity, full.head, full.capacity) == (2, 2, 3)
    committed.reserve(two)
    assert committed.capacity == 2


def test_numbers_of_a_wrong_type_or_range_are_refused() -> None:
    wrong: Any = 2.5
    for call in (
        lambda: KnownAssigned(wrong),
        lambda: Committed(capacity=wrong),
        lambda: CommittedFull(capacity=wrong),
        lambda: CommittedFull(head=wrong),
        lambda: Committed().reserve(wrong),
    ):
        with pytest.raises(TypeError):
            call()
    for capacity in (None, 9):
        with pytest.raises(ValueError, match="head is -1; it must be 0 to"):
            CommittedFull([5], capacity=capacity, head=-1)


def run(*targets: Callable[[], None]) -> None:
    """Each in a thread of its own; the first exception is raised again."""
    raised: list[Exception] = []

    def kept(target: Callable[[], None]) -> None:
        try:
            target()
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=kept, args=(target,)) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in raised:
        raise error
