# SPDX-License-Identifier: PostgreSQL
"""Pages at the edges of each way by which a kernel moves tuples, between memory that cannot be touched."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from tests.common.tally import tally
from tests.compaction.agree import assert_agreement
from tests.compaction.strategies import CLASSES, LIMITS, Edge, classes, edge_page, edges, random_edge


@given(edges(), st.sampled_from([1, 8, 32]))
def test_kernels_keep_within_their_bounds(edge: Edge, pages: int) -> None:
    """All 8192 bytes, or the same refusal and the page unchanged; each variant, with truncation and without."""
    for i in range(pages):
        page = edge_page(replace(edge, seed=edge.seed + i))
        tally("compaction", "pages")
        assert_agreement(page)
    for name in classes(page):
        event(name)


@pytest.mark.plain
def test_each_class_of_pages_at_an_edge_is_reached() -> None:
    """By 5 pages at least; the kernels get the first 15 of each class."""
    seen: Counter[str] = Counter()
    for number in range(12_000):
        page = edge_page(random_edge(number))
        found = classes(page)
        if any(seen[name] < 15 for name in found):
            tally("compaction", "pages")
            assert_agreement(page)
        seen.update(found)
    assert {name: seen[name] for name in CLASSES if seen[name] < 5} == {}
    tally("compaction", "edges", len(CLASSES))


@pytest.mark.parametrize("pages", LIMITS)
def test_kernels_agree_at_each_limit_of_a_page(pages: Callable[[], Iterator[bytes]]) -> None:
    for page in pages():
        assert_agreement(page)
        tally("compaction", "pages")
