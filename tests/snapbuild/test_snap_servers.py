# SPDX-License-Identifier: PostgreSQL
"""`pgquern snap` on the files of real servers: each major's, what 18 itself says of them, and those of the finding."""

from pathlib import Path

import pytest

from tests.postgres.server import EMBEDDED, Build, Server
from tests.snapbuild.decoding import Purge as SeenPurge
from tests.snapbuild.decoding import decode, events, read_snap, run_relay, run_workload
from tests.snapbuild.test_snap import found, said, write
from tests.snapbuild.test_stale_xmax import observe

pytestmark = pytest.mark.servers
SETTINGS: dict[str, str | int] = {"wal_level": "logical"}
per_build = pytest.mark.parametrize("build", EMBEDDED.values(), ids=lambda build: build.label)


@per_build
def test_the_files_of_each_major(build: Build) -> None:
    """Sound; and the purge by the xmin that the server tells keeps as many as the server kept."""
    with Server(build, settings=SETTINGS) as server:
        run_workload(server, rounds=12, sessions=12, seed=4)
        purges = [event for event in events(decode(server)) if isinstance(event, SeenPurge) and event.snap]
        folder = server.data / "pg_logical" / "snapshots"
        status, text = said(folder)
        assert (status, "0 with a fault" in text) == (0, True), text
        assert len(purges) >= 10
        for purge in purges:
            assert purge.snap is not None
            answer = found(folder / purge.snap, "--xmin", str(purge.xmin))
            assert build.label in answer["majors"].split(" or ")
            assert (answer["fields"]["committed.xcnt"], answer["fields"]["xmax"]) == (purge.before, purge.xmax)
            assert len(answer["kept"]["committed.xip"]) == purge.after
            if build.major == 18:
                seen = read_snap(server, purge.snap, purge.before)
                assert (answer["fields"]["xmin"], answer["fields"]["xmax"]) == (seen.xmin, seen.xmax)
                assert (answer["committed.xip"], answer["catchange.xip"]) == (seen.committed, seen.catchange)


@pytest.mark.parametrize("build", [EMBEDDED[16], EMBEDDED[18]], ids=lambda build: build.label)
def test_transactions_in_progress_that_changed_catalogs(build: Build) -> None:
    with Server(build, settings=SETTINGS) as server:
        relay = run_relay(server, across=False)
        answer = found(server.data / "pg_logical" / "snapshots" / relay.restored)
        assert answer["catchange.xip"] == list(relay.xids[:4])


@pytest.mark.parametrize("build", [EMBEDDED[13], EMBEDDED[18]], ids=lambda build: build.label)
def test_the_finding_is_told_from_its_files(build: Build, tmp_path: Path) -> None:
    """Decoding lost a column of the younger transaction: it is named, in those files alone that were written then."""
    seen = observe(build)
    answers = [found(write(tmp_path, content, name)) for name, content in seen.snaps.items()]
    assert [answer["damaged"] for answer in answers] == [[]] * len(answers)
    lost = [answer for answer in answers if answer["invisible"]]
    assert lost
    for answer in lost:
        assert answer["invisible"] == [seen.far.younger]
        assert answer["fields"]["xmax"] == seen.far.older + 1


@per_build
def test_which_slot_keeps_the_files(build: Build) -> None:
    """As pg_replication_slots has it, after a checkpoint of the stopped server."""
    with Server(build, settings=SETTINGS) as server:
        run_workload(server, rounds=6, sessions=6, seed=4)
        decode(server)
        server.execute("SELECT pg_create_logical_replication_slot('younger', 'pgoutput')")
        server.execute("CHECKPOINT")
        query = "SELECT slot_name, restart_lsn::text FROM pg_replication_slots ORDER BY restart_lsn"
        (older, at), *_ = server.execute(query)
        text = said(server.data / "pg_logical" / "snapshots")[1]
        assert f"KEPT by slot {older} " in text, text
        assert f"from its restart_lsn {at} on" in text
