# SPDX-License-Identifier: PostgreSQL
"""`pgquern advise` on what a real cluster's recovery replayed, as pg_waldump lists it, and on its damaged and foreign
files. What it counts is held against pg_stat_recovery_prefetch after that recovery."""

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ref.prefetch import MAIN_FORK
from tests.postgres.server import DEBIAN, EMBEDDED
from tools.advise.device import CPU
from tools.pgquern.__main__ import main
from tools.trace.listing import Replay
from tools.trace.record import Recorded, crashed, record, why_no_strace

BUILDS = {build.label: build for build in (DEBIAN, EMBEDDED[18])}
CONCURRENCY = 10
UPDATES, ROWS = 100, 5000

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module", params=BUILDS)
def recovery(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Its WAL segments lie beside the listing."""
    if reason := why_no_strace():
        pytest.skip(reason)
    into = tmp_path_factory.mktemp("recovery")
    with crashed(BUILDS[request.param], UPDATES, ROWS) as crash:
        run = record(crash, [CONCURRENCY], into / "recorded")
        segment = min(path for path in (crash.data / "pg_wal").iterdir() if path.is_file())
        (into / "recorded" / "segment").write_bytes(segment.read_bytes())
        (into / "recorded" / "pg_control").write_bytes((crash.data / "global" / "pg_control").read_bytes())
    return run


@pytest.fixture
def at_once(recovery: Recorded, tmp_path: Path) -> Path:
    """The listing, with all commits at the same time: at a recovery's start all WAL is there. With the times that it
    has, on a machine that was slow to write it, WAL comes in the course of seconds."""
    listing = tmp_path / "at once"
    text, commits = re.subn(r"(?<=COMMIT )\d{4}-\S+ [\d:.]+", "2026-11-01 12:00:00.5", recovery.listing.read_text())
    assert commits > 50
    listing.write_text(text)
    return listing


def advised(listing: Path, *words: str) -> dict[str, Any]:
    done = CliRunner().invoke(main, ["advise", str(listing), *words, "--json"], catch_exceptions=False)
    assert (done.exit_code, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_it_counts_as_the_server_did(recovery: Recorded, at_once: Path) -> None:
    """The server reads its last record once more. It knows how long files are, so what it skips as new may be a page
    of any other sort here; what a record has an image of, or initialises, needs no file to tell."""
    found = advised(at_once, "--buffers", str(recovery.buffers))
    records, counters = recovery.records(), recovery.counters
    assert found["records"] == len(records)
    assert found["guessed_records"] == found["wal_seconds"] == 0
    by_concurrency = {row["concurrency"]: row for row in found["concurrencies"]}
    row = by_concurrency[CONCURRENCY]
    again = [reference for reference in records[-1].record.blocks if reference.fork == MAIN_FORK]
    assert sum(row[name] for name in counters) == sum(counters.values()) - len(again) > 150
    assert (row["skip_init"], row["skip_fpw"]) == (counters["skip_init"], counters["skip_fpw"])
    assert row["skip_init"] > 0
    fewer_new = counters["skip_new"] - row["skip_new"]
    assert fewer_new >= 0
    assert abs(row["prefetch"] - counters["prefetch"]) <= 2 * (fewer_new + len(again)) < counters["prefetch"]


def test_more_at_once_is_sooner(recovery: Recorded, at_once: Path) -> None:
    """Without look-ahead each page that is read takes an I/O's time, here of 1 ms."""
    found = advised(at_once, "--buffers", str(recovery.buffers), "--service", "1000", "--channels", "256")
    rows = found["concurrencies"]
    assert [row["prefetch"] > 0 for row in rows] == [row["concurrency"] > 0 for row in rows]
    pages = {
        (reference.relation, reference.block)
        for listed in recovery.records()
        for reference, replay in zip(listed.record.blocks, listed.replays, strict=True)
        if reference.fork == MAIN_FORK and replay is Replay.READ
    }
    seconds = {row["concurrency"]: row["seconds"] for row in rows}
    assert 0.7e-3 * len(pages) < seconds[0] - CPU * found["records"] < 1.1e-3 * len(pages)
    assert seconds[0] > 1.3 * seconds[2]
    assert seconds[2] > 1.3 * seconds[16]
    assert seconds[16] > seconds[64]
    assert [row["speed_up"] for row in rows] == [seconds[0] / row["seconds"] for row in rows]


def test_wal_that_comes_in_time_is_not_read_before(recovery: Recorded, tmp_path: Path) -> None:
    """A commit a second: no concurrency replays it sooner than it comes."""
    listing, number = tmp_path / "in time", iter(range(10**6))
    text = re.sub(
        r"(?<=COMMIT )\d{4}-\S+ [\d:.]+",
        lambda _: f"{datetime(2026, 11, 1) + timedelta(seconds=next(number)):%Y-%m-%d %H:%M:%S.0}",
        recovery.listing.read_text(),
    )
    listing.write_text(text)
    found = advised(listing)
    assert found["wal_seconds"] == next(number) - 1 > 50
    assert all(row["seconds"] >= found["wal_seconds"] for row in found["concurrencies"])
    assert all(row["last_lag_seconds"] <= row["highest_lag_seconds"] < 1 for row in found["concurrencies"])


def cut_off(run: Recorded) -> str:
    return run.listing.read_text()[:-40]


def lacks_a_record(run: Recorded) -> str:
    lines = run.listing.read_text().splitlines(True)
    return "".join(lines[: len(lines) // 2] + lines[len(lines) // 2 + 1 :])


def garbled(run: Recorded) -> str:
    return run.listing.read_text().replace("blkref #0: rel ", "blkref #0: rel x", 1)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (cut_off, "the last line is cut off"),
        (lacks_a_record, "records are missing"),
        (garbled, "a reference to a block is garbled"),
    ],
)
def test_a_damaged_listing(recovery: Recorded, tmp_path: Path, damage: Callable[[Recorded], str], says: str) -> None:
    listing = tmp_path / "listing"
    listing.write_text(damage(recovery))
    refused(listing, says)


def test_another_file_of_the_cluster_or_the_recording(recovery: Recorded) -> None:
    folder = recovery.listing.parent
    strace = max(recovery.trace.iterdir(), key=lambda path: path.stat().st_size)
    for path in (folder / "segment", folder / "pg_control", strace):
        refused(path, "is not a record as pg_waldump prints it")
    refused(folder / "segment", "Give what pg_waldump prints of it")
    refused(recovery.trace, "is a directory")


def refused(path: Path, says: str) -> None:
    for words in ((), ("--json",)):
        done = CliRunner().invoke(main, ["advise", str(path), *words], catch_exceptions=False)
        assert (done.exit_code, done.stdout) == (2, ""), done.output
        assert says in done.stderr
        assert str(path) in done.stderr
