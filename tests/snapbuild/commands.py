# SPDX-License-Identifier: PostgreSQL
"""Inputs of `pgquern snap`."""

from pathlib import Path

from tests.common.commands import Inputs
from tests.snapbuild.test_snap import snap as snap_of
from tests.snapbuild.test_snap import write


def snap(folder: Path) -> Inputs:
    content = snap_of(committed=[150, 120])
    return Inputs(
        sound=[str(write(folder, content))],
        damaged=[str(write(folder, content[:-1] + b"\x07", "0-1.snap"))],
        code=1,
        verdict=lambda document: [bool(file["damaged"]) for file in document],
        good=[False],
        bad=[True],
        says="WRONG: ",
    )
