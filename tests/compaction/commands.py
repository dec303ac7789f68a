# SPDX-License-Identifier: PostgreSQL
"""Inputs of `pgquern look`."""

from pathlib import Path

from tests.common.commands import Inputs
from tests.compaction.test_look import sound_pages, write


def look(folder: Path) -> Inputs:
    pages = sound_pages(20)
    damaged = [*pages[:5], pages[5][:12] + (9000).to_bytes(2, "little") + pages[5][14:], *pages[6:]]
    return Inputs(
        sound=[str(write(folder, pages))],
        damaged=[str(write(folder, damaged, "16385"))],
        code=1,
        verdict=lambda document: [page["block"] for page in document["refused"]],
        good=[],
        bad=[5],
        says="block 5 is refused: pd_lower 9000 lies above pd_upper",
    )
