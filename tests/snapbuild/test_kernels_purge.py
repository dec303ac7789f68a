# SPDX-License-Identifier: PostgreSQL
"""Purges of unsorted arrays at their corners: lengths, alignments, blocks, half a ring, an xmin that is not normal."""

from itertools import product
from random import Random

import pytest
from _pgquern import ffi, lib
from pgquern.snapbuild import Committed, CommittedFull, compress, variants

from ref import snapbuild as ref
from ref.xid import FIRST_NORMAL, XID, full
from tests.common.tally import tally
from tests.common.variants import every_variant
from tests.snapbuild.agree import PATTERNS
from tests.snapbuild.strategies import CORNERS, HALF, LAST, around

CANARY = 0xDEADBEEF


@pytest.mark.exhaustive
@pytest.mark.parametrize("variant", every_variant(variants("purge")))
def test_purge_of_every_length_and_alignment(variant: str) -> None:
    """Every tail of a SIMD loop and every alignment to 64 bytes; no byte outside the array is touched."""
    fn = lib.pgq_snapbuild_purge_variants[[v.name for v in variants("purge")].index(variant)].fn
    rng = Random(1)
    for n, (name, pattern) in product(range(150), PATTERNS.items()):
        xmin = rng.choice([*CORNERS, rng.randrange(FIRST_NORMAL, XID.size)])
        keep = [x for x in around(xmin) if not XID.precedes(x, xmin)]
        drop = [x for x in around(xmin) if XID.precedes(x, xmin)]
        xip = [rng.choice(keep if pattern(i, n) else drop) for i in range(n)]
        expected = ref.purge(xip, xmin)
        offset = (n + len(name)) % 16
        memory = ffi.new("uint32_t[]", [CANARY] * (offset + n + 32))
        memory[offset : offset + n] = xip
        committed = ffi.new("pgq_snapbuild_committed *", {"xip": memory + offset, "xcnt": n, "xcnt_space": n})
        assert fn(committed, xmin).code == lib.PGQ_OK
        after = ffi.unpack(memory, len(memory))
        assert after[offset : offset + committed.xcnt] == expected, (n, name, xmin)
        assert after[:offset] == [CANARY] * offset
        assert after[offset + n :] == [CANARY] * 32
        tally("snapbuild", "arrays")


@pytest.mark.parametrize("variant", every_variant(variants("purge")))
def test_purge_of_xids_half_a_ring_away(variant: str) -> None:
    """Such an XID precedes xmin and goes, also as the only one in an array that otherwise holds xmin alone. The XID
    before it is the last one that stays, also as the only one in an array of which all else goes."""
    for xmin in (xmin for xmin in CORNERS if min(xmin ^ HALF, (xmin + HALF - 1) % XID.size) >= FIRST_NORMAL):
        before = max((xmin - 1) % XID.size, FIRST_NORMAL)
        for n, at in product([1, 8, 16, 32, 100], [0, 7, -1]):
            for others, other in ((xmin, xmin ^ HALF), (before, (xmin + HALF - 1) % XID.size)):
                xip = [others] * n
                xip[at % n] = other
                committed = Committed(xip)
                committed.purge(xmin, variant=variant, checked=False)
                assert committed.xip == ref.purge(xip, xmin), (xmin, n, at, other)


@pytest.mark.parametrize("variant", every_variant(variants("purge")))
def test_purge_of_long_arrays(variant: str) -> None:
    """Long enough for blocks: runs that stay or go as a whole, mixed ones, and runs with single XIDs that differ."""
    rng = Random(1)
    for n in [4095, 4096, 4351, 4352, 6000, 9000] * 8:
        xmin = rng.choice([*CORNERS, rng.randrange(FIRST_NORMAL, XID.size)])
        keep = [x for x in around(xmin) if not XID.precedes(x, xmin)]
        drop = [x for x in around(xmin) if XID.precedes(x, xmin)]
        xip: list[int] = []
        while len(xip) < n:
            run = rng.choice([1, 255, 256, 257, 512, 1023, 1024, 1025, 2048, n, rng.randrange(n)])
            xip += rng.choices(rng.choice([keep, keep, drop, drop, keep + drop]), k=run)
        del xip[n:]
        for _ in range(rng.randrange(3)):
            xip[rng.randrange(n)] = rng.choice(keep + drop)
        committed = Committed(xip)
        committed.purge(xmin, variant=variant)
        assert committed.xip == ref.purge(xip, xmin), (xmin, n)
        tally("snapbuild", "arrays")


@pytest.mark.parametrize("variant", every_variant(variants("purge")))
def test_purge_of_blocks_in_which_one_differs(variant: str) -> None:
    """A block of which all XIDs but one stay is not left alone, and one of which all but one go is not skipped. The one
    is in each vector of the block, and in each lane of the first and of the last. Between these blocks lies a span of
    which all stay, or all go, so that the kernel looks at whole blocks again."""
    xmin, span = 1000, 1024
    places = [at for at in range(256) if at < 16 or at % 17 == 0 or at >= 240]
    for others, one in ((xmin, xmin + HALF), (xmin - 1, xmin - 1 + HALF)):
        xip = [others] * (2 * span * len(places))
        for i, at in enumerate(places):
            xip[2 * span * i + at] = one
        committed = Committed(xip)
        committed.purge(xmin, variant=variant, checked=False)
        assert committed.xip == ref.purge(xip, xmin), (others, one)
        tally("snapbuild", "arrays")


@pytest.mark.parametrize("variant", every_variant(variants("purge")))
def test_purge_waits_for_a_normal_xmin(variant: str) -> None:
    for xmin in range(FIRST_NORMAL):
        committed = Committed([LAST, 7, 3])
        committed.purge(xmin, variant=variant)
        assert committed.xip == ref.purge([LAST, 7, 3], xmin) == [LAST, 7, 3]


@pytest.mark.parametrize("variant", every_variant(variants("purge_full")))
def test_purge_full_waits_for_a_normal_xmin(variant: str) -> None:
    for xmin in range(FIRST_NORMAL):
        committed = CommittedFull([5, full(1, 9)])
        committed.purge(full(2, xmin), variant=variant)
        assert committed.fxip == ref.purge_full([5, full(1, 9)], full(2, xmin)) == [5, full(1, 9)]


@pytest.mark.parametrize("variant", every_variant(variants("known_assigned")))
def test_compress_of_more_than_16_bits(variant: str) -> None:
    """Whatever stands in the entries: permanent XIDs too."""
    rng = Random(3)
    for n, live in ((70_000, 1.0), (70_000, 0.99), (140_000, 0.5)):
        xids, valid = [i % 1000 for i in range(n)], [rng.random() < live for _ in range(n)]
        assert compress(xids, valid, tail=9, variant=variant) == ref.compress(xids[9:], valid[9:])


@pytest.mark.exhaustive
@pytest.mark.parametrize("variant", every_variant(variants("known_assigned")))
def test_compress_of_every_length(variant: str) -> None:
    rng = Random(2)
    for n, pattern in product(range(100), PATTERNS.values()):
        tail = rng.randrange(0, 20)
        valid = [rng.random() < 0.5 for _ in range(tail)] + [pattern(i, n) for i in range(n)]
        xids = [FIRST_NORMAL + i for i in range(tail + n)]
        assert compress(xids, valid, tail=tail, variant=variant) == ref.compress(xids[tail:], valid[tail:])
        tally("snapbuild", "arrays")
