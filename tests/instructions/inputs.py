# SPDX-License-Identifier: PostgreSQL
"""Inputs of an instruction: all its corners, and random ones from a seed.

An operand is known by its size alone. One of 16, 32 or 64 bytes is a register, and has corners in lanes of each width;
a smaller one is a mask, a number, or the edge of memory.
"""

import itertools
import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tests.instructions.programs import Instruction

Bytes = NDArray[np.uint8]
WIDTHS = (1, 2, 4, 8)
SMALLEST_REGISTER = 16
CHUNK = 20_000
"""So many random inputs are made at a time."""


def values(w: int) -> list[int]:
    """The corners of a lane of w bytes: around 0, the sign bit and the greatest, and bits in turn."""
    span = 256**w
    return [0, 1, 2, span - 1, span - 2, span // 2, span // 2 - 1, span // 2 + 1, span // 3, 2 * (span // 3)]


def lanes(w: int, size: int, at: Iterator[int]) -> bytes:
    """A register of lanes."""
    return b"".join((x % 256**w).to_bytes(w, "little") for x in itertools.islice(at, size // w))


def cycles(w: int, size: int) -> list[bytes]:
    """The corners one after the other, from each of them on: of two registers, each lane sees each pair of corners."""
    return [lanes(w, size, itertools.islice(itertools.cycle(values(w)), k, None)) for k in range(len(values(w)))]


def same(w: int, size: int) -> Iterator[bytes]:
    """A corner, or the number of any place in two registers, in all lanes."""
    for x in sorted({*values(w), *range(2 * size // w), 256**w // 2 + 3}):
        yield lanes(w, size, itertools.repeat(x))


def single(w: int, size: int) -> Iterator[bytes]:
    """One lane at each place, among zeros and among ones."""
    for i in range(size // w):
        for x in values(w)[1:6]:
            yield lanes(w, size, (x if k == i else 0 for k in itertools.count()))
            yield lanes(w, size, (x + 1 if k == i else -1 for k in itertools.count()))


def ramps(w: int, size: int) -> Iterator[bytes]:
    """Each lane the number of a place: of its own, and of those before, after and opposite."""
    n = size // w
    for first in (0, 1, n - 1, n, 2 * n - 1):
        yield lanes(w, size, itertools.count(first))
        yield lanes(w, size, itertools.count(first, -1))


def of_register(size: int) -> list[bytes]:
    found = (each for w in WIDTHS for kind in (cycles, same, single, ramps) for each in kind(w, size))
    return list(dict.fromkeys(found))


def of_number(size: int) -> list[bytes]:
    """All of one byte. Of more bytes: the corners, each bit, each run of bits, from the bottom and from the top."""
    if size == 1:
        return [bytes([x]) for x in range(256)]
    top = 256**size
    runs = (2**k for k in range(8 * size))
    ends = itertools.chain.from_iterable((r, r - 1, r + 1, top - r, top - 1 - r) for r in runs)
    found = {x % top for x in itertools.chain(values(size), ends, range(100))}
    return [x.to_bytes(size, "little") for x in sorted(found)]


def of_operand(size: int) -> list[bytes]:
    return of_register(size) if size >= SMALLEST_REGISTER else of_number(size)


def pairs(one: Instruction) -> Iterator[bytes]:
    """The registers' cycles, each with each, for every width; masks and numbers take turns."""
    numbers = {size: itertools.cycle(of_number(size)) for size in one.sizes if size < SMALLEST_REGISTER}
    for w in WIDTHS:
        choices = [cycles(w, size) if size in (16, 32, 64) else [b""] for size in one.sizes]
        for chosen in itertools.product(*choices):
            parts = zip(chosen, one.sizes, strict=True)
            yield b"".join(part or next(numbers[size]) for part, size in parts)


def corners(one: Instruction) -> bytes:
    """The pairs above, and every corner of every operand, with corners of the others beside it."""
    rng = np.random.default_rng(zlib.crc32(one.name.encode()))
    all_of = [of_operand(size) for size in one.sizes]
    found = list(pairs(one)) if any(size >= SMALLEST_REGISTER for size in one.sizes) else []
    for at, mine in enumerate(all_of):
        for corner in mine:
            others = [each[rng.integers(len(each))] for each in all_of]
            others[at] = corner
            found.append(b"".join(others))
    return b"".join(found)


def every_mask(one: Instruction) -> bytes:
    """Of an instruction with an operand of two bytes: each value of it, with random others. Else nothing."""
    if 2 not in one.sizes:
        return b""
    at = sum(one.sizes[: one.sizes.index(2)])
    inputs = next(randoms(one, 65536, 0, 65536))
    inputs[:, at : at + 2] = np.arange(65536, dtype="<u2").view(np.uint8).reshape(-1, 2)
    return inputs.tobytes()


def lanes_at_random(rng: np.random.Generator, n: int, size: int, w: int) -> Bytes:
    """Lanes that are corners, or anything."""
    chosen = np.array(values(w), dtype=f"<u{w}")[rng.integers(0, 10, (n, size // w))].view(np.uint8)
    anything = rng.integers(0, 256, (n, size), dtype=np.uint8)
    is_corner = np.repeat(rng.integers(0, 2, (n, size // w), dtype=np.uint8), w, axis=1)
    return np.where(is_corner == 1, chosen.reshape(n, size), anything)


def neighbours(rng: np.random.Generator, before: Bytes, mine: Bytes, w: int) -> Bytes:
    """Lanes of an earlier operand, the same, one more or one less; a quarter stay as they are."""
    steps = rng.integers(-1, 2, (len(mine), mine.shape[1] // w)).astype(f"<i{w}").view(f"<u{w}")
    near = (before.view(f"<u{w}") + steps).view(np.uint8)
    stays = np.repeat(rng.integers(0, 4, steps.shape, dtype=np.uint8), w, axis=1)
    return np.where(stays == 0, mine, near)


def operand(rng: np.random.Generator, n: int, size: int, earlier: list[Bytes]) -> Bytes:
    """A third is uniform, a third has corners as lanes, a third is like an earlier operand of this size, if there is
    one, or else has corners, too."""
    made = rng.integers(0, 256, (n, size), dtype=np.uint8)
    like = next((each for each in reversed(earlier) if each.shape[1] == size), None)
    for k, w in enumerate(width for width in WIDTHS if size % width == 0):
        rows = np.arange(n) % 12 == k
        made[rows] = lanes_at_random(rng, int(rows.sum()), size, w)
        rows = np.arange(n) % 12 == 4 + k
        if like is None:
            made[rows] = lanes_at_random(rng, int(rows.sum()), size, w)
        else:
            made[rows] = neighbours(rng, np.ascontiguousarray(like[rows]), made[rows], w)
    return made


def randoms(one: Instruction, n: int, seed: int, chunk: int = CHUNK) -> Iterator[Bytes]:
    """n random inputs, in chunks; the same for the same seed and chunk."""
    rng = np.random.default_rng([seed, zlib.crc32(one.name.encode())])
    for first in range(0, n, chunk):
        operands: list[Bytes] = []
        for size in one.sizes:
            operands.append(operand(rng, min(chunk, n - first), size, operands))
        yield np.concatenate(operands, axis=1)
