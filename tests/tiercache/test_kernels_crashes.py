# SPDX-License-Identifier: PostgreSQL
"""Crashes at every operation of random runs: nothing that was synced is lost, with and without the SSD."""

import pytest
from hypothesis import settings

from tests.tiercache.crashing import crash_everywhere

pytestmark = pytest.mark.claim7


@pytest.mark.parametrize("faults", [False, True])
def test_what_is_synced_survives_a_crash_at_any_operation(faults: bool) -> None:
    crash_everywhere(1 + faults, settings().max_examples // 2 + 10, faults=faults)


@pytest.mark.parametrize("faults", [False, True])
def test_what_is_synced_survives_where_the_ssd_is_written_by_4_kib(faults: bool) -> None:
    crash_everywhere(3 + faults, settings().max_examples // 2 + 10, faults=faults, ssd_block=4096)
