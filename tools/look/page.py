# SPDX-License-Identifier: PostgreSQL
"""A page before and after compaction, as one small HTML file."""

from collections.abc import Sequence
from html import escape

import pgquern.compaction

from ref.compaction import VERSIONS
from tools.look import hinted
from tools.look.page_picture import svg

STYLE = """
:root { color-scheme: light dark; --ink: #1d2330; --dim: #5b6270; --ground: #ffffff; --edge: #d5d9e0 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ee; --dim: #a3a9b5; --ground: #16181d; --edge: #3a3f4a }
  svg { filter: brightness(.88) } }
body { margin: 2rem auto; padding: 0 1rem; max-width: 78rem; color: var(--ink); background: var(--ground);
  font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.3rem; overflow-wrap: anywhere } li { color: var(--dim); overflow-wrap: anywhere }
.pages { display: flex; flex-wrap: wrap; gap: 1.5rem } figure { margin: 0; flex: 1 1 20rem; max-width: 26rem }
svg { width: 100%; border: 1px solid var(--edge) } figcaption { color: var(--dim); font-size: .9rem }
"""
LEGEND = (
    "8192 bytes in 64 rows of 128. Dark: the page header; grey: line pointers without a tuple. A tuple has the colour"
    " of its line pointer. Hatched: no tuple's bytes."
)


def free(page: bytes) -> int:
    return int.from_bytes(page[14:16], "little") - int.from_bytes(page[12:14], "little")


def compacted(page: bytes, major: int) -> bytes:
    """As a server of that version leaves it."""
    after, version = bytearray(page), VERSIONS[major]
    variant = next(
        v.name for v in reversed(pgquern.compaction.variants()) if v.supported and v.order.name == version.order.name
    )
    pgquern.compaction.page_repair_fragmentation(after, truncate=version.truncates, variant=variant)
    return bytes(after)


def pictures(page: bytes, major: int) -> list[tuple[bytes, str]]:
    """(page, caption): as it lies, compacted, and pruned before it is compacted if that makes a difference."""
    after = compacted(page, major)
    found = [
        (page, f"As it lies: {free(page):,} bytes free"),
        (after, f"Compacted: {free(after):,} bytes free"),
    ]
    if (decided := hinted.pruned(page)) != page:
        both = compacted(decided, major)
        found.append((both, f"Pruned of what hint bits call dead, then compacted: {free(both):,} bytes free"))
    return found


def html(page: bytes, major: int, title: str, words: Sequence[str]) -> str:
    """`page` must be one that compaction accepts."""
    figures = "".join(
        f"<figure>{svg(drawn, escape(caption))}<figcaption>{escape(caption)}</figcaption></figure>"
        for drawn, caption in pictures(page, major)
    )
    said = "".join(f"<li>{escape(line)}</li>" for line in words)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><h1>{escape(title)}</h1>"
        f'<div class="pages">{figures}</div><p>{LEGEND}</p><ul>{said}</ul></body></html>\n'
    )
