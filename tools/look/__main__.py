# SPDX-License-Identifier: PostgreSQL
"""What compaction (PageRepairFragmentation) would do to the pages of a heap relation's file, and how fast, drawn.

    python -m tools.look.__main__ [--page N] [--major 13..18] [--json] FILE

The file is only read. The exit status is 0 if the kernel accepts every page, 1 if it refuses one, 2 if the file is no
heap or cannot be read. The picture goes to build/look; of `pgquern look`, to ~/.cache/pgquern. A running
server may be writing a page while it is read: a page that is refused is read again before it counts.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any, BinaryIO

import click
import numpy as np
import pgquern.compaction
from numpy.typing import NDArray
from rich.console import Console

from ref import page as heap
from ref.compaction import VERSIONS, Version
from tools.common import picture
from tools.common.answer import json_option, print_json
from tools.common.options import option
from tools.common.relation_file import (
    ClusterError,
    by_content,
    by_type,
    chunks,
    cluster_of,
    foreign,
    fork,
    format_of,
    major_of,
    os_words,
    segment,
)
from tools.look import hinted
from tools.look import page as look_page
from tools.look.on_pages import FEW, ROUNDS, Speed, measure
from tools.look.refused import index_kind, why_refused

SIZE = heap.BLCKSZ
CHUNK = 512
"""Pages that are looked at together."""
SAMPLE = 4096
"""Pages that are timed, at most."""
AGAIN, LISTED, HEAD = 3, 10, 1 << 20
NEWEST = max(VERSIONS)
NOTE = (
    "Compaction as such removes no dead tuple: pruning (by a query, or VACUUM) does that just before, and compaction"
    " then closes the gaps; so a file at rest mostly gains nothing until its dead tuples are pruned."
)
HINTS = (
    "Dead by hint bits: tuples that a prune could take if no snapshot needs them any more. Tuples without hint bits"
    " count as live."
)
COLUMNS = ("free_before", "free_after", "tuples", "unused", "redirect", "dead", "hinted", "hinted_bytes", "lines_cut")


class CannotLook(click.ClickException):
    """The file is no heap, or cannot be read."""

    exit_code = 2


@dataclass
class Looked:
    """A heap's file. `rows` has a row for each page that is in no hole, COLUMNS; zero of a new or a refused one."""

    path: Path
    first_block: int
    major: int
    major_is_from: str
    pages: int
    places: NDArray[np.int64]
    """Which page of the file a row is of, from 0."""
    rows: NDArray[np.int64]
    new: int
    refused: dict[int, str]

    @property
    def version(self) -> Version:
        return VERSIONS[self.major]

    def column(self, name: str) -> NDArray[np.int64]:
        return np.asarray(self.rows[:, COLUMNS.index(name)])

    @property
    def gain(self) -> NDArray[np.int64]:
        return self.column("free_after") - self.column("free_before")

    def worst(self) -> list[int]:
        """Rows of the pages that gain most, now or once their dead tuples are pruned."""
        gain, hinted_bytes = self.gain, self.column("hinted_bytes")
        order = np.lexsort((-hinted_bytes, -gain))
        return [int(i) for i in order[:LISTED] if gain[i] + hinted_bytes[i] > 0]

    def page(self, index: int) -> bytes:
        with self.path.open("rb") as file:
            return os.pread(file.fileno(), SIZE, index * SIZE)


