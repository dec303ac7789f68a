# SPDX-License-Identifier: PostgreSQL
"""What the tests of the kernels share: which variants there are, refusals as values, and patterns of arrays."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations
from typing import Any, NamedTuple

from _pgquern import ffi, lib
from pgquern import PgquernError
from pgquern.snapbuild import variants

from ref import snapbuild as ref
from tests.snapbuild.strategies import HALF, LAST


def names(kind: str) -> list[str]:
    return [v.name for v in variants(kind) if v.supported]


def code_of(call: Callable[[], Any]) -> tuple[int, int]:
    """The refusal of a call, by oracle or kernel: code and index; (0, 0) if it is accepted."""
    try:
        call()
    except (PgquernError, ref.XidArrayError) as error:
        return int(error.code), error.index
    return 0, 0


def subsets(xids: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All of them, in order of xids."""
    return chain.from_iterable(combinations(xids, k) for k in range(len(xids) + 1))


class Pointer(NamedTuple):
    """A function of a kind's table, or of the header, to be called with a struct of the caller's."""

    name: str
    call: Callable[[Any], Any]
    supported: bool = True


def pointers() -> Iterator[Pointer]:
    """Every function of every kind."""

    def rows(kind: str) -> Iterator[tuple[str, Any, bool]]:
        table = getattr(lib, f"pgq_snapbuild_{kind}_variants")
        for i, variant in enumerate(variants(kind)):
            yield f"{kind} {variant.name}", table[i].fn, variant.supported

    def call(fn: Callable[..., Any], *arguments: Any) -> Callable[[Any], Any]:
        return lambda array: fn(array, *arguments)

    for name, fn, supported in chain(rows("purge"), rows("purge_sorted"), rows("purge_full")):
        yield Pointer(name, call(fn, 9), supported)
    for name, fn, supported in rows("insert"):
        yield Pointer(name, call(fn, ffi.new("uint32_t[1]", [9]), 1, True), supported)
    for name, fn, supported in rows("snapshot"):
        yield Pointer(name, call(fn, ffi.new("uint32_t[9]"), 9), supported)
    yield Pointer("check", lib.pgq_snapbuild_committed_check)
    yield Pointer("check full", lib.pgq_snapbuild_committed_full_check)
    yield Pointer("insert full", lambda c: lib.pgq_snapbuild_insert_full(c, ffi.new("uint64_t[1]", [9]), 1))
    yield Pointer("snapshot full", lambda c: lib.pgq_snapbuild_snapshot_full(c, ffi.new("uint32_t[9]"), 9))


PATTERNS: dict[str, Callable[[int, int], bool]] = {
    "all": lambda i, n: True,
    "none": lambda i, n: False,
    "first": lambda i, n: i == 0,
    "last": lambda i, n: i == n - 1,
    "all but the first": lambda i, n: i > 0,
    "all but the last": lambda i, n: i < n - 1,
    "every other": lambda i, n: i % 2 == 1,
    "second half": lambda i, n: 2 * i >= n,
    "first half": lambda i, n: 2 * i < n,
    "scattered": lambda i, n: (i * 2654435761 >> 7) % 3 > 0,
}


# Both sides of every turning point, ten in all.
SMALL_RING = [3, 4, 5, HALF - 1, HALF, HALF + 3, HALF + 4, LAST - 2, LAST - 1, LAST]
