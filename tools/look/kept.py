# SPDX-License-Identifier: PostgreSQL
"""Why free space is not for new rows, or is not given back: fillfactor, and line pointers that must stay.

Upstream: RelationGetTargetPageFreeSpace (src/include/utils/rel.h): an INSERT leaves BLCKSZ * (100 - fillfactor) / 100
bytes of a page to updates. PageGetHeapFreeSpace (src/backend/storage/page/bufpage.c): a page that has
MaxHeapTuplesPerPage line pointers, none of them unused, has no room, whatever is free.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ref import page as heap
from tools.check_pages.catalog import catalog_of
from tools.common.answer import plural
from tools.common.relation_file import Cluster
from tools.look.rows import Rows, column

DEFAULT = 100


def fillfactor_of(path: Path, cluster: Cluster | None, major: int, asked: int | None) -> tuple[int, str]:
    """And from where it is known: the option, or reloptions in pg_class's file."""
    if asked:
        return asked, "as asked"
    found = catalog_of(path, cluster, major) if cluster else None
    if not found or not (row := found[1]):
        return DEFAULT, "the default: no catalog was found that says another"
    if row.fillfactor:
        return row.fillfactor, f"as pg_class says of {found[0].name(row)}"
    return DEFAULT, f"the default: pg_class says no other of {found[0].name(row)}"


@dataclass
class Kept:
    """Sums over the pages. Free is what a page has when its dead tuples are pruned and it is compacted."""

    fillfactor: int
    says: str
    free: int = 0
    reserved: int = 0
    """Of it, bytes that fillfactor leaves to updates."""
    pages_for_updates: int = 0
    """With tuples and nothing free but that."""
    redirect: int = 0
    dead: int = 0
    unused: int = 0
    full: int = 0
    """Pages with all line pointers that a page can have, none of them unused."""
    full_free: int = 0
    full_redirect: int = 0

    def add(self, rows: Rows) -> None:
        reserve = heap.BLCKSZ * (100 - self.fillfactor) // 100
        free = column(rows, "free_after") + column(rows, "hinted_bytes")
        unused = column(rows, "unused") - column(rows, "lines_cut")
        full = (column(rows, "line_pointers") >= heap.MAX_HEAP_TUPLES_PER_PAGE) & (unused == 0)
        full &= column(rows, "hinted") == 0
        self.free += int(free.sum())
        self.reserved += int(free.clip(max=reserve).sum())
        self.pages_for_updates += int(((free > 0) & (free <= reserve) & (column(rows, "tuples") > 0)).sum())
        self.redirect += int(column(rows, "redirect").sum())
        self.dead += int(column(rows, "dead").sum())
        self.unused += int(unused.sum())
        self.full += int(full.sum())
        self.full_free += int(free[full].sum())
        self.full_redirect += int(column(rows, "redirect")[full].sum())

    def document(self) -> dict[str, Any]:
        return dict(vars(self))

    def lines(self) -> Iterator[str]:
        each = heap.SIZE_OF_LINE_POINTER
        if self.fillfactor < 100:
            yield (
                f"fillfactor {self.fillfactor} ({self.says}): of {self.free:,} bytes that are free once dead tuples are"
                f" pruned, {self.reserved:,} are left to updates; on {plural(self.pages_for_updates, 'page')} all of"
                " them"
            )
        if self.redirect:
            yield (
                f"HOT chains keep {self.redirect * each:,} bytes: a redirect line pointer stays while a row of its"
                " chain lives, since indexes point to it"
            )
        if self.dead:
            yield f"dead line pointers keep {self.dead * each:,} bytes until VACUUM has cleaned the indexes"
        if self.full:
            yield (
                f"{self.full:,} pages have {heap.MAX_HEAP_TUPLES_PER_PAGE} line pointers, none unused, and so no room"
                f" for a row, though {self.full_free:,} bytes are free there: {self.full_redirect:,} of these line"
                " pointers are redirects of HOT chains"
            )
