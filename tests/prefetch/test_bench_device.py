# SPDX-License-Identifier: PostgreSQL
"""The simulated device, and the advice for a WAL. No clock is involved."""

import mmap
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.prefetch.endtoend.recovery import BLOCK_SIZE, Replay, items_of, make_cold, simulated
from bench.prefetch.report import context, figures
from ref.prefetch import BlockReference, Record, Relation
from tests.prefetch.test_trace import line, listing_of
from tools.advise.__main__ import CONCURRENCIES, arrivals, main, try_concurrency
from tools.advise.device import Device, Recovery, simulate
from tools.common.page_cache import cached_pages
from tools.common.results import Result
from tools.trace.listing import read_listing

RELATION = Relation(1663, 5, 16384)


def test_a_device_serves_so_many_at_once() -> None:
    device = Device(2, 1.0, spread=0.0)
    assert [device.submit(0.0) for _ in range(5)] == [1.0, 1.0, 2.0, 2.0, 3.0]
    assert device.submit(10.0) == 11.0
    for wrong in ({"channels": 0}, {"service": 0.0}, {"spread": 1.0}):
        with pytest.raises(ValueError, match="a device needs"):
            Device(**{"channels": 1, "service": 1.0, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("concurrency", [0, 1, 4, 16])
def test_throughput_is_that_of_the_window(concurrency: int) -> None:
    """With n I/Os in flight, n cold blocks are read in the time of one."""
    records = [Record(i + 1, i + 2, (BlockReference(RELATION, i),) if i else ()) for i in range(401)]
    recovery = Recovery(records, [0.0] * len(records), Device(64, 0.01, spread=0.0))
    simulate(recovery, concurrency)
    assert recovery.now == pytest.approx(400 * 0.01 / max(concurrency, 1), rel=0.1)


def test_records_are_not_replayed_before_they_arrive() -> None:
    records = [Record(i + 1, i + 2) for i in range(10)]
    recovery = Recovery(records, [i / 12 for i in range(10)], Device(1, 0.01))
    samples, _ = simulate(recovery, 10)
    assert all(sample.lag >= 0 for sample in samples)
    assert samples[-1].time >= 9 / 12


# ---- advice for a WAL ----------------------------------------------------------------------------


def test_each_concurrency_has_a_row(tmp_path: Path) -> None:
    wal, picture = tmp_path / "wal", tmp_path / "advise.png"
    wal.write_text(listing_of(300))
    run = CliRunner().invoke(main, ["--wal", str(wal), "--picture", str(picture)])
    assert run.exit_code == 0, run.output
    assert "301 records, 300 references to blocks, all WAL there from the start" in run.output
    assert all(f"\n│{concurrency:>12}".replace(" ", "") in run.output.replace(" ", "") for concurrency in CONCURRENCIES)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_more_in_flight_is_never_slower_and_counts_what_the_oracle_counts(tmp_path: Path) -> None:
    wal = tmp_path / "wal"
    wal.write_text(listing_of(300))
    records = read_listing(wal)
    outcomes = [try_concurrency(records, [0.0] * 301, n, Device(64, 1e-4, spread=0.0), 999) for n in CONCURRENCIES]
    seconds = [outcome.seconds for outcome in outcomes]
    assert all(b <= a * 1.03 for a, b in pairwise(seconds))
    assert seconds[0] > 3 * seconds[-1]
    assert outcomes[0].counters["prefetch"] == 0
    assert all(outcome.counters["prefetch"] == 300 for outcome in outcomes[1:])


def test_a_small_pool_evicts(tmp_path: Path) -> None:
    update = "HOT_UPDATE off 1, blkref #0: rel 1663/5/16384 blk {}"
    blocks = [k % 50 for k in range(300)]
    wal = tmp_path / "wal"
    wal.write_text("".join(line(16 + k, "Heap", update.format(block)) + "\n" for k, block in enumerate(blocks)))
    records = read_listing(wal)
    cold = [try_concurrency(records, [0.0] * 300, 4, Device(8, 1e-4), n).counters["prefetch"] for n in (10, 50)]
    assert cold == [300, 50]


def test_a_record_that_tells_too_little_is_counted_and_not_refused(tmp_path: Path) -> None:
    wal = tmp_path / "wal"
    unknown = line(29, "SPGist", "PICKSPLIT ndelete: 9, blkref #0: rel 1663/5/16384 blk 4000") + "\n"
    wal.write_text(listing_of(12) + unknown)
    run = CliRunner().invoke(main, ["--wal", str(wal)])
    assert run.exit_code == 0, run.output
    assert "1 records (SPGist PICKSPLIT) do not tell which of their blocks they initialise" in run.output


def test_wal_arrives_as_its_commits_say(tmp_path: Path) -> None:
    wal = tmp_path / "wal"
    stamps = ["2026-11-22 07:00:00.5 UTC", "2026-11-22 07:00:02.5 UTC", "2026-11-22 07:00:04.5 UTC"]
    texts = [line(16 + k, "Transaction", f"COMMIT {stamps[k // 2]}") if k % 2 == 0 else line(16 + k) for k in range(6)]
    wal.write_text("\n".join(texts) + "\n")
    assert arrivals(read_listing(wal)) == [0.0, 1.0, 2.0, 3.0, 4.0, 4.0]
    assert arrivals(read_listing(wal)[:1]) == [0.0]


def test_a_broken_listing_is_refused(tmp_path: Path) -> None:
    wal = tmp_path / "wal"
    wal.write_text("nothing of the sort\n")
    run = CliRunner().invoke(main, ["--wal", str(wal)])
    assert run.exit_code == 2
    assert "is not a record" in run.output


# ---- cold recoveries ---------------------------------------------------------------------------------


def test_the_simulated_recovery_lies_between_what_the_server_took() -> None:
    seconds = list(simulated(2000, 2.0, 0.2).values())
    assert seconds[0] == pytest.approx(2.0, rel=0.05)
    assert seconds[1:] == sorted(seconds[1:], reverse=True)
    assert 0.2 < seconds[-1] < 0.4


def test_the_kernel_says_what_it_has_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("w+b") as file:
        file.truncate(BLOCK_SIZE * 200)
        assert cached_pages(file.fileno()) == 0
        file.seek(BLOCK_SIZE * 7)
        file.write(bytes(BLOCK_SIZE))
        file.flush()
        assert 0 < cached_pages(file.fileno()) < BLOCK_SIZE * 200 // mmap.PAGESIZE
        (tmp_path / "empty").touch()
        stayed = make_cold(tmp_path)
        assert stayed == cached_pages(file.fileno()) / (BLOCK_SIZE * 200 / mmap.PAGESIZE)
        if stayed:
            pytest.skip("this file system keeps what is in memory")


def test_the_report_shows_each_concurrency() -> None:
    found = {n: [Replay(2.0 / (n + 1), n, 0.0, 7), Replay(2.2 / (n + 1), n, 0.0, 7)] for n in (0, 1)}
    items = items_of(found, {0: 2.0, 1: 1.0})
    assert [item["status"] for item in items] == ["passed", "passed"]
    assert items[1]["speedup"] == pytest.approx(2)
    found[1][1] = Replay(1.0, 1, 0.0, 8)
    assert items_of(found, {0: 2.0, 1: 1.0})[1]["status"] == "failed", "another table"
    result = Result.model_validate(
        dict.fromkeys(("says", "commit", "cpu", "cpu_level"), "") | {"layer": "recovery", "stem": "prefetch"}
        | {"finished": "2026-01-01T00:00:00Z", "seconds": 1, "tools": {"PostgreSQL 18": "18.6"}, "items": items}
        | {"updates": 10, "rounds": 2, "warm": 0.1, "channels": 64}
    )  # fmt: skip
    assert "<svg" in context([result])["picture"]
    assert "| 1 | 1.05 | 1.00 | 1.10 | 2.00 | 1.00 |" in figures([result])
