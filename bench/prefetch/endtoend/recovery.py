# SPDX-License-Identifier: PostgreSQL
"""Crash recoveries of a real server that start with a cold cache, at each maintenance_io_concurrency.

    python -m bench.prefetch.endtoend.recovery [--rounds 3] [--build 18] [--updates 40000]

One crash is recovered again and again, from a fresh copy. All files of the copy leave the kernel's page cache before;
the kernel is asked whether they have. What lies below the kernel, such as the cache of a virtual machine's host,
is not emptied, so the device may be faster than a disk. The time is that of redo, as the server's log says. Each round
runs all concurrencies, and begins with another one. All recoveries must end with the same table.

Beside it the same accesses are simulated: a record takes the CPU that it takes with all files cached, and a block what
the server took for it without prefetching.
"""

import mmap
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click
from rich.table import Table

from ref.prefetch import BlockReference, Record, Relation
from tests.postgres.server import BUILDS, Build, Server
from tools.advise.device import Device, Page, Recovery, simulate
from tools.common import progress, results
from tools.common.page_cache import cached_pages

STEM = "prefetch"
CONCURRENCIES = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)
BLOCKS, BLOCK_SIZE = 22_000, 8192
ROWS_PER_BLOCK = 4
STRIDE = 50_077
"""Update i is of row i * STRIDE, modulo all rows: each row once, and no block near the one before."""
CHANNELS = 64
"""I/Os that the simulated device serves at once."""
SETTINGS: dict[str, str | int] = {
    "shared_buffers": "400MB",  # all blocks: what is measured is reads alone
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "checkpoint_timeout": "1d",
    "max_wal_size": "10GB",
    "log_line_prefix": "",
}
LOAD = (
    "CREATE TABLE t (v int, filler text) WITH (fillfactor = 50)",
    "ALTER TABLE t ALTER filler SET STORAGE PLAIN",
    f"INSERT INTO t SELECT 0, repeat('x', 880) FROM generate_series(1, {BLOCKS * ROWS_PER_BLOCK})",
    "VACUUM FREEZE t",
    "CHECKPOINT",
)
UPDATES = f"""DO $$ DECLARE s int; BEGIN FOR i IN 1..{{updates}} LOOP
  s := i::bigint * {STRIDE} % {BLOCKS * ROWS_PER_BLOCK};
  UPDATE t SET v = 1 WHERE ctid = format('(%s,%s)', s / {ROWS_PER_BLOCK}, s % {ROWS_PER_BLOCK} + 1)::tid;
END LOOP; END $$"""


@dataclass(frozen=True)
class Replay:
    """One recovery: seconds of redo, blocks advised, the part of a sample of blocks that was still in the cache."""

    seconds: float
    advised: int
    cached: float
    total: int


@contextmanager
def crashed(build: Build, updates: int) -> Iterator[Path]:
    """The data directory of a server that was stopped at once, after updates of random blocks."""
    with Server(build, settings=SETTINGS) as server:
        with server.connect() as session:
            for statement in (*LOAD, UPDATES.format(updates=updates)):
                session.execute(statement.encode())
            session.execute("SET synchronous_commit = on")
            session.execute("UPDATE t SET v = v WHERE ctid = '(0,1)'")
        server.stop("immediate")
        yield server.data


