# SPDX-License-Identifier: PostgreSQL
"""The page of a shape, built by `random` from its seed. This is fast, and gives the same page for the same shape."""

import struct
from random import Random

from ref.page import (
    BLCKSZ,
    LP_DEAD,
    LP_NORMAL,
    LP_REDIRECT,
    LP_UNUSED,
    MAX_HEAP_TUPLES_PER_PAGE,
    SIZE_OF_LINE_POINTER,
    SIZE_OF_PAGE_HEADER,
    UNUSED,
    Header,
    LinePointer,
    build,
)
from tests.page.faults import FAULTS, Draft
from tests.page.shapes import CLASSES, MIXES, Shape


def page_of(shape: Shape) -> bytes:
    """The page of a shape: sound unless it has faults. Bytes that nothing determines are random."""
    rng = Random(shape.seed)
    special = BLCKSZ - shape.special
    nline = min(shape.nline, (special - SIZE_OF_PAGE_HEADER - shape.remainder) // SIZE_OF_LINE_POINTER)
    lower = SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * nline + shape.remainder

    classes = rng.choices(CLASSES, weights=MIXES[shape.mix], k=nline)
    if shape.tail != "as drawn":
        tail = rng.randint(0, min(nline, 9))
        classes[nline - tail :] = ["unused" if shape.tail == "unused" else "redirect"] * tail

    room = (special - lower) // 8  # in units of 8 bytes, as sizes and gaps
    sizes: dict[int, int] = {}
    for i, name in enumerate(classes):
        if name in CLASSES[:3]:
            size = rng.randint(*shape.units)
            if size > room or len(sizes) == MAX_HEAP_TUPLES_PER_PAGE:
                classes[i] = "dead"
            else:
                sizes[i] = size
                room -= size
    if shape.full and sizes:
        sizes[max(sizes)] += room
        room = 0

    offsets: dict[int, int] = {}
    upper = special
    for i in arrange(list(sizes), shape.layout, rng):
        if room and rng.randrange(100) < shape.gap_percent:
            gap = min(sizes[i] if shape.gaps_as_tuples else rng.randint(1, max(1, room // 8)), room)
            room -= gap
            upper -= 8 * gap
        upper -= 8 * sizes[i]
        offsets[i] = upper

    lps = []
    for i, name in enumerate(classes):
        length = 8 * sizes.get(i, 0) - (rng.randrange(8) if shape.ragged and i in sizes else 0)
        lps.append(line_pointer_of(name, offsets.get(i, 0), length, rng))
    draft = Draft(rng, lps, header_of(lower, max(upper - shape.slack, lower), special, rng))
    for fault in shape.faults:
        FAULTS[fault](draft)
    fill = bytearray(rng.randbytes(BLCKSZ))
    if shape.beyond:
        room = (BLCKSZ - SIZE_OF_PAGE_HEADER) // SIZE_OF_LINE_POINTER - nline
        words = [lp.word for lp in rng.choices(lps or [UNUSED], k=min(32, room))]
        struct.pack_into(f"<{len(words)}I", fill, SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * nline, *words)
    return build(draft.lps, header=draft.header, fill=bytes(fill))


def arrange(items: list[int], layout: str, rng: Random) -> list[int]:
    """Items in physical order, from pd_special downwards."""
    match layout:
        case "random":
            rng.shuffle(items)
        case "reversed":
            items.reverse()
        case "one swap" if len(items) > 1:
            i = rng.randrange(len(items) - 1)
            items[i], items[i + 1] = items[i + 1], items[i]
        case "rotated" if items:
            i = rng.randrange(len(items))
            items = items[i:] + items[:i]
    return items


def line_pointer_of(name: str, offset: int, length: int, rng: Random) -> LinePointer:
    """One of CLASSES; offset and length are those of its storage, if it has some."""
    match name:
        case "tuple":
            return LinePointer(offset, LP_NORMAL, length)
        case "dead tuple":
            return LinePointer(offset, LP_DEAD, length)
        case "redirect tuple":
            return LinePointer(offset, LP_REDIRECT, length)
        case "dead":
            return LinePointer(0, LP_DEAD, 0)
        case "redirect":
            return LinePointer(rng.randint(1, MAX_HEAP_TUPLES_PER_PAGE), LP_REDIRECT, 0)
        case "zero-length":
            return LinePointer(rng.randrange(1 << 15), LP_NORMAL, 0)
        case "unused garbage":
            return LinePointer(rng.randrange(1 << 15), LP_UNUSED, rng.randrange(1 << 15))
    return UNUSED


def header_of(lower: int, upper: int, special: int, rng: Random) -> Header:
    """A valid header, its hints and all that no kernel may touch random."""
    return Header(
        pd_lsn=rng.getrandbits(64),
        pd_checksum=rng.getrandbits(16),
        pd_flags=rng.getrandbits(3),
        pd_lower=lower,
        pd_upper=upper,
        pd_special=special,
        pd_prune_xid=rng.getrandbits(32),
    )
