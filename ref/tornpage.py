# SPDX-License-Identifier: PostgreSQL
"""Torn pages: page checksums, and three ways to survive a crash that leaves any subset of a page's sectors.

Upstream: src/include/storage/checksum_impl.h (pg_checksum_page) and src/backend/storage/page/bufpage.c
(PageIsVerified), as of PostgreSQL 13 to 18.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

BLOCK_SIZES = tuple(2**k for k in range(10, 16))
"""What PostgreSQL can be built with, in bytes."""

# ---- the page checksum -----------------------------------------------------------------------------

LANES = 32
"""N_SUMS: a page is rows of 32 words of 32 bits; each column has a sum of its own."""
FNV_PRIME = 16777619
BASE_OFFSETS = (
    0x5B1F36E9, 0xB8525960, 0x02AB50AA, 0x1DE66D2A, 0x79FF467A, 0x9BB9F8A3, 0x217E7CD2, 0x83E13D2C,
    0xF8D4474F, 0xE39EB970, 0x42C6AE16, 0x993216FA, 0x7B093B5D, 0x98DAFF3C, 0xF718902A, 0x0B1C9CDB,
    0xE58F764B, 0x187636BC, 0x5D7B3BB1, 0xE73DE7DE, 0x92BEC979, 0xCCA6C0B2, 0x304A0979, 0x85AA43D4,
    0x783125BB, 0x6CA8EAA2, 0xE407EAC6, 0x4B5CFC3E, 0x9FBF8C76, 0x15CA20BE, 0xF2CA9FD3, 0x959BD756,
)  # fmt: skip
"""checksumBaseOffsets: where each lane's sum starts."""

Words = NDArray[np.uint32]


def mix(sums: Words, words: Words) -> Words:
    """CHECKSUM_COMP: one round of FNV-1a, with the high bits folded into the low ones."""
    mixed = sums ^ words
    return (mixed * np.uint32(FNV_PRIME)) ^ (mixed >> np.uint32(17))


def checksums(pages: bytes, block_size: int, first_block: int = 0) -> list[int]:
    """pg_checksum_page of each page; the first one is block `first_block` of its relation.

    pages: whole pages of `block_size` bytes, one after the other. What stands in pd_checksum does not count.
    ValueError: a block size that PostgreSQL cannot have, a part of a page, or a block number above 2^32 - 2.
    """
    count = page_count(pages, block_size, first_block)
    words = np.frombuffer(pages, "<u4").reshape(count, block_size // (4 * LANES), LANES).copy()
    words[:, 0, 2] &= np.uint32(0xFFFF0000)  # pd_checksum, bytes 8 and 9
    sums = np.broadcast_to(np.array(BASE_OFFSETS, np.uint32), (count, LANES))
    for row in range(words.shape[1]):
        sums = mix(sums, words[:, row])
    for _ in range(2):
        sums = mix(sums, np.zeros_like(sums))
    folded = np.bitwise_xor.reduce(sums, axis=1)
    return [((int(sum_) ^ (first_block + i)) % 65535) + 1 for i, sum_ in enumerate(folded)]


def page_count(pages: bytes, block_size: int, first_block: int) -> int:
    """How many pages these are; ValueError as of checksums()."""
    if block_size not in BLOCK_SIZES:
        raise ValueError(f"a block cannot have {block_size} bytes, only {', '.join(map(str, BLOCK_SIZES))}")
    count, rest = divmod(len(pages), block_size)
    if rest:
        raise ValueError(f"the last page has {rest} of {block_size} bytes")
    if first_block < 0 or first_block + count > 2**32 - 1:
        raise ValueError("a block number is above 4294967294")
    return count


class Verdict(IntEnum):
    """What PageIsVerified says of a page."""

    SOUND = 0
    NEW = 1
    """All bytes are zero: the relation was extended, and the page never written."""
    CHECKSUM = 2
    """pd_checksum is not the checksum: torn, or changed by something else than the server."""
    HEADER = 3
    """The checksum is right and the header is not, or pd_upper is 0 on a page that is not all zero."""


def verdicts(pages: bytes, block_size: int, first_block: int = 0) -> list[Verdict]:
    """PageIsVerified of each page, in a cluster with data checksums. Arguments and errors as of checksums()."""
    right = checksums(pages, block_size, first_block)
    return [_verdict(pages[i * block_size : (i + 1) * block_size], sum_) for i, sum_ in enumerate(right)]


def _verdict(page: bytes, checksum: int) -> Verdict:
    def field(at: int) -> int:
        return int.from_bytes(page[at : at + 2], "little")

    stored, flags, lower, upper, special = (field(at) for at in (8, 10, 12, 14, 16))
    if upper == 0:
        return Verdict.HEADER if any(page) else Verdict.NEW
    if stored != checksum:
        return Verdict.CHECKSUM
    sane = flags & ~0x0007 == 0 and lower <= upper <= special <= len(page) and special % 8 == 0
    return Verdict.SOUND if sane else Verdict.HEADER
