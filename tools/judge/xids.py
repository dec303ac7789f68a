# SPDX-License-Identifier: PostgreSQL
"""A call on XIDs that went wrong, for people: the lists, and the place of the first difference."""

from collections.abc import Mapping, Sequence
from html import escape

from ref.xid import XID

AROUND = 6
"""XIDs shown on each side of what matters in a long list."""


def first_difference(expected: Sequence[int], got: Sequence[int]) -> int:
    """The first place where two lists differ; their common length if one continues the other."""
    pairs = enumerate(zip(expected, got, strict=False))
    return next((at for at, (want, found) in pairs if want != found), min(len(expected), len(got)))


def distance(xid: int, pivot: int | None) -> str:
    """How far an XID lies from the pivot, on the ring."""
    if pivot is None or xid >= XID.size:
        return ""
    away = (xid - pivot) % XID.size
    return f"{away - XID.size:,}" if away >= XID.half else f"+{away:,}"


def _shown(length: int, at: int) -> list[int | None]:
    """The places of a list that are shown: its ends, and around `at`; None stands for those left out."""
    near = {i for i in range(length) if i < AROUND or i >= length - AROUND or abs(i - at) <= AROUND}
    found: list[int | None] = []
    for i in sorted(near):
        if i - 1 not in near and i > 0:
            found.append(None)
        found.append(i)
    return found


def says(given: Mapping[str, object], expected: Sequence[int], got: Sequence[int]) -> str:
    """In plain text."""
    at = first_difference(expected, got)
    want, found = (str(xids[at]) if at < len(xids) else "the end" for xids in (expected, got))
    lines = [f"{name} = {brief(value)}" for name, value in given.items()]
    lines += [f"expected = {brief(expected)}", f"got = {brief(got)}"]
    return "\n".join([*lines, f"first difference at [{at}]: expected {want}, got {found}"])


def brief(value: object) -> str:
    """A value, of a long list the beginning."""
    if isinstance(value, list | tuple) and len(value) > 4 * AROUND:
        return f"[{', '.join(map(str, value[: 2 * AROUND]))}, ... {len(value):,} in all]"
    return str(value)


def picture(lists: Mapping[str, Sequence[int]], pivot: int | None, pivot_name: str = "xmin") -> str:
    """HTML: a row a list, of `expected` and `got` the first difference marked; under each XID its distance."""
    at = first_difference(lists["expected"], lists["got"])
    rows = []
    for name, xids in lists.items():
        compared = name in ("expected", "got")
        cells = []
        for i in _shown(len(xids), at if compared else 0):
            if i is None:
                cells.append("<li class='gap'>…</li>")
                continue
            marked = " class='differs'" if compared and i == at else ""
            away = distance(xids[i], pivot)
            cells.append(f"<li{marked}>{xids[i]}<small>{away}</small></li>")
        if compared and at == len(xids):
            cells.append("<li class='differs'>end</li>")
        rows.append(f"<dt>{escape(name)} <span class='dim'>{len(xids):,}</span></dt><dd><ol>{''.join(cells)}</ol></dd>")
    under = f"Under each its distance from {escape(pivot_name)}, {pivot}, on the ring. " if pivot is not None else ""
    return (
        f"<dl class='xids'>{''.join(rows)}</dl>"
        f"<p class='dim'>{under}The first difference is at [{at}], counted from 0.</p>"
    )
