# SPDX-License-Identifier: PostgreSQL
"""Pages with PostgreSQL's header, sound or broken in one of several ways."""

import struct
from random import Random

from hypothesis import strategies as st

from ref import tornpage as ref

block_sizes = st.sampled_from(ref.BLOCK_SIZES)
first_blocks = st.sampled_from([0, 1, 65534, 65535, 65536, 2**31, 2**32 - 20]) | st.integers(0, 2**32 - 20)


def put16(page: bytearray, at: int, value: int) -> None:
    struct.pack_into("<H", page, at, value)


def random_page(rng: Random, block_size: int, block: int) -> bytearray:
    """A sound page: random contents under a sane header, with its checksum."""
    page = bytearray(rng.randbytes(block_size))
    special = block_size - 8 * rng.randrange(8)
    upper = rng.randrange(24, special + 1)
    struct.pack_into("<HHHH", page, 10, rng.randrange(8), rng.randrange(24, upper + 1), upper, special)
    put16(page, 8, ref.checksums(bytes(page), block_size, block)[0])
    return page


def broken_header(rng: Random, page: bytearray, block: int) -> None:
    """Break one rule of the header and make the checksum right for it, or set pd_upper to 0."""
    size = len(page)
    upper, special = struct.unpack_from("<HH", page, 14)
    at, value = rng.choice([
        (10, 8 << rng.randrange(13)), (12, upper + 1), (14, special + 1), (16, size + 8),
        (16, special - (1 << rng.randrange(3))), (14, 0)
    ])  # fmt: skip
    if at == 16 and value < special:
        put16(page, 14, min(upper, value))
        put16(page, 12, 24 if upper >= 24 else 0)
    put16(page, at, value & 0xFFFF)
    put16(page, 8, ref.checksums(bytes(page), size, block)[0])


def some_page(rng: Random, block_size: int, block: int) -> bytes:
    """Sound, new, with one bit changed, torn between two sound ones, of another block, with a broken header."""
    page = random_page(rng, block_size, block)
    match rng.randrange(8):
        case 0:
            return bytes(block_size)
        case 1:
            page[rng.randrange(block_size)] ^= 1 << rng.randrange(8)
        case 2:
            at = 512 * rng.randrange(1, block_size // 512)
            page[at:] = random_page(rng, block_size, block)[at:]
        case 3:
            return bytes(random_page(rng, block_size, block ^ 1 if block < 2**31 else 0))
        case 4:
            broken_header(rng, page, block)
        case 5:
            new = bytearray(block_size)
            new[rng.choice([0, 8, block_size - 1])] = 1
            return bytes(new)
    return bytes(page)
