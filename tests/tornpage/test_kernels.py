# SPDX-License-Identifier: PostgreSQL
"""Every variant of the checksum, and the check of pages, against the oracle."""

from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from random import Random

import pytest
from _pgquern import ffi, lib
from hypothesis import event, given
from hypothesis import strategies as st
from pgquern import PgquernError
from pgquern.tornpage import Verdict, check, checksums, first_wrong, variants

from ref import tornpage as ref
from tests.common.guard_pages import Arrays, read_only
from tests.common.tally import tally
from tests.common.variants import every_variant
from tests.tornpage.strategies import block_sizes, first_blocks, some_page

every = pytest.mark.parametrize("variant", every_variant(variants()))


@lru_cache(maxsize=1000)  # the variants get the same examples
def words(seed: int, count: int, block_size: int, first: int) -> tuple[bytes, list[int]]:
    """Pages of random words, with pieces that are all 0 or all ones; and their checksums."""
    rng = Random(seed)
    pages = bytearray(rng.randbytes(count * block_size))
    for _ in range(rng.randrange(3) if pages else 0):
        at = rng.randrange(len(pages))
        pages[at : at + 400] = bytes([rng.choice([0, 255])]) * len(pages[at : at + 400])
    return bytes(pages), ref.checksums(bytes(pages), block_size, first)


@every
@given(seed=st.integers(0, 2**32), count=st.integers(0, 9), block_size=block_sizes, first=first_blocks)
def test_checksums(variant: str, seed: int, count: int, block_size: int, first: int) -> None:
    """At any size of a block, number of pages and block number."""
    pages, wanted = words(seed, count, block_size, first)
    event(f"{count} pages")
    assert checksums(pages, block_size=block_size, first_block=first, variant=variant) == wanted
    tally("tornpage", "pages", count)


