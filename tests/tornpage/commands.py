# SPDX-License-Identifier: PostgreSQL
"""Inputs of `pgquern check-pages`."""

from pathlib import Path

from tests.common.commands import Inputs
from tests.tornpage.test_check_pages import relation


def check_pages(folder: Path) -> Inputs:
    sound, pages = relation(folder)
    sound.write_bytes(pages)
    damaged = folder / "16385"
    pages[3 * 8192 + 5000] ^= 1
    damaged.write_bytes(pages)
    return Inputs(
        sound=[str(sound)],
        damaged=[str(damaged)],
        code=1,
        verdict=lambda document: (
            document["sound"],
            [(page["block"], page["byte"], page["verdict"]) for page in document["wrong"]],
        ),
        good=(True, []),
        bad=(False, [(3, 24576, "checksum")]),
        says="block 3, byte 24576: pd_checksum",
    )
