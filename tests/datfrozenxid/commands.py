# SPDX-License-Identifier: PostgreSQL
"""Inputs of `pgquern frozen`."""

from pathlib import Path

from ref.datfrozenxid import Pair, Row
from tests.common.commands import Inputs
from tests.datfrozenxid.made import data_directory
from tools.common.relation_file import Ids


def frozen(folder: Path) -> Inputs:
    def words(name: str, *rows: Row) -> list[str]:
        ids = Ids(True, 0, 1000, 400, 50, 50)
        return [str(data_directory(folder / name, 18, rows, Pair(400, 4), ids))]

    return Inputs(
        sound=words("sound", Row("r", 500, 9)),
        damaged=words("future", Row("r", 500, 9), Row("r", 1001, 9)),
        code=1,
        verdict=lambda document: [one["kind"] for one in document["findings"]],
        good=[],
        bad=["GIVES UP"],
        says="GIVES UP: relfrozenxid 1001 of public.t1",
    )
