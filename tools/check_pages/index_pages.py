# SPDX-License-Identifier: PostgreSQL
"""The special space of an index's pages: its size, and what marks its access method.

Upstream: BTPageOpaqueData (nbtree.h), HashPageOpaqueData (hash.h), GISTPageOpaqueData (gist.h), SpGistPageOpaqueData
(spgist_private.h), GinPageOpaqueData (ginblock.h), BrinSpecialSpace (brin_page.h), sequence_magic (sequence.c), of 18.
"""

import struct
from dataclasses import dataclass

from tools.check_pages.catalog import BRIN_AM, BTREE_AM, GIN_AM, GIST_AM, HASH_AM, SPGIST_AM


@dataclass(frozen=True)
class Kind:
    """What each page of an access method has."""

    special: int
    """The bytes of the special space."""
    word: int
    """Which of its words of two bytes is looked at, from its end."""
    least: int
    most: int


KINDS = {
    "a B-tree index": Kind(16, 2, 0, 0x01FF),
    "a hash index": Kind(16, 1, 0xFF80, 0xFF80),
    "a GiST index": Kind(16, 1, 0xFF81, 0xFF81),
    "an SP-GiST index": Kind(8, 1, 0xFF82, 0xFF82),
    "a GIN index": Kind(8, 1, 0, 0x00FF),
    "a BRIN index": Kind(8, 1, 0xF091, 0xF093),
    "a sequence": Kind(8, 4, 0x1717, 0x1717),
}
"""Of a B-tree's and a GIN's pages the word is their flags, which know no other bits."""
BY_AM = dict(zip((BTREE_AM, HASH_AM, GIST_AM, SPGIST_AM, GIN_AM, BRIN_AM), KINDS, strict=False))


def suspect(pages: bytes | memoryview, size: int, kind: str) -> bytes:
    """A byte for each page: whether it has a fault."""
    if not (has := KINDS.get(kind)):
        return bytes(len(pages) // size)
    each = struct.iter_unpack(f"<16xH{size - 18 - 2 * has.word}xH{2 * has.word - 2}x", pages)
    return bytes(special != size - has.special or not has.least <= word <= has.most for special, word in each)


def faults(page: bytes, kind: str) -> list[str]:
    """In words."""
    if not (has := KINDS.get(kind)):
        return []
    special, at = int.from_bytes(page[16:18], "little"), len(page) - 2 * has.word
    word = int.from_bytes(page[at : at + 2], "little")
    found = []
    if special != len(page) - has.special:
        found.append(f"pd_special is {special}, and {len(page) - has.special} on a page of {kind}")
    elif not has.least <= word <= has.most:
        values = f"{has.least:#06x}" if has.least == has.most else f"{has.least:#06x} to {has.most:#06x}"
        found.append(f"the word at byte {at} is {word:#06x}, and {values} on a page of {kind}")
    return found
