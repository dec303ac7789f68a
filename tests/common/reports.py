# SPDX-License-Identifier: PostgreSQL
"""tests/reports.toml: what people saw, and what a command says of it."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).parents[1] / "reports.toml"


@dataclass(frozen=True)
class Report:
    """An entry. status: the exit status of the command."""

    seen: str
    source: str
    stem: str
    command: str
    made: str
    says: str
    status: int = 1


def of(stem: str) -> list[Report]:
    """Those of a stem."""
    found = [Report(**entry) for entry in tomllib.loads(LIST.read_text())["report"]]
    assert all(one.source.startswith("http") and one.seen for one in found)
    return [one for one in found if one.stem == stem]
