# SPDX-License-Identifier: PostgreSQL
"""The checksums that real servers wrote, of every relation of a cluster: every variant gives the same."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pgquern.tornpage import Verdict, check, checksums, first_wrong, variants

from ref import tornpage as ref
from tests.common.tally import tally
from tests.postgres.server import EMBEDDED, Server

pytestmark = [pytest.mark.servers, pytest.mark.claim3]

BLCKSZ = 8192
SEGMENT = 131072
"""RELSEG_SIZE: blocks of a segment file."""
SETUP = (
    "CREATE TABLE t AS SELECT g AS id, repeat('x', g % 90) AS pad FROM generate_series(1, 20000) g",
    "CREATE INDEX ON t (id)",
    "CREATE INDEX ON t USING hash (id)",
    "CREATE INDEX ON t USING brin (id)",
    "UPDATE t SET pad = pad || 'y' WHERE id % 7 = 0",
    "VACUUM t",
    "CREATE SEQUENCE s",
    "CHECKPOINT",
)


def relation_files(data: Path) -> Iterator[tuple[Path, int]]:
    """Each file of relation pages, and the number of its first block. pg_control and others have no pages."""
    for path in sorted(data.glob("base/*/*")) + sorted(data.glob("global/*")):
        number, _, segment = path.name.partition(".")
        if number.split("_")[0].isdigit():
            yield path, int(segment or 0) * SEGMENT


def stored(pages: bytes) -> list[int]:
    """pd_checksum of each page."""
    return [int.from_bytes(pages[at + 8 : at + 10], "little") for at in range(0, len(pages), BLCKSZ)]


@pytest.mark.parametrize("major", EMBEDDED)
def test_checksums_of_a_cluster(major: int) -> None:
    """Equal on each page that is not new; and the check finds exactly the page in which one bit is changed."""
    with Server(EMBEDDED[major], initdb=["--data-checksums"]) as server:
        for statement in SETUP:
            server.execute(statement)
        server.stop()
        compared = 0
        for path, first in relation_files(server.data):
            pages = path.read_bytes()
            verdicts = check(pages, first_block=first)
            assert set(verdicts) <= {Verdict.SOUND, Verdict.NEW}, path
            assert [int(v) for v in verdicts] == [int(v) for v in ref.verdicts(pages, BLCKSZ, first)]
            for variant in variants():
                if variant.supported:
                    found = checksums(pages, first_block=first, variant=variant.name)
                    for checksum, wrote, verdict in zip(found, stored(pages), verdicts, strict=True):
                        assert verdict is Verdict.NEW or checksum == wrote, (path, variant.name)
            compared += sum(verdict is Verdict.SOUND for verdict in verdicts)
            if verdicts and verdicts[-1] is Verdict.SOUND:
                damaged = bytearray(pages)
                damaged[-100] ^= 1
                assert first_wrong(damaged, first_block=first) == first + len(verdicts) - 1
        assert compared > 900
        tally("tornpage", "pages of real servers", compared)
