# SPDX-License-Identifier: PostgreSQL
"""A heap page as a picture: 8192 bytes in 64 rows of 128, each tuple in the colour of its line pointer.

Drawn from bytes alone: header and line pointers in grey, tuples by item, all else (hole, space of dead tuples) hatched.
"""

import colorsys
from dataclasses import dataclass

from ref import page as heap

ROWS, ROW_BYTES = 64, heap.BLCKSZ // 64
SCALE, ROW_HEIGHT = 3.0, 7.0
WIDTH, HEIGHT = ROW_BYTES * SCALE, ROWS * ROW_HEIGHT


@dataclass(frozen=True)
class Span:
    """Bytes [start, end) of a page, and how they are painted."""

    start: int
    end: int
    fill: str
    title: str


def item_colour(item: int, items: int) -> str:
    """Hues around the wheel in item order, so that order on the page shows as a gradient."""
    red, green, blue = colorsys.hls_to_rgb(0.78 * (item - 1) / max(1, items), 0.56 + 0.07 * (item % 2), 0.68)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


def spans(page: bytes) -> list[Span]:
    """Header, line pointers and tuples of `page` (8192 bytes)."""
    pointers = heap.line_pointers(page)
    found = [Span(0, heap.SIZE_OF_PAGE_HEADER, "#3b4252", "page header")]
    for item, pointer in enumerate(pointers, start=1):
        at = heap.SIZE_OF_PAGE_HEADER + 4 * (item - 1)
        stored = pointer.is_used and pointer.has_storage
        colour = item_colour(item, len(pointers)) if stored else "#c3c8d2"
        found.append(Span(at, at + 4, colour, f"line pointer {item}"))
        if stored:
            title = f"tuple of line pointer {item}: {pointer.lp_len} bytes"
            found.append(Span(pointer.lp_off, pointer.end, colour, title))
    return found


def _rectangles(span: Span) -> str:
    """A span as one rectangle a row that it touches."""
    out = []
    at = span.start
    while at < span.end:
        row, column = divmod(at, ROW_BYTES)
        end = min(span.end, (row + 1) * ROW_BYTES)
        x, y, width = column * SCALE, row * ROW_HEIGHT, (end - at) * SCALE
        out.append(f'<rect x="{x:g}" y="{y:g}" width="{width - 0.4:g}" height="{ROW_HEIGHT - 0.6:g}"/>')
        at = end
    return f'<g fill="{span.fill}"><title>{span.title}</title>{"".join(out)}</g>'


def svg(page: bytes, label: str) -> str:
    """The page as a self-contained SVG that scales to its box; `label` is its accessible name."""
    body = "".join(_rectangles(span) for span in spans(page))
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{label}" xmlns="http://www.w3.org/2000/svg">'
        '<defs><pattern id="free" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect width="6" height="6" fill="#f6f7f9"/><rect width="1.2" height="6" fill="#e3e6eb"/></pattern></defs>'
        f'<rect width="{WIDTH:g}" height="{HEIGHT:g}" fill="url(#free)"/>{body}</svg>'
    )
