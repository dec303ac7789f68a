# SPDX-License-Identifier: PostgreSQL
"""Which pages enter the SSD: a write to it must pay for itself."""

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from pgquern.tiercache import File, TierCache, variants

from ref import tiercache as ref
from tests.common.variants import every_variant
from tests.tiercache.devices import Disk, Records, contents, is_put

PAGES, FRAMES, SLOTS = 640, 16, 8
SIZES: dict[str, Any] = {"pages": PAGES, "frames": FRAMES, "slots": SLOTS, "batch": 1, "policy": "lru"}


def asked(seed: int, n: int) -> Iterable[tuple[int, bool]]:
    """Pages, and whether they are written. A few are asked for often, then others; between there are scans, and
    pairs of pages, behind which some are read ahead in vain."""
    rng = Random(seed)
    for at in range(n):
        if at % 500 < 60:
            yield 300 + (at + at // 500 * 70) % 300, False
        elif at % 7 == 0:
            page = rng.randrange(40) * 8
            yield page, False
            yield page + 1, False
        else:
            yield (int(rng.paretovariate(0.7)) + at // 1000 * 17) % 300, rng.random() < 0.1


@pytest.mark.parametrize("policy", every_variant(row for row in variants() if row.name in ref.POLICIES))
@pytest.mark.parametrize("slots", [1, 3, 40])
def test_the_same_pages_enter_as_by_the_definition(policy: str, slots: int) -> None:
    """Operation by operation, on a long trace."""
    sizes = SIZES | {"slots": slots, "policy": policy}
    disk, records = Disk(PAGES, slots), Records()
    kernel, oracle = TierCache(disk, **sizes), ref.TierCache(records, **sizes)
    for at, (page, writes) in enumerate(asked(slots, 3000)):
        for cache in (kernel, oracle):
            if writes:
                cache.write(page, contents(at))
            else:
                cache.read(page)
            if at % 400 == 0:
                cache.fsync()
        assert len(disk.log) == len(records.log), at
    kernel.close()
    assert disk.log == records.log


class EachEviction(ref.TierCache):
    """Whatever leaves memory is written to the SSD."""

    def _enters_ssd(self, frame: ref.Frame) -> bool:
        return True


@pytest.mark.parametrize("policy", ["lru", "s3fifo", "tinylfu"])
def test_fewer_writes_to_the_ssd_and_hardly_more_reads_of_the_store(policy: str) -> None:
    """Pages that are asked for by a power law, with scans between."""
    found = []
    for definition in (EachEviction, ref.TierCache):
        records = Records()
        cache = definition(records, **SIZES | {"slots": 40, "policy": policy})
        for page, _ in asked(1, 6000):
            cache.read(page)
        puts = sum(map(is_put, records.log))
        found.append((puts, sum(op[:2] == ("read", File.STORE) for op in records.log)))
    (each, reads_of_each), (ours, reads) = found
    assert 2 * ours < each
    assert reads < 1.1 * reads_of_each
