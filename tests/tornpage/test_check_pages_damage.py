# SPDX-License-Identifier: PostgreSQL
"""`pgquern check-pages` on files of real servers, of which bytes were changed while they were stopped."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from ref.page import line_pointers
from tests.page.rows import BLCKSZ, FAULTS, FROZEN, MIN_MULTI, NEXT, Rows, plain_tuples
from tests.postgres.server import EMBEDDED, Server, extension
from tests.tornpage.test_check_pages import checked, seal

pytestmark = pytest.mark.servers
BLOCK = 3
BURN = f"DO $$BEGIN WHILE txid_current() < {FROZEN - 1} LOOP COMMIT; END LOOP; END$$"


@pytest.fixture(scope="module", params=[14, 18])
def table(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Its file in a stopped cluster whose ids are such that each value of FAULTS is wrong."""
    with Server(EMBEDDED[request.param], initdb=["--data-checksums"]) as server:
        library = server.put(extension("multis", request.param))
        server.execute(f"CREATE FUNCTION take_multis(int) RETURNS int AS '{library}', 'take_multis' LANGUAGE C STRICT")
        server.execute(f"SELECT take_multis({MIN_MULTI})")
        server.execute(BURN)
        server.execute("CREATE TABLE t (a int, b int, c text, d int, e int)")
        server.execute("INSERT INTO t SELECT i, i, repeat('x', i % 60), i, i FROM generate_series(1, 1000) i")
        ((oldest, multi, next_xid),) = server.execute(
            "SELECT relfrozenxid::text::int, relminmxid::text::int, txid_current() FROM pg_class WHERE relname = 't'"
        )
        assert (oldest, multi >= MIN_MULTI, next_xid < NEXT) == (FROZEN, True, True)
        server.execute("CHECKPOINT")
        path = server.data_file("t")
        server.stop()
        yield path


def test_a_sound_table(table: Path) -> None:
    status, said = checked(table)
    assert (status, "this is public.t" in said) == (0, True), said


@pytest.mark.parametrize("words", FAULTS)
def test_a_damage_is_named(table: Path, words: str) -> None:
    """One row of one page, whose checksum is right; without that it is the checksum that is named."""
    whole = table.read_bytes()
    rows = Rows(bytearray(whole[BLOCK * BLCKSZ : (BLOCK + 1) * BLCKSZ]), BLOCK)
    rows.n = len(line_pointers(bytes(rows.page)))
    FAULTS[words](rows, Random(len(words)).choice(plain_tuples(rows)))
    try:
        for page, kind in ((seal(bytes(rows.page), BLCKSZ, BLOCK), "damaged rows"), (rows.page, "a wrong checksum")):
            table.write_bytes(whole[: BLOCK * BLCKSZ] + page + whole[(BLOCK + 1) * BLCKSZ :])
            status, said = checked(table)
            assert (status, f"1 with {kind}" in said, f"block {BLOCK}, byte" in said) == (1, True, True), said
            assert words in said, said
    finally:
        table.write_bytes(whole)