def with_a_word_changed(page: bytes) -> Iterator[tuple[int, bytes]]:
    """A word at each place of the first 512 bytes, some of the others, and pd_checksum."""
    step = max(4, len(page) // 512 * 4 + 4)
    for at in (*range(0, 512, 4), *range(512, len(page), step), 8, 9, 10, len(page) - 1):
        yield at, page[:at] + bytes([page[at] ^ 0x10]) + page[at + 1 :]


@cache
def sums_with_a_word_changed(block_size: int) -> list[int]:
    page = Random(block_size).randbytes(block_size)
    return [ref.checksums(changed, block_size)[0] for _, changed in with_a_word_changed(page)]


@every
@pytest.mark.parametrize("block_size", ref.BLOCK_SIZES)
def test_every_word_counts(variant: str, block_size: int) -> None:
    """A word changed at each place changes the sum as the oracle says, and pd_checksum changes nothing."""
    page = Random(block_size).randbytes(block_size)
    (plain,) = ref.checksums(page, block_size)
    for (at, changed), wanted in zip(with_a_word_changed(page), sums_with_a_word_changed(block_size), strict=True):
        (found,) = checksums(changed, block_size=block_size, variant=variant)
        assert found == wanted, at
        assert (found == plain) == (at in (8, 9)), at


@every
def test_pages_that_cannot_be_written_are_read(variant: str) -> None:
    """Not even for a moment is a page changed."""
    content = Random(1).randbytes(4 * 8192)
    assert checksums(read_only(content), block_size=8192, variant=variant) == ref.checksums(content, 8192)


@every
def test_nothing_else_is_read(variant: str) -> None:
    """Pages against unmapped memory, at each end, and at odd addresses; as many as a group has, and more."""
    run = next(v for v in lib_rows() if ffi.string(v.name).decode() == variant).fn
    for at_end in (True, False):
        arrays = Arrays(at_end)
        for block_size in ref.BLOCK_SIZES:
            for count in (1, 2, 3, 4, 5):
                content = Random(count).randbytes(count * block_size)
                pages = arrays.new("uint8_t[]", content)
                sums = arrays.new("uint16_t[]", count)
                assert run(pages, count, block_size, 7, sums).code == lib.PGQ_OK
                assert list(sums) == ref.checksums(content, block_size, 7)
    memory = bytearray(1 + 4096)
    for offset in (0, 1):
        page = memoryview(memory)[offset : offset + 4096]
        page[:] = Random(1).randbytes(4096)
        assert checksums(page, block_size=4096, variant=variant) == ref.checksums(bytes(page), 4096)


def lib_rows() -> list[ffi.CData]:
    return [lib.pgq_tornpage_checksum_variants[i] for i in range(lib.pgq_tornpage_checksum_variant_count)]


@every
def test_refusals(variant: str) -> None:
    """Each bad argument has its code, and nothing is written."""
    run = next(v for v in lib_rows() if ffi.string(v.name).decode() == variant).fn
    page, sums = ffi.new("uint8_t[]", 65536), ffi.new("uint16_t[]", [0xABCD] * 64)
    for block_size in (0, 1, 512, 1023, 3072, 8191, 8200, 65536, 2**63):
        assert run(page, 1, block_size, 0, sums).code == lib.PGQ_TORNPAGE_BLOCK_SIZE, block_size
    assert run(page, 1, 1024, 2**32 - 1, sums).code == lib.PGQ_TORNPAGE_BLOCK_NUMBER
    assert run(page, 2, 1024, 2**32 - 2, sums).code == lib.PGQ_TORNPAGE_BLOCK_NUMBER
    assert run(page, 2**64 - 1, 1024, 1, sums).code == lib.PGQ_TORNPAGE_BLOCK_NUMBER
    assert run(ffi.NULL, 1, 1024, 0, sums).code == lib.PGQ_NULL
    assert run(page, 1, 1024, 0, ffi.NULL).code == lib.PGQ_NULL
    assert list(sums) == [0xABCD] * 64
    assert run(ffi.NULL, 0, 1024, 0, ffi.NULL).code == lib.PGQ_OK
    assert run(page, 1, 1024, 2**32 - 2, sums).code == lib.PGQ_OK


def test_the_oracle_refuses_the_same() -> None:
    for pages, block_size, first in ((bytes(512), 512, 0), (bytes(1025), 1024, 0), (bytes(2048), 1024, 2**32 - 2)):
        with pytest.raises(ValueError, match=r"bytes|4294967294"):
            ref.checksums(pages, block_size, first)
        with pytest.raises(ValueError, match=r"bytes|4294967294"):
            checksums(pages, block_size=block_size, first_block=first)


@given(
    seed=st.integers(0, 2**32), count=st.integers(0, 40), block_size=st.sampled_from([1024, 2048]), first=first_blocks
)
def test_check(seed: int, count: int, block_size: int, first: int) -> None:
    """All verdicts, and the first wrong page, on mixtures of sound and broken pages."""
    rng = Random(seed)
    first = min(first, 2**32 - 1 - count)
    often_sound = rng.random() < 0.5
    pages = [
        bytes(block_size) if often_sound and rng.random() < 0.9 else some_page(rng, block_size, first + i)
        for i in range(count)
    ]
    wanted = ref.verdicts(b"".join(pages), block_size, first)
    found = check(b"".join(pages), block_size=block_size, first_block=first)
    assert [int(v) for v in found] == [int(v) for v in wanted]
    wrong = [first + i for i, v in enumerate(wanted) if v >= ref.Verdict.CHECKSUM]
    assert first_wrong(b"".join(pages), block_size=block_size, first_block=first) == (wrong[0] if wrong else None)
    status = lib.pgq_tornpage_check(b"".join(pages), count, block_size, first, ffi.new("uint8_t[]", count))
    assert status.index == (wrong[0] - first + 1 if wrong else 0)
    for verdict in set(found):
        event(verdict.name)
    tally("tornpage", "pages judged", count)


def test_each_verdict_is_reached() -> None:
    rng, seen = Random(5), Counter[Verdict]()
    for block in range(400):
        seen.update(check(some_page(rng, 1024, block), block_size=1024, first_block=block))
    assert min(seen[verdict] for verdict in Verdict) > 20


def test_check_refuses() -> None:
    with pytest.raises(PgquernError, match="BLCKSZ"):
        check(bytes(100), block_size=100)
    with pytest.raises(ValueError, match="the last page has 1 of 1024"):
        first_wrong(bytes(1025), block_size=1024)
    with pytest.raises(PgquernError, match="4294967294"):
        check(bytes(2048), block_size=1024, first_block=2**32 - 2)
    assert lib.pgq_tornpage_check(ffi.NULL, 1, 1024, 0, ffi.NULL).code == lib.PGQ_NULL
    assert check(b"", block_size=1024) == []
