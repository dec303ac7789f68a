# SPDX-License-Identifier: PostgreSQL
"""Inputs of `pgquern trace-check`, `advise` and `trace-record`."""

from pathlib import Path

from tests.common.commands import Inputs
from tests.prefetch.test_trace import PICTURE, listing_of, strace_of


def trace_check(folder: Path) -> Inputs:
    """The canonical picture, and again with an advise left out."""
    sound, damaged, wal = (folder / name for name in ("sound", "damaged", "wal"))
    sound.write_text(strace_of(PICTURE))
    damaged.write_text(strace_of(PICTURE[:4] + PICTURE[5:]))
    wal.write_text(listing_of(12))
    words = [str(wal), "--concurrency", "3"]
    return Inputs(
        sound=[str(sound), *words],
        damaged=[str(damaged), *words],
        code=1,
        verdict=lambda document: (document["verdict"], document["wrong_event"], document["wrong_line"]),
        good=("conforms", None, None),
        bad=("does not conform", 5, 7),
        says="Expected: an advise of block 4",
    )


def advise(folder: Path) -> Inputs:
    sound, damaged = folder / "sound", folder / "damaged"
    sound.write_text(listing_of(12))
    damaged.write_text(listing_of(12).replace("blk 7", "blk"))
    return Inputs(
        sound=[str(sound)],
        damaged=[str(damaged)],
        code=2,
        verdict=lambda document: [row["concurrency"] for row in document["concurrencies"] if row["prefetch"]],
        good=[1, 2, 4, 8, 10, 16, 32, 64, 128, 256],
        says="line 8",
    )


def trace_record(folder: Path) -> Inputs:
    """A data directory that lacks its control file."""
    (folder / "PG_VERSION").write_text("15\n")
    return Inputs(damaged=[str(folder)], code=2, says="trace-record: ")
