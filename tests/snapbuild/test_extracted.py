# SPDX-License-Identifier: PostgreSQL
"""The extracted proof as a third opinion beside oracle and kernels."""

from random import Random

import pytest

from ref import snapbuild as ref
from ref.xid import FIRST_NORMAL, XID, full
from tests.snapbuild.agree import SMALL_RING, subsets
from tests.snapbuild.extracted import PROGRAM, Extracted, Op
from tests.snapbuild.strategies import CORNERS, HALF, around
from tests.tally import tally

needs_extracted = pytest.mark.skipif(not PROGRAM.exists(), reason="build/oracle/snapbuild is not built: make oracle")


@needs_extracted
def test_the_extracted_proof_agrees() -> None:
    """On every subset at every border, and on generated arrays."""
    extracted, rng = Extracted(), Random(3)
    for subset in subsets(SMALL_RING[::2]):
        xip = list(subset)
        for xmin in (x for corner in CORNERS for x in around(corner)):
            extracted.expect(ref.purge(xip, xmin), Op.PURGE, xip, xmin=xmin)
            extracted.expect(ref.purge_sorted(xip, xmin), Op.PURGE_SORTED, xip, xmin=xmin)
    for _ in range(2000):
        base, n = rng.randrange(FIRST_NORMAL, XID.size), rng.choice([0, 1, 5, 30, 200])
        xids = [max((base + rng.randrange(rng.choice([n + 1, HALF]))) % XID.size, FIRST_NORMAL) for _ in range(n)]
        xip, batch = sorted(set(xids)), [rng.choice([*xids, base]) for _ in range(rng.randrange(20))]
        fxip = sorted(full(rng.randrange(3), x) for x in xip)
        valid = [rng.random() < 0.5 for _ in xip]
        extracted.expect(ref.purge(xids, base), Op.PURGE, xids, xmin=base)
        extracted.expect(ref.purge_sorted(xip, base), Op.PURGE_SORTED, xip, xmin=base)
        extracted.expect(ref.insert(xip, batch), Op.INSERT, xip, batch)
        extracted.expect(ref.purge_full(fxip, full(1, base)), Op.PURGE_FULL, fxip, xmin=full(1, base))
        extracted.expect(ref.compress(xip, valid), Op.COMPRESS, xip, valid)
    tally("snapbuild", "answers of the extracted proof", extracted.check())
