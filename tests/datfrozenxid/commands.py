# SPDX-License-Identifier: PostgreSQL
"""Inputs of `pgquern frozen`."""

from pathlib import Path

from ref.datfrozenxid import Pair, Row
from tests.common.commands import Inputs
from tests.datfrozenxid.test_frozen import listings


def frozen(folder: Path) -> Inputs:
    def words(name: str, *rows: Row) -> list[str]:
        (folder / name).mkdir()
        return listings(folder / name, rows, Pair(400, 4), Pair(1000, 50))[1::2]

    return Inputs(
        sound=words("sound", Row("r", 500, 9)),
        damaged=words("future", Row("r", 500, 9), Row("r", 1001, 9)),
        code=1,
        verdict=lambda document: document["future"] and (document["future"]["name"], document["future"]["column"]),
        good=None,
        bad=("t1", "relfrozenxid"),
        says="GIVES UP: relfrozenxid 1001 of t1",
    )
