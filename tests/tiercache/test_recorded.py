# SPDX-License-Identifier: PostgreSQL
"""The recorded trace of a real server's pages: how it is made, and that the policies do on it what they should."""

import lzma

import pytest
from pgquern.tiercache import hits, variants

from ref import tiercache as ref
from tests.common.variants import every_variant
from tests.tiercache.record import TRACE, pages_of

STRACE = b"""pread64(12</tmp/x/data/base/5/16384>, ""..., 8192, 16384) = 8192
pread64(9</tmp/x/data/base/5/16390_fsm>, ""..., 8192, 0) = 8192
pwrite64(12</tmp/x/data/base/5/16384>, ""..., 8192, 0) = 8192
pwrite64(7</tmp/x/data/pg_wal/000000010000000000000001>, ""..., 8192, 8192) = 8192
pread64(12</tmp/x/data/base/5/16384>, "", 8192, 24576) = 0
pread64(12</tmp/x/data/base/5/16384>, ""..., 8192, 8192) = 8192
"""


def test_each_file_has_numbers_of_its_own() -> None:
    """The log is no relation, and a read behind the end is no reference."""
    assert list(pages_of(STRACE)) == [2, 3, 0, 1]


@pytest.fixture(scope="module")
def recorded() -> list[int]:
    return [int(line) for line in lzma.open(TRACE).read().split()]


@pytest.mark.parametrize("policy", every_variant(variants()))
def test_hits_of_the_recorded_trace(policy: str, recorded: list[int]) -> None:
    frames = len(set(recorded)) // 20
    found = hits(recorded, frames, policy=policy)
    assert found == ref.hits(policy, recorded, frames) < ref.most_hits(recorded, frames)