def make_cold(data: Path) -> float:
    """Bring all files to the device and out of the kernel's cache; the part of their pages that stayed."""
    cached = pages = 0
    for path in data.rglob("*"):
        if not path.is_file() or path.stat().st_size == 0:
            continue
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        cached += cached_pages(fd)
        pages += -(-path.stat().st_size // mmap.PAGESIZE)
        os.close(fd)
    return cached / pages


def recover(build: Build, data: Path, concurrency: int, *, cold: bool = True) -> Replay:
    """Recover a copy, which the kernel has just written: unless it is made cold, all of it is cached."""
    settings = {**SETTINGS, "maintenance_io_concurrency": concurrency}
    with Server(build, settings=settings, template=data, start_now=False) as server:
        cached = make_cold(server.data) if cold else 1.0
        server.start()
        elapsed = re.search(r"redo done at .* elapsed: ([\d.]+) s", server.log_text())
        if elapsed is None:
            raise ValueError(f"the log tells of no redo:\n{server.log_tail()}")
        ((advised,),) = server.execute("SELECT prefetch FROM pg_stat_recovery_prefetch")
        ((total,),) = server.execute("SELECT sum(v) FROM t")
        server.stop("immediate")
    return Replay(float(elapsed[1]), int(advised), cached, int(total))


def simulated(updates: int, without: float, warm: float) -> dict[int, float]:
    """Seconds of the same accesses, simulated. without, warm: the server's without prefetching, cold and cached."""
    relation = Relation(1663, 5, 16384)
    blocks = [(i + 1) * STRIDE % (BLOCKS * ROWS_PER_BLOCK) // ROWS_PER_BLOCK for i in range(updates)]
    records = [Record(i + 1, i + 2, (BlockReference(relation, block),)) for i, block in enumerate(blocks)]
    found = {}
    for concurrency in CONCURRENCIES:
        loaded: set[Page] = set()

        def reads(record: Record, loaded: set[Page] = loaded) -> Sequence[Page]:
            pages = {(reference.relation, reference.block) for reference in record.blocks} - loaded
            loaded.update(pages)
            return list(pages)

        device = Device(CHANNELS, (without - warm) / len(set(blocks)))
        recovery = Recovery(records, [0.0] * updates, device, loaded.__contains__, reads=reads, cpu=warm / updates)
        simulate(recovery, concurrency)
        found[concurrency] = recovery.now
    return found


def spread(values: Sequence[float]) -> dict[str, float]:
    return {"median": median(values), "low": min(values), "high": max(values)}


def measure(build: Build, updates: int, rounds: int) -> tuple[dict[int, list[Replay]], list[Replay]]:
    """All rounds, by concurrency; and those with all files cached, without prefetching."""
    warm = []
    found: dict[int, list[Replay]] = {concurrency: [] for concurrency in CONCURRENCIES}
    with progress.bar(progress.console()) as bar, crashed(build, updates) as data:
        task = bar.add_task("recoveries", total=rounds * len(CONCURRENCIES))
        with tempfile.TemporaryDirectory(prefix="pgquern-", dir="/tmp") as folder:
            kept = shutil.copytree(data, Path(folder) / "data", symlinks=True)
            for turn in range(rounds):
                warm.append(recover(build, kept, 0, cold=False))
                for concurrency in CONCURRENCIES[turn:] + CONCURRENCIES[:turn]:
                    found[concurrency].append(recover(build, kept, concurrency))
                    bar.advance(task)
    return found, warm


def items_of(found: dict[int, list[Replay]], model: dict[int, float]) -> list[dict[str, Any]]:
    total = found[0][0].total
    without = median(replay.seconds for replay in found[0])
    return [
        {
            "name": f"concurrency {concurrency}",
            "status": "passed" if all(replay.total == total for replay in replays) else "failed",
            "concurrency": concurrency,
            "redo": spread([replay.seconds for replay in replays]),
            "speedup": without / median(replay.seconds for replay in replays),
            "simulated": model[concurrency],
            "advised": replays[0].advised,
            "cached": max(replay.cached for replay in replays),
        }
        for concurrency, replays in found.items()
    ]


def show(items: Sequence[dict[str, Any]]) -> None:
    table = Table("concurrency", "redo, s", "low", "high", "speed-up", "simulated, s", "advised", "still cached")
    for item in items:
        redo = item["redo"]
        table.add_row(
            str(item["concurrency"]), *(f"{redo[key]:.2f}" for key in ("median", "low", "high")),
            f"{item['speedup']:.2f}", f"{item['simulated']:.2f}", f"{item['advised']:,}", f"{item['cached']:.0%}",
        )  # fmt: skip
    progress.console().print(table)


@click.command(help=__doc__)
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--build", "label", default="18", show_default=True, type=click.Choice([b.label for b in BUILDS if b.major >= 15])
)
@click.option("--updates", default=40_000, show_default=True, type=click.IntRange(min=1))
def main(rounds: int, label: str, updates: int) -> None:
    """Measure, simulate, and write build/results/recovery/prefetch.json."""
    began = time.monotonic()
    build = next(build for build in BUILDS if build.label == label)
    found, cached = measure(build, updates, rounds)
    warm = median(replay.seconds for replay in cached)
    items = items_of(found, simulated(updates, median(replay.seconds for replay in found[0]), warm))
    best = max(items, key=lambda item: float(item["speedup"]))
    show(items)
    progress.console().print(f"with all files cached, without prefetching: {warm:.2f} s")
    results.write(
        "recovery",
        STEM,
        items,
        says=f"cold recovery of {label} up to {best['speedup']:.1f}x as fast, at concurrency {best['concurrency']}",
        tools={f"PostgreSQL {label}": build.version()},
        seconds=time.monotonic() - began,
        updates=updates,
        blocks=BLOCKS,
        rounds=rounds,
        warm=warm,
        channels=CHANNELS,
    )
    raise SystemExit(any(item["status"] == "failed" for item in items))


if __name__ == "__main__":
    main()
