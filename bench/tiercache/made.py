# SPDX-License-Identifier: PostgreSQL
"""Traces of references to pages: the recorded one, made ones, each from a seed, and those of a folder of one's own."""

import lzma
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from random import Random

FOLDER = Path("bench/tiercache/traces")
LENGTH = 200_000


def _zipf(rng: Random, pages: int, skew: float) -> Iterator[int]:
    """Page k comes as often as 1 / (k + 1) ** skew says."""
    sums = list(accumulate((k + 1) ** -skew for k in range(pages)))
    while True:
        yield from rng.choices(range(pages), cum_weights=sums, k=1000)


def zipf(skew: float, seed: int) -> list[int]:
    return list(islice(_zipf(Random(seed), 20_000, skew), LENGTH))


def scans() -> list[int]:
    """2,000 hot pages, and now and then a scan of 10,000 others between."""
    hot, trace = _zipf(Random(4), 2_000, 0.7), list[int]()
    while len(trace) < LENGTH:
        trace += islice(hot, 20_000)
        for page in range(100_000, 110_000):
            trace += page, next(hot)
    return trace[:LENGTH]


def loop() -> list[int]:
    return [at % 5_000 for at in range(LENGTH)]


def shift() -> list[int]:
    """Which pages are the hot ones changes four times."""
    hot = islice(_zipf(Random(5), 10_000, 0.9), LENGTH)
    return [(page * 7919 + at // (LENGTH // 5) * 3000) % 20_000 for at, page in enumerate(hot)]


def pgbench() -> list[int]:
    """Updates of accounts by their index, few of which have most of the work: root, inner page and leaf, the account's
    page, its teller's and branch's, and the end of a history."""
    rng, rows, trace = Random(6), 600_000, list[int]()
    for n in range(LENGTH // 7):
        account = int(rows ** rng.random()) * 7919 % rows
        leaf, heap = account // 366, account // 60
        trace += 60_000, 50_000 + leaf // 285, 40_000 + leaf, heap, 70_000 + rng.randrange(2), 80_000
        trace.append(20_000 + n // 120)
    return trace


def _read(file: Path) -> list[int]:
    """A line a reference, a page's number in each. ValueError: it is no such file."""
    try:
        return [int(line) for line in lzma.decompress(file.read_bytes()).split()]
    except (lzma.LZMAError, ValueError) as error:
        raise ValueError(f"{file} is no trace, a page's number a line, compressed by xz: {error}") from error


def of_folder(folder: Path) -> dict[str, Callable[[], list[int]]]:
    """The traces in its files *.xz. ValueError: it has none."""
    if not (files := sorted(folder.glob("*.xz"))):
        raise ValueError(f"{folder} has no traces: files *.xz, a page's number a line")
    return {file.stem: partial(_read, file) for file in files}


TRACES: dict[str, Callable[[], list[int]]] = {
    "server16": partial(_read, FOLDER / "server16.xz"),
    "zipf 0.7": lambda: zipf(0.7, 1),
    "zipf 0.9": lambda: zipf(0.9, 2),
    "zipf 1.1": lambda: zipf(1.1, 3),
    "scans": scans,
    "loop": loop,
    "shift": shift,
    "pgbench": pgbench,
}
"""server16 is recorded (bench/tiercache/traces/README.md), the others are made."""
