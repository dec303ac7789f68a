# SPDX-License-Identifier: PostgreSQL
"""`advise`: its simulated device, and the advice for a WAL. No clock is involved."""

from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from ref.prefetch import BlockReference, Record, Relation
from tests.prefetch.test_trace import line, listing_of
from tools.advise.__main__ import CONCURRENCIES, arrivals, main, try_concurrency
from tools.advise.device import Device, Recovery, simulate
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
