# SPDX-License-Identifier: PostgreSQL
"""The batch entry: its return value, its statuses, NULL arguments. It stays within its pages."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern import compaction

from ref.page import (
    BLCKSZ,
    LP_NORMAL,
    LP_REDIRECT,
    MAX_HEAP_TUPLES_PER_PAGE,
    MAX_LINE_POINTERS,
    UNUSED,
    ErrorCode,
    LinePointer,
    build,
)
from tests.common import guard_pages
from tests.common.tally import tally
from tests.compaction.agree import ORDERS, Outcome, kernel, oracle
from tests.page.build import page_of
from tests.page.shapes import random_shape

NAMES = [variant.name for variant in compaction.variants()]
UNTOUCHED = (77, 77)  # no status of any page


def batch_of(name: str | None) -> Callable[[Any, int, bool, Any], int]:
    """The batch entry by a variant, or by the dispatched one (None)."""
    if name is None:
        return lib.pgq_compaction_repair_fragmentation_batch  # type: ignore[no-any-return]
    row = NAMES.index(name)
    if not compaction.variants()[row].supported:
        pytest.skip(f"this CPU cannot run {name}")
    fn = lib.pgq_compaction_variants[row].fn
    return lambda pages, n, truncate, status: int(lib.pgq_compaction_batch(fn, pages, n, truncate, status))


def statuses(n: int) -> Any:
    return ffi.new("pgq_status[]", [UNTOUCHED] * n)


def unpack(status: Any) -> list[tuple[int, int]]:
    return [(s.code, s.index) for s in status]


def pages_of(n: int) -> list[bytes]:
    """Sound ones and refused ones."""
    return [page_of(random_shape(number)) for number in range(n)]


def pointers_to(buffers: Sequence[Any]) -> Any:
    return ffi.new("void *[]", [ffi.NULL if b is None else ffi.from_buffer(b) for b in buffers])


each_entry = pytest.mark.parametrize("variant", [None, *NAMES])


@each_entry
@pytest.mark.parametrize("n", [0, 1, 2, 60])
def test_the_batch_returns_the_number_of_refused_pages(variant: str | None, n: int) -> None:
    """Each page lies between two memory pages that cannot be touched; some entries are NULL."""
    run = batch_of(variant)
    pages = pages_of(n)
    buffers = [None if i % 7 == 3 else guard_pages.page(page) for i, page in enumerate(pages)]
    singles = [kernel(page, variant, truncate=True) for page in pages]
    expected = [
        (int(ErrorCode.NULL), 0) if b is None else (single.code, single.at)
        for b, single in zip(buffers, singles, strict=True)
    ]
    status = statuses(n + 1)
    refused = run(pointers_to(buffers), n, True, status)
    assert unpack(status) == [*expected, UNTOUCHED]
    assert refused == sum(code != ErrorCode.OK for code, _ in expected)
    assert n < 60 or 0 < refused < n
    assert all(b is None or bytes(b) == single.page for b, single in zip(buffers, singles, strict=True))
    tally("compaction", "pages", n)


@each_entry
def test_a_batch_of_adjacent_pages_stays_within_them(variant: str | None) -> None:
    """Adjacent pages, as in a relation's file, are prefetched in another way."""
    run = batch_of(variant)
    pages = pages_of(60)
    memory = guard_pages.page(b"".join(pages))
    first = ffi.cast("char *", ffi.from_buffer(memory))
    status = statuses(len(pages))
    run(ffi.new("void *[]", [first + BLCKSZ * i for i in range(len(pages))]), len(pages), False, status)
    singles = [kernel(page, variant, truncate=False) for page in pages]
    assert unpack(status) == [(single.code, single.at) for single in singles]
    assert bytes(memory) == b"".join(single.page for single in singles)
    tally("compaction", "pages", len(pages))