def require_heap(path: Path) -> int:
    """Its first block. CannotLook: it is no heap's main fork, or its cluster cannot be followed."""
    if words := by_type(path):
        raise CannotLook(f"{path}: {words}")
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise CannotLook(f"{path}: {os_words(path, error)}") from error
    if words := by_content(path, head[:SIZE]):
        raise CannotLook(f"{path}: no relation, but {words}")
    if words := fork(path):
        raise CannotLook(f"{path}: no heap, but {words.partition(':')[0]}: give the relation's main file")
    try:
        cluster = cluster_of(path)
    except ClusterError as error:
        raise CannotLook(f"{path}: {error}") from error
    says = format_of(head)
    if not cluster and (words := foreign(says)):
        raise CannotLook(f"{path}: {words}")
    size = cluster.block_size if cluster else says.block_size if says else SIZE
    if size != SIZE:
        raise CannotLook(f"{path}: pages of {size} bytes: the kernels compact pages of {SIZE} bytes only")
    whole = np.frombuffer(head[: len(head) // SIZE * SIZE], np.uint8).reshape(-1, SIZE)
    if kind := index_kind(whole):
        raise CannotLook(
            f"{path}: no heap, but {kind}: give a table's file, SELECT pg_relation_filepath('table') names it"
        )
    if any(head) and says is None:
        raise CannotLook(f"{path}: no page says that it is one: this is no relation's file")
    return segment(path) * (cluster.segment_blocks if cluster else (1 << 30) // SIZE)


def choose_major(path: Path, asked: int | None) -> tuple[int, str]:
    """The major version, and from where it is known. CannotLook: none that is followed."""
    if asked:
        return asked, "as asked"
    try:
        found = major_of(path)
    except ClusterError as error:
        raise CannotLook(f"{path}: {error}: give {option('MAJOR', NEWEST)}, or what it is") from error
    if not found:
        return NEWEST, "no PG_VERSION was found in the folders above"
    if found not in map(str, VERSIONS):
        nearest = f"{option('MAJOR', 13)} to {option('MAJOR', NEWEST)}"
        raise CannotLook(f"{path}: its cluster is of PostgreSQL {found}: choose the nearest, {nearest}")
    return int(found), "as PG_VERSION says"


def read(path: Path, asked: int | None, page: int | None = None) -> Looked:
    """Look at all pages. CannotLook: no heap, a version that is not followed, or `page` cannot be drawn."""
    first = require_heap(path)
    major, source = choose_major(path, asked)
    if page is not None:
        must_be_drawable(path, first, page)
    rows, refused, filled, at = [np.zeros((0, len(COLUMNS)), np.int64)], dict[int, str](), 0, 0
    places = [np.zeros(0, np.int64)]
    try:
        with path.open("rb", buffering=0) as file:
            for where, content in chunks(file, CHUNK * SIZE, SIZE):
                pages = np.frombuffer(content[: len(content) // SIZE * SIZE], np.uint8).reshape(-1, SIZE).copy()
                at = where // SIZE
                reasons = again(file.fileno(), pages, at)
                filled += int(pages.any(axis=1).sum())
                refused |= {at + i: words for i, words in reasons.items()}
                rows.append(columns(pages, reasons, VERSIONS[major]))
                places.append(np.arange(at, at + len(pages)))
                at += len(pages)
    except OSError as error:
        raise CannotLook(f"{path}: after block {first + at}: {os_words(path, error)}") from error
    return Looked(
        path, first, major, source, at, np.concatenate(places), np.concatenate(rows), at - filled, refused
    )  # fmt: skip


def must_be_drawable(path: Path, first: int, block: int) -> None:
    """CannotLook: the block that was asked for is not there, new, or refused: told before the whole file is read."""
    pages = path.stat().st_size // SIZE
    if not first <= block < first + pages:
        raise CannotLook(
            f"{path} has the blocks {first} to {first + pages - 1}: {option('PAGE', block)} is none of them"
        )
    with path.open("rb") as file:
        content = os.pread(file.fileno(), SIZE, (block - first) * SIZE)
        if not any(content):
            raise CannotLook(f"block {block} is new (all zero): there is nothing to draw")
        one = np.frombuffer(content, np.uint8).reshape(1, SIZE).copy()
        if refused := again(file.fileno(), one, block - first):
            raise CannotLook(f"block {block} cannot be drawn: {refused[0]}")


def again(file: int, pages: NDArray[np.uint8], at: int) -> dict[int, str]:
    """The refused pages of a chunk, and why; each was read again, and `pages` has what was read last."""
    reasons = why_refused(pages)
    for _ in range(AGAIN):
        for i in reasons:
            content = os.pread(file, SIZE, (at + i) * SIZE)
            if len(content) == SIZE:
                pages[i] = np.frombuffer(content, np.uint8)
        reasons = why_refused(pages) if reasons else {}
    return reasons


def columns(pages: NDArray[np.uint8], refused: dict[int, str], version: Version) -> NDArray[np.int64]:
    """COLUMNS of a chunk of pages."""
    after = pages.copy()
    good: NDArray[np.bool_] = np.asarray(pages.any(axis=1))
    good[list(refused)] = False
    pgquern.compaction.batch([after[i] for i in np.flatnonzero(good)], truncate=version.truncates)
    before16, after16 = pages.view("<u2").astype(np.int64), after.view("<u2").astype(np.int64)
    nline = np.where(good, (before16[:, 6] - heap.SIZE_OF_PAGE_HEADER) // heap.SIZE_OF_LINE_POINTER, 0)
    most = int(nline.max(initial=0))
    words = pages.view("<u4")[:, 6 : 6 + most]
    there = np.arange(most) < nline[:, None]
    flags, length, lp_off = words >> 15 & 3, words >> 17, words & 0x7FFF
    normal = there & (flags == heap.LP_NORMAL) & (length > 0)
    dead = hinted.dead(pages, normal, lp_off)
    found = {
        "free_before": before16[:, 7] - before16[:, 6],
        "free_after": after16[:, 7] - after16[:, 6],
        "tuples": normal.sum(axis=1),
        "unused": (there & (flags == heap.LP_UNUSED)).sum(axis=1),
        "redirect": (there & (flags == heap.LP_REDIRECT)).sum(axis=1),
        "dead": (there & (flags == heap.LP_DEAD)).sum(axis=1),
        "hinted": dead.sum(axis=1),
        "hinted_bytes": (dead * ((length.astype(np.int64) + 7) // 8 * 8)).sum(axis=1),
        "lines_cut": (before16[:, 6] - after16[:, 6]) // heap.SIZE_OF_LINE_POINTER,
    }
    return np.stack([np.where(good, found[name], 0) for name in COLUMNS], axis=1)


def sample(looked: Looked) -> list[bytes]:
    """Accepted pages with tuples, drawn at random if there are many."""
    fit = [int(i) for i in np.flatnonzero(looked.column("tuples"))]
    if len(fit) > SAMPLE:
        fit = sorted(Random(1).sample(fit, SAMPLE))
    return [page for page in (looked.page(int(looked.places[i])) for i in fit) if accepted(page, looked.version)]


def accepted(page: bytes, version: Version) -> bool:
    """A server may have written the page since it was looked at."""
    return len(page) == SIZE and pgquern.compaction.batch([bytearray(page)], truncate=version.truncates) == [(0, 0)]


def speeds(looked: Looked) -> dict[str, Speed]:
    """On the pages as they lie, and with dead tuples pruned; of no pages nothing."""
    pages = sample(looked)
    after_prune = [now for page in pages if (now := hinted.pruned(page)) != page and accepted(now, looked.version)]
    ways = {"as_they_lie": pages, "pruned": after_prune}
    return {name: measure(some, truncate=looked.version.truncates) for name, some in ways.items() if some}


def choose(looked: Looked, asked: int | None) -> int | None:
    """The index of the page to draw: the one asked for, or that which gains most; None if none has tuples."""
    if asked is not None:
        return asked - looked.first_block
    if worst := looked.worst():
        return int(looked.places[worst[0]])
    filled = np.flatnonzero(looked.column("tuples"))
    return int(looked.places[filled[0]]) if len(filled) else None


def summary(looked: Looked) -> dict[str, Any]:
    """Sums over the file."""
    return {
        "file": str(looked.path),
        "pages": looked.pages,
        "first_block": looked.first_block,
        "major": looked.major,
        "kernel": pgquern.compaction.dispatched().name,
        "new": looked.new,
        "refused": [{"block": looked.first_block + i, "why": words} for i, words in looked.refused.items()],
        **{name: int(looked.column(name).sum()) for name in COLUMNS},
        "gain": int(looked.gain.sum()),
        "pages_that_gain": int((looked.gain > 0).sum()),
        "rest_bytes": looked.path.stat().st_size % SIZE,
    }


def each_page(looked: Looked) -> Iterator[dict[str, int]]:
    """All but those in holes of the file, which are new."""
    for i, row in zip(looked.places.tolist(), looked.rows.tolist(), strict=True):
        yield {"block": looked.first_block + i, **dict(zip(COLUMNS, row, strict=True))}


def lines(looked: Looked) -> Iterator[str]:
    """The summary in words."""
    sums, refused = summary(looked), looked.refused
    yield (
        (
            f"{looked.path}: {sums['pages']:,} pages (blocks {looked.first_block} to"
            f" {looked.first_block + sums['pages'] - 1}), {sums['new']:,} new, {len(refused):,} refused; as PostgreSQL"
            f" {looked.major} compacts them ({looked.major_is_from}), by the kernel {sums['kernel']}"
        )
        if sums["pages"]
        else f"{looked.path}: 0 pages"
    )
    yield (
        f"free between pd_lower and pd_upper: {sums['free_before']:,} bytes before, {sums['free_after']:,} after:"
        f" {sums['gain']:,} gained on {sums['pages_that_gain']:,} pages; {sums['lines_cut']:,} line pointers cut off"
    )
    yield (
        f"{sums['tuples']:,} tuples; line pointers: {sums['unused']:,} unused, {sums['redirect']:,} redirect,"
        f" {sums['dead']:,} dead"
    )
    yield f"dead by hint bits: {sums['hinted']:,} tuples of {sums['hinted_bytes']:,} bytes"
    if sums["rest_bytes"]:
        yield f"{sums['rest_bytes']} bytes after the last page are no page: pgquern check-pages says more"
    for i, words in list(refused.items())[:LISTED]:
        yield f"  block {looked.first_block + i} is refused: {words}"
    if len(refused) > LISTED:
        yield f"  and {len(refused) - LISTED:,} more"
    if refused:
        checks = "pgquern check-pages FILE"
        yield f"What to do: {checks} says what is wrong with the pages, and what can be done about it."


def worst_lines(looked: Looked) -> Iterator[str]:
    """The pages that gain most, a line each below a head."""
    if worst := looked.worst():
        yield "pages that gain most; `hint` is tuples and bytes dead by hint bits, `cut` line pointers cut off:"
        yield ("{:>10} {:>6} {:>6} {:>6}" + " {:>8}" * 4 + " {:>6} {:>6} {:>4}").format(
            *("block", "gain", "free", "after", "tuples", "unused", "redirect", "dead", "hint", "bytes", "cut")
        )
    for i in worst:
        yield ("{:>10} {:>6} {:>6} {:>6}" + " {:>8}" * 4 + " {:>6} {:>6} {:>4}").format(
            looked.first_block + int(looked.places[i]), int(looked.gain[i]), *looked.rows[i].tolist()
        )


def says_speed(name: str, speed: Speed) -> str:
    where = {"as_they_lie": "as they lie", "pruned": "with tuples dead by hint bits pruned"}[name]
    times, noise = speed.times_as_fast, speed.against_itself
    few = f" (fewer than {FEW}: the CPU learns them, so other pages differ)" if speed.pages < FEW else ""
    nanoseconds = ", ".join(f"{way} {spent.median:,.0f} ns" for way, spent in speed.nanoseconds.items())
    return (
        f"{speed.pages:,} of these pages {where}{few}: {speed.ours} is {times.median:.2f} times as fast as upstream's"
        f" {speed.upstream} (middle half of {ROUNDS} rounds: {times.low:.2f} to {times.high:.2f}; against itself"
        f" {noise.low:.2f} to {noise.high:.2f}),"
        f" on this machine now. A page takes {nanoseconds}."
    )


def draw(looked: Looked, index: int, said: list[str]) -> str | None:
    """The picture of a page."""
    contents, block = looked.page(index), looked.first_block + index
    title, words = f"{looked.path.name}, block {block}", [*lines(looked), *said, NOTE, HINTS]

    def write(file: BinaryIO) -> None:
        if not accepted(contents, looked.version):
            raise ValueError(f"block {block} was written meanwhile: run this again")
        # A file's name may be no UTF-8.
        file.write(look_page.html(contents, looked.major, title, words).encode(errors="backslashreplace"))

    return picture.of_file("look", looked.path, ".html", write)


@click.command()
@click.option("--page", type=int, help="The block to draw, in place of the one that gains most.")
@click.option("--major", type=click.IntRange(13, NEWEST), help="PostgreSQL's version, if no PG_VERSION says it.")
@json_option("Print one JSON object, with every page that is in no hole of the file.")
@click.argument("file")
def main(page: int | None, major: int | None, as_json: bool, file: str) -> None:
    """What compaction would do to the pages of FILE, a table's."""
    if not file:
        raise CannotLook("say which file: pgquern look /path/to/base/DATABASE/RELATION")
    looked = read(Path(file), major, page)
    drawn, timed = choose(looked, page), speeds(looked)
    said = [says_speed(name, speed) for name, speed in timed.items()]
    if not as_json:
        console = Console(soft_wrap=True, highlight=False, markup=False)
        for line in [*lines(looked), *worst_lines(looked), *said, NOTE, HINTS]:
            console.print(line)
    drawing = None if drawn is None else draw(looked, drawn, said)
    if as_json:
        found = {**summary(looked), "page": list(each_page(looked)), "picture": drawing, "note": NOTE}
        found["drawn"] = None if drawn is None else looked.first_block + drawn
        found["speed"] = {name: asdict(speed) for name, speed in timed.items()}
        print_json(found)
    elif drawing:
        console.print(f"picture: {drawing}")
    sys.exit(1 if looked.refused else 0)


if __name__ == "__main__":
    main()
