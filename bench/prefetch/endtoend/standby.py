# SPDX-License-Identifier: PostgreSQL
"""The lag of a real standby on emulated cold storage, while maintenance_io_concurrency is changed.

    python -m bench.prefetch.endtoend.standby [--seconds 30] [--latency 10000] [--rate 1000]

A primary runs pgbench at a fixed rate. Its standby streams; each of its reads of a relation's block takes `latency`
microseconds, unless it was advised before (cold.c, loaded before the server's libc). The concurrency takes the values
of "Reducing replication lag with IO concurrency in Postgres 15": 0 as before 15, 10, 32, 24, 16, 10. The lag is how
long ago the primary was where the standby is. Both run on this machine, so the figures are those of the emulation: they
show what the concurrency does, and not what a device does.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from bench.prefetch.lag import Lag, draw
from tests.postgres.server import DEBIAN, Server, ServerError, as_server_user, wait_for
from tools.common import results
from tools.common.progress import console

STEPS = (0, 10, 32, 24, 16, 10)
SOURCE = Path(__file__).with_name("cold.c")
CONCURRENCY = "maintenance_io_concurrency"
SAMPLE = 0.5
COMMON: Mapping[str, str | int] = {
    "full_page_writes": "off",  # with images the first change of a page reads nothing
    "checkpoint_timeout": "1h",
    "max_wal_size": "10GB",
    "wal_keep_size": "4GB",
}


@dataclass(frozen=True)
class Sample:
    """Both in seconds; time since the first one."""

    time: float
    lag: float


@dataclass(frozen=True)
class Pair:
    primary: Server
    standby: Server
    settings: dict[str, str | int]

    def set(self, concurrency: int) -> None:
        self.standby.configure({**self.settings, CONCURRENCY: concurrency})
        os.kill(self.standby.pid, signal.SIGHUP)

    def where(self) -> tuple[int, int]:
        """The ends of WAL at the primary, and of what the standby has replayed."""
        ((written, replayed),) = self.primary.execute(
            "SELECT pg_current_wal_insert_lsn() - '0/0', replay_lsn - '0/0' FROM pg_stat_replication"
        )
        return int(written), int(replayed)


def pgbench(primary: Server, *words: str) -> list[str]:
    program = primary.build.bin / "pgbench"
    return [*as_server_user(), str(program), *words, "-h", str(primary.base), "-U", "postgres", "postgres"]


def build(folder: Path) -> Path:
    """The library that makes reads cold."""
    library = folder / "cold.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-D_GNU_SOURCE", SOURCE, "-o", library], check=True)
    return library


@contextmanager
def pair(latency: int, scale: int, buffers: str) -> Iterator[Pair]:
    """A primary with pgbench's tables, and a standby that streams. ServerError: one does not start."""
    with tempfile.TemporaryDirectory(prefix="pgquern-", dir="/tmp") as folder:
        copy = Path(folder) / "data"
        with Server(DEBIAN, settings={**COMMON, "shared_buffers": "1GB"}) as primary:
            subprocess.run(pgbench(primary, "-i", "-q", "-s", str(scale), "-F", "90"), check=True, capture_output=True)
            primary.stop()
            shutil.copytree(primary.data, copy, symlinks=True)
            primary.start()
            library = build(Path(folder))
            settings = {
                **COMMON,
                "shared_buffers": buffers,
                "primary_conninfo": f"host={primary.base} user=postgres",
                "wal_receiver_status_interval": "1s",
                CONCURRENCY: STEPS[0],
            }
            with Server(DEBIAN, settings=settings, template=copy, start_now=False) as standby:
                standby.write("standby.signal", "")
                loaded = standby.put(library)
                standby.environment = {"LD_PRELOAD": str(loaded), "COLD_MICROSECONDS": str(latency)}
                standby.start()
                streaming = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"
                wait_for(lambda: bool(primary.execute(streaming)), "the standby")
                yield Pair(primary, standby, settings)


def follow(pair: Pair, seconds: int) -> list[Sample]:
    """Each step for so many seconds."""
    found, times, ends, began = list[Sample](), list[float](), list[int](), time.monotonic()
    for step, concurrency in enumerate(STEPS, 1):
        pair.set(concurrency)
        while (at := time.monotonic() - began) < step * seconds:
            written, replayed = pair.where()
            times.append(at)
            ends.append(written)
            lag = at - times[min(bisect_left(ends, replayed), len(times) - 1)]
            found.append(Sample(at, lag))
            time.sleep(SAMPLE)
    return found


def told(samples: list[Sample], seconds: int) -> list[dict[str, Any]]:
    """The lag at the two ends of each step."""
    items = []
    for step, concurrency in enumerate(STEPS, 1):
        part = [sample.lag for sample in samples if (step - 1) * seconds <= sample.time < step * seconds]
        name = f"step {step}, concurrency {concurrency}"
        items.append({"name": name, "status": "passed", "first": part[0], "last": part[-1], "seconds": float(seconds)})
    return items


@click.command(help=__doc__)
@click.option("--seconds", default=30, show_default=True, type=click.IntRange(2), help="Of each step.")
@click.option("--latency", default=10_000, show_default=True, help="Of a cold read, in microseconds.")
@click.option("--rate", default=1000, show_default=True, help="Of pgbench, in transactions a second.")
@click.option("--scale", default=30, show_default=True, help="Of pgbench: 16 MB each.")
@click.option("--buffers", default="16MB", show_default=True, help="shared_buffers of the standby.")
@click.option(
    "--picture", type=click.Path(path_type=Path), default=Path("build/prefetch/standby.svg"), show_default=True
)
def main(seconds: int, latency: int, rate: int, scale: int, buffers: str, picture: Path) -> None:
    """Record the lag, draw it, and print it at both ends of each step."""
    if not (DEBIAN.bin / "pgbench").exists():
        raise click.ClickException(f"no {DEBIAN.bin / 'pgbench'}: run `make setup`")
    console().print(f"pgbench at scale {scale}, a copy for the standby; then {len(STEPS) * seconds} s", markup=False)
    try:
        with pair(latency, scale, buffers) as servers:
            words = ("-n", "-c", "8", "-j", "2", "-R", str(rate), "-T", str(len(STEPS) * seconds))
            load = subprocess.Popen(pgbench(servers.primary, *words), stdout=subprocess.PIPE, text=True)
            samples = follow(servers, seconds)
            said, _ = load.communicate()
    except (ServerError, subprocess.CalledProcessError) as error:
        raise click.ClickException(str(error)) from error
    reached = re.search(r"tps = ([\d.]+)", said)
    if reached is None:
        raise click.ClickException(f"pgbench does not tell its rate:\n{said}")
    items = told(samples, seconds)
    for item in items:
        console().print(f"{item['name']}: lag {item['first']:6.2f} s at first, {item['last']:6.2f} s at the end")
    lag = Lag([s.time for s in samples], [s.lag for s in samples], list(STEPS), seconds)
    result = results.write(
        "standby",
        "prefetch",
        items,
        says=f"a standby's lag at {float(reached[1]):.0f} transactions a second, cold reads of {latency} microseconds",
        tools={"PostgreSQL": DEBIAN.version()},
        lag=asdict(lag),
        latency=latency,
        rate=float(reached[1]),
    )
    console().print(result.says)
    draw(lag, picture)
    console().print(f"picture: {picture}", markup=False)


if __name__ == "__main__":
    main()
