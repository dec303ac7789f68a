# SPDX-License-Identifier: PostgreSQL
"""A candidate's last call on a page: kept by the judge, and told as three pages; see tools/judge/last.py."""

import zlib
from base64 import b85encode
from typing import Any

from pgquern import compaction

from ref import page as heap
from ref.compaction import Order
from tools.judge.kinds import Kind
from tools.judge.last import Call, Keeper, Told
from tools.look import page_picture

ORDER = (
    "The MAXALIGN(lp_len) bytes of each tuple move to the end of the tuple area, packed, in the order of the variant."
)
FOLLOW = "lp_off of each tuple, pd_upper, pd_flags and (if truncate) pd_lower follow."
BROKEN = {
    "header": FOLLOW,
    "line pointer": FOLLOW,
    "tuple": ORDER,
    "hole": "No other byte changes: not the hole, not the special space, not the rest of the header.",
    "special space": "No other byte changes: not the hole, not the special space, not the rest of the header.",
}
"""The words of the contract, by what lies at the first byte that differs."""
UNUSED = "Unused line pointers become zero, all 32 bits."
LIKE = {Order.OFFSET: "pg13", Order.ITEM: "scalar"}
"""A variant of each order."""
REFUSALS = "These are the refusals, in the order in which they are looked for;"
UNCHANGED = "A refused page does not change in any byte."


def keep(keeper: Keeper) -> None:
    """From now on the calls of the candidate on single pages are kept."""
    plain = compaction.page_repair_fragmentation

    def kept(page: Any, *, truncate: bool, variant: str | None = None) -> None:
        if variant not in (None, "candidate") or len(page) != heap.BLCKSZ:
            plain(page, truncate=truncate, variant=variant)
            return
        with keeper(page=bytes(page).hex(), truncate=truncate) as got:
            try:
                plain(page, truncate=truncate, variant=variant)
            finally:
                got["page"] = bytes(page).hex()

    compaction.page_repair_fragmentation = kept


def words(kind: Kind) -> list[str]:
    """All words of the contract that a call can break."""
    return [REFUSALS, UNCHANGED, UNUSED, *BROKEN.values()]


def told(kind: Kind, call: Call) -> Told | None:
    """What is wrong with a call; None: nothing."""
    from tests.compaction.agree import Outcome, difference, oracle, place

    page, truncate = bytes.fromhex(call["given"]["page"]), call["given"]["truncate"]
    order, other = (Order.OFFSET, Order.ITEM) if "ORDER_OFFSET" in kind.row else (Order.ITEM, Order.OFFSET)
    want = oracle(page, order, truncate)
    pages, breaks = {"before": page, "expected": want.page}, ""
    if "got" in call:
        got = Outcome(call["got"].get("code", 0), call["got"].get("index", 0), bytes.fromhex(call["got"]["page"]))
        if got == want:
            return None
        pages["got"] = got.page
        says = difference(page, want, got)
        if (got.code, got.at) != (want.code, want.at):
            breaks = REFUSALS
        elif want.code:
            breaks = UNCHANGED
        elif got == oracle(page, other, truncate):
            breaks, says = ORDER, f"{says}; this is right in the other order: LIKE={LIKE[other]} asks for that"
        else:
            at = next(i for i in range(heap.BLCKSZ) if want.page[i] != got.page[i])
            breaks = _broken_at(page, place(want.page, at))
    else:
        says = "the call did not come back"
    tuples = sum(lp.is_used and lp.has_storage for lp in _line_pointers(page))
    says = f"a page with tuples: {tuples}, truncate={truncate}: {says}"
    return Told(says, breaks, _figures(pages), _regression(kind, page, truncate, want.code, want.at, want.page))


def _broken_at(page: bytes, where: str) -> str:
    """The words of the contract that are broken if the first byte that differs lies there."""
    what, _, number = where.rpartition(" ")
    if what == "line pointer" and not heap.line_pointers(page)[int(number) - 1].is_used:
        return UNUSED
    return BROKEN[where.rstrip(" 0123456789")]


def _line_pointers(page: bytes) -> list[heap.LinePointer]:
    """Those that can be read."""
    try:
        return list(heap.line_pointers(page))
    except (heap.PageError, ValueError, IndexError):
        return []


def _figures(pages: dict[str, bytes]) -> str:
    """The pages side by side; the bytes that differ from what is expected are marked on the last."""
    figures = []
    for name, page in pages.items():
        try:
            drawn = page_picture.svg(page, f"the page {name}")
        except Exception:  # a page so corrupt that it has no picture
            drawn = "<p>Its line pointers cannot be read.</p>"
        if name == "got":
            drawn = drawn.replace("</svg>", f'<g class="differs">{_differing(pages["expected"], page)}</g></svg>')
        figures.append(f"<figure>{drawn}<figcaption>{name}</figcaption></figure>")
    legend = "A page is 64 lines of 128 bytes: the header in grey, a colour for each line pointer and its tuple"
    return (
        f'<div class="pages">{"".join(figures)}</div>'
        f'<p class="dim">{legend}; hatched what is free. Framed in yellow is what differs.</p>'
    )


def _differing(expected: bytes, got: bytes) -> str:
    """A frame around each run of bytes of a line that differ."""
    frames, width = [], page_picture.ROW_BYTES
    for row in range(page_picture.ROWS):
        at = row * width
        columns = [i for i in range(width) if expected[at + i] != got[at + i]]
        for i in columns:
            if i - 1 not in columns:
                end = next(j for j in range(i + 1, width + 1) if j not in columns)
                x, wide = i * page_picture.SCALE, (end - i) * page_picture.SCALE
                y, high = row * page_picture.ROW_HEIGHT, page_picture.ROW_HEIGHT
                frames.append(f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}"/>')
    return "".join(frames)


def _packed(page: bytes) -> str:
    text = b85encode(zlib.compress(page, 9)).decode()
    lines = "\n".join(f'    "{text[i : i + 100]}"' for i in range(0, len(text), 100))
    return f"zlib.decompress(b85decode(\n{lines}\n))"


def _regression(kind: Kind, page: bytes, truncate: bool, code: int, index: int, expected: bytes) -> str:
    call = f"compaction.page_repair_fragmentation(page, truncate={truncate}, variant=VARIANT)"
    if code:
        body = (
            f"    with pytest.raises(PgquernError) as refused:\n        {call}\n"
            f"    assert (refused.value.code, refused.value.index) == ({code}, {index})\n"
            "    assert bytes(page) == PAGE\n"
        )
        imports, constant = "import pytest\nfrom pgquern import PgquernError, compaction\n", ""
    else:
        body = f"    {call}\n    assert bytes(page) == EXPECTED\n"
        imports, constant = "from pgquern import compaction\n", f"EXPECTED = {_packed(expected)}\n"
    return (
        f"import zlib\nfrom base64 import b85decode\n\n{imports}\n"
        f'VARIANT = "candidate" if "candidate" in [v.name for v in compaction.variants()] else "{kind.like}"\n'
        f"PAGE = {_packed(page)}\n{constant}\n\n"
        f"def test_a_page_that_was_compacted_wrongly() -> None:\n    page = bytearray(PAGE)\n{body}"
    )
