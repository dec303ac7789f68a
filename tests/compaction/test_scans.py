# SPDX-License-Identifier: PostgreSQL
"""The scan of scalar, number by number, and all that scalar does after it, against the proved loops.

proofs/compaction/scan/Scan.v has both, line pointer by line pointer, with C's arrays. Here C's scan (scanned.c) and C's
operations (traced.c) are those of the extracted ones, on each page: what is refused, and what is stored, too.
"""

from collections import Counter
from itertools import chain

import pytest

from tests.common.tally import tally
from tests.compaction.operations import PLANS, TRACED_NUMBER, plans, traced
from tests.compaction.scans import inputs, scanner, scans
from tests.compaction.test_extracted import PROGRAM

ALL_OF_SCALAR = 21
NAMES = ("nkept", "nitems", "nused", "ngaps", "total", "lengths", "refused", "unsorted", "changed")


def test_the_scan_of_scalar_finds_what_the_proved_one_finds() -> None:
    """All its numbers and arrays; on pages that it refuses too."""
    seen: Counter[str] = Counter()
    found, proved = scans(scanner("scanned"), inputs()), scans(PROGRAM, inputs())
    for number, (got, want) in enumerate(zip(found, proved, strict=True)):
        assert dict(zip(NAMES, got, strict=False)) == dict(zip(NAMES, want, strict=False)), number
        assert got == want, number
        numbers = dict(zip(NAMES, got, strict=False))
        seen.update(name for name in ("nkept", "ngaps", "refused", "unsorted", "changed") if numbers.get(name))
        seen["sound and as it must be"] += numbers.get("refused") == 0 and not numbers["changed"]
        seen["no header"] += not got
    assert len(seen) == 7, seen
    assert min(seen.values()) >= 5, seen
    tally("compaction", "scans of scalar", len(inputs()))


@pytest.mark.parametrize("truncate", [False, True])
def test_scalar_does_what_is_proved_and_no_more(truncate: bool) -> None:
    """Each copy and each store in its order, without those that it may leave out; or the refusal."""
    done = plans(traced(), TRACED_NUMBER["scalar"], truncate, inputs())
    wanted = plans(PROGRAM, PLANS + ALL_OF_SCALAR, truncate, inputs())
    stored = 0
    for number, (got, want) in enumerate(zip(done, wanted, strict=True)):
        assert (got.code, got.at) == (want.code, want.at), number
        assert got.copies == want.shifted(), number
        assert [(*store[:2], store[2] & 0xFFFFFFFF) for store in got.stores] == [
            (*store[:2], store[2] & 0xFFFFFFFF) for store in want.stores
        ], number
        assert got.operations == list(chain(got.copies, got.stores))
        stored += len(got.stores) > 3  # more than the header
    assert stored >= 100
