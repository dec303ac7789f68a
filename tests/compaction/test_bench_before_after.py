# SPDX-License-Identifier: PostgreSQL
"""The README's picture is that of today's figures, and shows what compaction does."""

from bench.compaction import before_after
from ref import page as heap


def test_the_picture_is_that_of_the_recorded_figures() -> None:
    drawn = before_after.INTO.read_text()
    assert drawn == before_after.picture(), "stale: python -m bench.compaction.before_after"
    upstream, ours, _ = before_after.measured()
    assert f"Compacted in {ours:.0f} ns; PostgreSQL's own takes {upstream:,.0f} " in drawn


def test_its_page_is_one_of_the_benchmark() -> None:
    page = before_after.page()
    heap.check(page)
    used = [lp for lp in heap.line_pointers(page) if lp.is_used]
    assert (len(heap.line_pointers(page)), len(used)) == (226, 113)
    assert {lp.lp_len for lp in used} == {32}
    assert [lp.lp_off for lp in used] != sorted((lp.lp_off for lp in used), reverse=True)
