# SPDX-License-Identifier: PostgreSQL
"""Real servers that crash in the middle of writing a block, of which a subset of the sectors reaches the file.

With full_page_writes recovery restores the block. Without, the torn block is there to stay: the server refuses it by
its checksum, and so does our check. The tearing is extensions/tear.c.
"""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from pgquern.tornpage import Verdict, check

from tests.common.tally import tally
from tests.postgres.server import EMBEDDED, Server, ServerError, extension, wait_for

pytestmark = pytest.mark.servers

BLOCK = 1
ROWS = "SELECT id, pad FROM t ORDER BY id"
SUBSETS = {0: "nothing", 1: "the first sector", 2: "the second sector", 3: "all"}


@pytest.fixture(params=[15, 18])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with Server(EMBEDDED[request.param], initdb=["--data-checksums"]) as server:
        yield server


def torn(server: Server, keep: int, full_page_writes: str) -> list[tuple[object, ...]]:
    """Change rows in both sectors of a block, and crash when a checkpoint writes it. Returns the rows committed."""
    server.execute("CREATE TABLE t AS SELECT g AS id, repeat('x', 100) AS pad FROM generate_series(1, 300) g")
    server.execute("CHECKPOINT")
    path = server.data_file("t")
    server.stop()
    arm = server.base / "arm"
    server.environment = {
        "LD_PRELOAD": str(server.put(extension("tear", server.build.major))),
        "PGQUERN_TEAR": f"/{path.parent.name}/{path.name} {BLOCK} {keep} {arm}",
    }
    server.configure({"full_page_writes": full_page_writes, "restart_after_crash": "off", "bgwriter_lru_maxpages": 0})
    server.start()
    server.execute("DELETE FROM t WHERE id % 3 = 0")
    rows = server.execute(ROWS)
    server.put(path, "arm")
    with pytest.raises(psycopg.OperationalError):
        server.execute("CHECKPOINT")
    wait_for(lambda: not server.running, "the crash")
    assert f"block {BLOCK} of" in server.log_text()
    arm.unlink()
    server.environment = {}
    wait_for(lambda: not shared_memory_in_use(server), "the server's other processes")
    return rows


def shared_memory_in_use(server: Server) -> bool:
    """Whether a process of the crashed server still runs, by its working directory."""

    def cwd(process: Path) -> str:
        try:
            return str((process / "cwd").readlink())
        except OSError:
            return ""

    return any(cwd(process) == str(server.data) for process in Path("/proc").glob("[0-9]*"))


def wrong_blocks(path: Path) -> list[int]:
    return [block for block, verdict in enumerate(check(path.read_bytes())) if verdict >= Verdict.CHECKSUM]


@pytest.mark.parametrize("keep", SUBSETS, ids=SUBSETS.values())
def test_full_page_writes_restore(server: Server, keep: int) -> None:
    rows = torn(server, keep, "on")
    (path,) = server.data.glob("base/*/" + server.log_text().split("block 1 of ")[1].split()[0].split("/")[-1])
    assert wrong_blocks(path) == ([BLOCK] if keep in (1, 2) else [])
    server.start()
    assert server.execute(ROWS) == rows
    server.stop()
    assert wrong_blocks(path) == []
    tally("tornpage", "crashes of real servers")


def start_and_read(server: Server) -> None:
    server.start()
    server.execute(ROWS)


@pytest.mark.parametrize("keep", SUBSETS, ids=SUBSETS.values())
def test_without_them_the_checksum_detects(server: Server, keep: int) -> None:
    rows = torn(server, keep, "off")
    (path,) = server.data.glob("base/*/" + server.log_text().split("block 1 of ")[1].split()[0].split("/")[-1])
    if keep in (0, 3):
        server.start()
        assert server.execute(ROWS) == rows
    else:
        assert wrong_blocks(path) == [BLOCK]
        with pytest.raises((ServerError, psycopg.Error)):
            start_and_read(server)
        assert "page verification failed" in server.log_text()
        assert wrong_blocks(path) == [BLOCK]
    tally("tornpage", "crashes of real servers")
