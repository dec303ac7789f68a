# SPDX-License-Identifier: PostgreSQL
"""Released minors of PostgreSQL that had a defect, and the next ones, which have it no more: minors.toml pins them.

    old, new = minors("14.1", "14.2")

They are fetched by the first test that asks for them. A test is skipped where there is none for this machine, or no
network; a download that is not what is pinned fails it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.postgres import fetch
from tests.postgres.server import TOP, Build

TABLE = Path(__file__).with_name("minors.toml")


def _provided(name: str) -> Build | str:
    """The installed server, or why there is none."""
    rows = {row.name: row for row in fetch.pinned(TABLE)}
    if name not in rows:
        return f"PostgreSQL {name}: none is pinned for this machine"
    destination = TOP / fetch.DESTINATION
    try:
        fetch.provide(rows[name], destination)
    except fetch.NotDownloaded as error:
        return f"PostgreSQL {name} cannot be fetched: {error}"
    return Build(name, rows[name].major, destination / name)


def minors(*names: str) -> list[Build]:
    """The servers of these names; skips the test that asks if one is not to be had."""
    found = []
    for name in names:
        build = _provided(name)
        if isinstance(build, str):
            pytest.skip(build)
        found.append(build)
    return found