@pytest.mark.parametrize("variant", NAMES)
@pytest.mark.parametrize("before", [UNUSED, LinePointer(1, LP_REDIRECT, 0)], ids=["unused", "redirected"])
def test_nothing_is_left_of_the_page_before(variant: str, before: LinePointer) -> None:
    """In a batch a kernel finds on its stack what its last page left there: here line pointers that are all alike."""
    run = batch_of(variant)
    order = ORDERS[compaction.variants()[NAMES.index(variant)].order]
    all_alike = build([before] * MAX_LINE_POINTERS)
    pages = [*pages_of(60), *(in_place(n) for n in (1, 8, 9, 16, 17, 226, MAX_HEAP_TUPLES_PER_PAGE))]
    for truncate in (False, True):
        buffers = [bytearray(p) for page in pages for p in (all_alike, page)]
        status = statuses(len(buffers))
        run(pointers_to(buffers), len(buffers), truncate, status)
        found = [Outcome(*s, bytes(page)) for s, page in zip(unpack(status), buffers, strict=True)]
        assert found[1::2] == [oracle(page, order, truncate) for page in pages]
    tally("compaction", "pages", 4 * len(pages))


def in_place(n: int) -> bytes:
    """n tuples that need no move, and no other line pointer."""
    return build([LinePointer(BLCKSZ - 24 * i, LP_NORMAL, 24) for i in range(1, n + 1)])


@each_entry
def test_without_pages_or_statuses_nothing_is_done(variant: str | None) -> None:
    """All n are then counted as refused."""
    run = batch_of(variant)
    page = next(page for page in pages_of(60) if kernel(page, None, truncate=True).page != page)
    buffer = bytearray(page)
    status = statuses(3)
    assert run(ffi.NULL, 3, True, status) == 3
    assert unpack(status) == [UNTOUCHED] * 3
    assert run(pointers_to([buffer] * 3), 3, True, ffi.NULL) == 3
    assert buffer == page


def test_without_a_kernel_nothing_is_done() -> None:
    page = bytearray(pages_of(1)[0])
    status = statuses(2)
    assert lib.pgq_compaction_batch(ffi.NULL, pointers_to([page] * 2), 2, True, status) == 2
    assert unpack(status) == [UNTOUCHED] * 2


@pytest.mark.parametrize("at", [0, 1, 2])
def test_the_binding_refuses_a_batch_with_a_buffer_that_cannot_be_written(at: int) -> None:
    """No page changes, not even those before it."""
    page = next(page for page in pages_of(60) if kernel(page, None, truncate=True).page != page)
    pages: list[Any] = [bytearray(page) for _ in range(3)]
    pages[at] = memoryview(bytes(page))
    with pytest.raises((TypeError, BufferError)):
        compaction.batch(pages, truncate=True)
    assert all(bytes(p) == page for p in pages)
    for i, p in enumerate(pages):
        if i != at:
            p.append(0)  # BufferError if the binding kept hold of it


REFUSED = """
from _pgquern import ffi, lib
page = ffi.new("char[8192]", bytes(range(256)) * 32)
pages, status = ffi.new("void *[]", [page] * 3), ffi.new("pgq_status[]", [(77, 77)] * 3)
refused = lib.pgq_compaction_repair_fragmentation_batch(pages, 3, True, status)
print(refused, [(s.code, s.index) for s in status], bytes(ffi.buffer(page)) == bytes(range(256)) * 32)
print(lib.pgq_compaction_repair_fragmentation_batch(ffi.NULL, 3, True, status))
print(lib.pgq_compaction_repair_fragmentation_batch(pages, 3, True, ffi.NULL))
"""


@pytest.mark.parametrize("variable", ["PGQUERN_VARIANT", "PGQUERN_CPU"])
def test_a_batch_in_an_environment_that_cannot_be_followed(variable: str) -> None:
    """Each status says so, no page is touched, and NULL is harmless here too."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), variable: "unknown"}
    run = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, env=environment, check=True)
    assert run.stdout.splitlines() == [f"3 {[(lib.PGQ_VARIANT, 0)] * 3} True", "3", "3"]
