# SPDX-License-Identifier: PostgreSQL
"""`pgquern look` on the files of real servers: what it foresees is what the server then does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ref import page as heap
from ref.compaction import VERSIONS, page_repair_fragmentation
from tests.compaction.heap import Pruned, pruned_pages
from tests.compaction.test_look import found, free, looked
from tests.postgres.server import EMBEDDED, Server
from tools.look import hinted

pytestmark = pytest.mark.servers
INDEXES = {"btree": "B-tree", "hash": "hash", "gist": "GiST", "spgist": "SP-GiST", "brin": "BRIN"}


@pytest.fixture(scope="module", params=[13, 18])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with Server(EMBEDDED[request.param]) as started:
        yield started


@pytest.fixture(scope="module")
def pages(server: Server) -> list[Pruned]:
    return pruned_pages(server, "narrow")


def test_what_a_prune_left_to_compaction(server: Server, pages: list[Pruned], tmp_path: Path) -> None:
    """The free space foreseen is that which the server's own compaction made."""
    path = tmp_path / "16384"
    path.write_bytes(b"".join(page.decided for page in pages))
    said = found(path, "--major", str(server.build.major))
    assert [line["free_after"] for line in said["page"]] == [free(page.after) for page in pages]
    assert said["gain"] > 100 * len(pages)
    assert said["speed"]["as_they_lie"]["pages"] == len(pages)


def test_dead_by_hint_bits_is_what_the_server_pruned(server: Server, pages: list[Pruned]) -> None:
    """No snapshot was left when it did, and all hint bits were set."""
    order, truncate = VERSIONS[server.build.major]
    for page in pages:
        decided = hinted.pruned(page.before)
        after = page_repair_fragmentation(decided, order=order, truncate=truncate)
        assert heap.line_pointers(after) == heap.line_pointers(page.after)


def test_a_table_where_it_lies(server: Server, pages: list[Pruned]) -> None:
    """Of its cluster's version; sound, and a server has compacted its pages already."""
    del pages  # the table is there
    path = server.data_file("narrow")
    status, said = looked(path)
    assert status == 0
    assert f"as PostgreSQL {server.build.major} compacts them (as PG_VERSION says)" in said
    assert found(path)["gain"] == 0


def test_what_is_no_heap(server: Server) -> None:
    server.execute("CREATE TABLE t AS SELECT g AS id, point(g, g) AS p FROM generate_series(1, 3000) g")
    server.execute("CREATE SEQUENCE s")
    server.execute("CREATE INDEX t_gin ON t USING gin ((ARRAY[id]))")
    for method in INDEXES:
        server.execute(f"CREATE INDEX t_{method} ON t USING {method} ({'p' if 'gist' in method else 'id'})")
    server.execute("VACUUM t")
    server.execute("CHECKPOINT")
    files = {f"t_{method}": f"no heap, but a{'n' if name[0] == 'S' else ''} {name}" for method, name in INDEXES.items()}
    for relation, words in {**files, "t_gin": "no heap, but an index", "s": "no heap, but a sequence"}.items():
        status, said = looked(server.data_file(relation))
        assert (status, words in said) == (2, True), said
    table = server.data_file("t")
    for path in (
        table.with_name(f"{table.name}_fsm"),
        server.data / "global" / "pg_control",
        server.data / "PG_VERSION",
    ):
        assert looked(path)[0] == 2
    status, said = looked(table)
    assert (status, "3,000 tuples" in said) == (0, True), said


def test_what_keeps_space_and_a_prediction(server: Server) -> None:
    """pg_class's own file says the fillfactor; an update leaves a redirect, a failed insert dead tuples."""
    server.execute("CREATE TABLE kept (id int, v int) WITH (fillfactor = 40, autovacuum_enabled = off)")
    server.execute("INSERT INTO kept SELECT g, 0 FROM generate_series(1, 4000) g")
    server.execute("UPDATE kept SET v = 1")
    server.execute("VACUUM kept")
    insert = "INSERT INTO kept SELECT g, 0 FROM generate_series(1, 1000) g"
    server.execute(f"DO $$BEGIN {insert}; RAISE 'no'; EXCEPTION WHEN OTHERS THEN NULL; END$$")
    server.execute("SELECT count(*) FROM kept")  # it sets the hint bits
    server.execute("CHECKPOINT")
    status, said = looked(path := server.data_file("kept"))
    assert (status, "fillfactor 40 (as pg_class says of public.kept): of " in said) == (0, True), said
    document = found(path)
    assert f"HOT chains keep {4 * document['redirect']:,} bytes" in said
    assert document["redirect"] > 3000
    assert (document["kept"]["fillfactor"], document["hinted"]) == (40, 1000)
    assert f"of a VACUUM that prunes {document['pruning']['pages']:,} pages" in said
    assert document["pruning"]["pages"] > 5
