# SPDX-License-Identifier: PostgreSQL
"""`make frozen` on real servers: what it foresees, by both ways, is what the server's own function then does."""

import json
import shutil
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ref.datfrozenxid import Pair
from tests.datfrozenxid.server import SETTINGS, Database
from tests.datfrozenxid.test_frozen import said
from tests.datfrozenxid.test_servers import row, stored
from tests.postgres.server import EMBEDDED, Build, Server
from tests.postgres.wrap import move_next_to_wrap
from tools.frozen.listing import COPIES

pytestmark = pytest.mark.servers
CASES, RELATIONS = 8, 8


def by_psql(server: Server, folder: Path) -> dict[str, Any]:
    """The two queries of the help, in psql, word by word."""
    psql = shutil.which("psql")
    assert psql is not None
    options = [option for query in COPIES for option in ("-c", query)]
    command = [psql, "-X", "-q", "-h", str(server.base), "-U", "postgres", "-d", "postgres", *options]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    text = said("--classes", str(folder / "classes.csv"), "--databases", str(folder / "databases.csv"), "--json")[1]
    return dict(json.loads(text))


@pytest.mark.parametrize("at_wrap", [False, True], ids=["young", "at the wrap"])
@pytest.mark.parametrize("build", [EMBEDDED[13], EMBEDDED[18]], ids=lambda build: build.label)
def test_the_server_does_what_is_foreseen(build: Build, at_wrap: bool, tmp_path: Path) -> None:
    rng, gave_up = Random(build.major), 0
    with Server(build, settings=SETTINGS) as server:
        if at_wrap:
            move_next_to_wrap(server, 2000)
        database = Database(server, RELATIONS)
        for case in range(CASES):
            next_ids = database.next_ids()
            rows = [row(rng, next_ids, fault=case % 4 == 0) for _ in range(RELATIONS)]
            database.write(rows, stored(rng, next_ids, rows))
            status, text = said("--connect", f"host={server.base} user=postgres dbname=postgres", "--json")
            answer, listed = json.loads(text), by_psql(server, tmp_path)
            assert {**answer, "start": None} == {**listed, "start": None}
            before = database.stored()
            assert answer["stored"] == list(before)
            assert (answer["database"], status) == (
                "postgres",
                int(answer["future"] is not None or answer["warnings"] != []),
            )
            _, after_ids = database.update()
            assert Pair(*answer["after"]) == database.stored()
            assert 0 <= (after_ids.xid - answer["next_ids"][0]) % 2**32 < 20
            gave_up += answer["future"] is not None
    assert 0 < gave_up < CASES


def test_a_server_that_cannot_be_reached(tmp_path: Path) -> None:
    status, text = said("--connect", f"host={tmp_path} dbname=postgres")
    assert (status, "the server says: " in text) == (2, True), text
