# SPDX-License-Identifier: PostgreSQL
"""What is wrong with the rows of a heap page, as verify_heapam of amcheck would say it, without a server.

Upstream: contrib/amcheck/verify_heapam.c (verify_heapam, check_tuple_header, check_tuple_visibility), as of 18. Looked
at are the line pointers, the tuples' headers, and the HOT chains of one page; not columns' values, nor TOAST. Beyond
it: a tuple of more columns than any table has, a t_ctid that points to line pointer 0, and two tuples that
share bytes. Not said is what servers ignore: a MultiXact of 9.2 or older that locked a row.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from ref.page import BLCKSZ, LP_DEAD, LP_NORMAL, LP_REDIRECT, LP_UNUSED, LinePointer, line_pointers, maxalign
from ref.xid import XID
from tools.check_pages.catalog import ABORTED, COMMITTED, IN_PROGRESS
from tools.common.heap_tuple import (
    HASNULL,
    HEADER,
    HOT_UPDATED,
    MOVED,
    NATTS,
    UPDATED,
    XMAX_COMMITTED,
    XMAX_INVALID,
    XMAX_IS_MULTI,
    XMIN_COMMITTED,
    XMIN_INVALID,
    Tuple,
    tuple_at,
)
from tools.common.relation_file import Ids

MAX_COLUMNS = 1600
FIRST_NORMAL = 3


NO_IDS = Ids()


@dataclass(frozen=True)
class Bounds:
    """The ids that rows may have: of the cluster, and of the table; 0: not known."""

    ids: Ids = NO_IDS
    relfrozenxid: int = 0
    relminmxid: int = 0
    natts: int = 0
    """Of the table; 0: not known."""
    status: Callable[[int], int | None] = field(default=lambda xid: None)
    """Whether an XID committed."""

    def xid(self, xid: int) -> str:
        """Why a normal XID cannot be; empty if it can."""
        if xid < FIRST_NORMAL:
            return ""
        if self.ids.shut_down and self.ids.next_xid and not XID.precedes(xid, self.ids.next_xid):
            return f"equals or exceeds the cluster's next XID {self.ids.next_xid}"
        if self.ids.oldest_xid and XID.precedes(xid, self.ids.oldest_xid):
            return f"precedes the cluster's oldest XID {self.ids.oldest_xid}"
        if self.relfrozenxid >= FIRST_NORMAL and XID.precedes(xid, self.relfrozenxid):
            return f"precedes relfrozenxid {self.relfrozenxid} of its table"
        return ""

    def multi(self, multi: int) -> str:
        """The same for a MultiXactId."""
        if not multi:
            return "is none that was ever given"
        if self.ids.shut_down and self.ids.next_multi and _before(self.ids.next_multi, multi + 1):
            return f"equals or exceeds the cluster's next MultiXactId {self.ids.next_multi}"
        if self.relminmxid and _before(multi, self.relminmxid):
            return f"precedes relminmxid {self.relminmxid} of its table"
        if self.ids.oldest_multi and _before(multi, self.ids.oldest_multi):
            return f"precedes the cluster's oldest MultiXactId {self.ids.oldest_multi}"
        return ""


def _before(a: int, b: int) -> bool:
    """MultiXactIdPrecedes."""
    return (a - b) & 0xFFFFFFFF >= 1 << 31


def faults(page: bytes, block: int, bounds: Bounds) -> list[tuple[int, str]]:
    """All that is wrong: the number of a line pointer, from 1, and the words; first the tuples that share bytes."""
    lines = line_pointers(page)
    found, tuples, successor = list[tuple[int, str]](), dict[int, Tuple](), dict[int, int]()
    for number, (off, flags, length) in enumerate(lines, 1):
        if flags == LP_REDIRECT:
            words = _redirect(off, lines)
            if not words:
                successor[number] = off
            found += [(number, words)] * bool(words)
        elif flags == LP_NORMAL:
            if words := _storage(off, length):
                found.append((number, words))
                continue
            tuples[number] = one = tuple_at(page, off, length)
            if one.block == block and one.offset != number and 1 <= one.offset <= len(lines):
                successor[number] = one.offset
            found += [(number, words) for words in _tuple(one, bounds)]
    found += _chains(lines, tuples, successor, bounds)
    return [*_shared(lines), *sorted(found, key=lambda fault: fault[0])]


def _redirect(off: int, lines: list[LinePointer]) -> str:
    if not 1 <= off <= len(lines):
        return f"a redirect to line pointer {off}, of {len(lines)}"
    kind = {LP_UNUSED: "an unused", LP_DEAD: "a dead", LP_REDIRECT: "a redirecting"}.get(lines[off - 1][1])
    return f"a redirect to {kind} line pointer {off}" if kind else ""


def _storage(off: int, length: int) -> str:
    if off % 8:
        return f"its tuple begins at byte {off}, which is no multiple of 8"
    if length < HEADER + 1:
        return f"a tuple of {length} bytes, which is less than its header has"
    return f"its tuple of {length} bytes at {off} ends beyond the page" if off + length > BLCKSZ else ""


def _shared(lines: list[LinePointer]) -> Iterator[tuple[int, str]]:
    stored = sorted((off, number, length) for number, (off, flags, length) in enumerate(lines, 1) if flags and length)
    for (off, number, length), (after, other, _) in pairwise(stored):
        if off + maxalign(length) > after:
            yield max(number, other), f"its tuple shares bytes with that of line pointer {min(number, other)}"


def _tuple(one: Tuple, bounds: Bounds) -> Iterator[str]:
    """check_tuple_header, then check_tuple_visibility."""
    natts, mask = one.infomask2 & NATTS, one.infomask
    begins = HEADER + ((natts + 7) // 8 if mask & HASNULL else 0) + 7 & ~7
    if one.hoff > one.length:
        yield f"its data begins at byte {one.hoff}, beyond its {one.length} bytes"
    if mask & XMAX_COMMITTED and mask & XMAX_IS_MULTI:
        yield "a MultiXact is marked as committed"
    if not one.xmax and one.hot_updated:
        yield "HOT updated, but xmax is 0"
    if one.heap_only and not mask & UPDATED:
        yield "heap-only, but not made by an update"
    if one.hoff != begins:
        nulls = f"{natts} columns, {'some' if mask & HASNULL else 'none'} NULL"
        yield f"its data begins at byte {one.hoff}, and should at {begins} ({nulls})"
    if natts > MAX_COLUMNS or (natts > bounds.natts > 0 and not _may_not_exist(one, bounds)):
        yield f"{natts} columns, more than {'its' if bounds.natts else 'any'} table has"
    if not one.offset:
        yield "t_ctid points to line pointer 0"
    yield from _visibility(one, bounds)


def _may_not_exist(one: Tuple, bounds: Bounds) -> bool:
    """Whether nobody may see it yet, or ever: its transaction may have made columns that pg_class does not tell of."""
    hinted = one.infomask & (XMIN_INVALID | MOVED)
    return not one.infomask & XMIN_COMMITTED and (hinted != 0 or bounds.status(one.xmin) in (ABORTED, IN_PROGRESS))


def _visibility(one: Tuple, bounds: Bounds) -> Iterator[str]:
    mask = one.infomask
    if not one.xmin_frozen and (words := bounds.xid(one.xmin)):
        yield f"xmin {one.xmin} {words}"
        return
    if _may_not_exist(one, bounds):
        return
    if one.locked_before_upgrade:
        return
    if mask & XMAX_IS_MULTI and (words := bounds.multi(one.xmax)):
        yield f"MultiXactId {one.xmax} {words}"
    elif not mask & (XMAX_IS_MULTI | XMAX_INVALID) and not one.locked_only and (words := bounds.xid(one.xmax)):
        yield f"xmax {one.xmax} {words}"


def _chains(
    lines: list[LinePointer], tuples: dict[int, Tuple], successor: dict[int, int], bounds: Bounds
) -> Iterator[tuple[int, str]]:
    """HOT chains do not meet, and begin with a tuple that is not heap-only, or with a redirect."""
    predecessor, may_be_next = dict[int, int](), set[int]()
    for number, after in successor.items():
        redirect, then = lines[number - 1][1] == LP_REDIRECT, tuples.get(after)
        if not then:
            continue
        if not redirect:
            one = tuples[number]
            if one.unknown_updater:
                may_be_next.add(after)
                continue
            if not one.xmax or one.xmax != (2 if then.xmin_frozen else then.xmin):
                continue
        if redirect and not then.heap_only:
            yield number, f"a redirect to line pointer {after}, which is not heap-only"
        if after in predecessor:
            yield number, f"points to line pointer {after}, as line pointer {predecessor[after]} does"
            continue
        predecessor[after] = number
        if redirect:
            continue
        # Not hot_updated: hint bits may say meanwhile that the update was aborted.
        hot = one.infomask2 & HOT_UPDATED
        if not hot and then.heap_only:
            yield number, f"its update was not HOT, but made the heap-only tuple {after}"
        if hot and not then.heap_only:
            yield number, f"its update was HOT, but made tuple {after}, which is not heap-only"
    for number, one in tuples.items():
        committed = one.infomask & XMIN_COMMITTED or (not one.xmin_invalid and bounds.status(one.xmin) == COMMITTED)
        if one.heap_only and committed and number not in predecessor and number not in may_be_next:
            yield number, "heap-only, but no other tuple or redirect points to it"
