# SPDX-License-Identifier: PostgreSQL
"""What compaction (PageRepairFragmentation) would do to the pages of a heap relation's file, and how fast, drawn.

    python -m tools.look.__main__ [--page N] [--major 13..18] [--fillfactor 10..100] [--json] FILE

The segments that follow the file (16384.1 that follows 16384) are looked at with it. They are only read, a chunk at a
time; a row for each page is kept with --json alone. The exit status is 0 if the kernel accepts every page, 1 if it
refuses one, 2 if the file is no heap or cannot be read. The pictures go to build/look; of `pgquern look`, to
~/.cache/pgquern. A running server may be writing a page while it is read: a page that is refused is read again before
it counts.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import click
import numpy as np
import pgquern.compaction
from numpy.typing import NDArray
from rich.console import Console

from ref import page as heap
from ref.compaction import VERSIONS, Version
from tools.common import picture, progress
from tools.common.answer import json_option, plural, print_json
from tools.common.options import option
from tools.common.relation_file import (
    BLOCKS,
    NO_SEGMENT,
    Cluster,
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
from tools.look import hinted, kept, predicted
from tools.look import page as look_page
from tools.look.on_pages import FEW, ROUNDS, Speed, measure
from tools.look.ranges import Ranges
from tools.look.refused import index_kind, why_refused
from tools.look.rows import COLUMNS, SHOWN, Rows, column, gain

SIZE = heap.BLCKSZ
CHUNK = 512
"""Pages that are looked at together."""
SAMPLE = 4096
"""Pages that are timed, at most."""
AGAIN, LISTED, HEAD = 3, 10, 1 << 20
REASONS = 10_000
"""Refused pages of which the reason is kept, at most."""
NEWEST = max(VERSIONS)
NOTE = (
    "Compaction as such removes no dead tuple: pruning (by a query, or VACUUM) does that just before, and compaction"
    " then closes the gaps; so a file at rest mostly gains nothing until its dead tuples are pruned."
)
HINTS = (
    "Dead by hint bits: tuples that a prune could take if no snapshot needs them any more. Tuples without hint bits"
    " count as live."
)


class CannotLook(click.ClickException):
    """The file is no heap, or cannot be read."""

    exit_code = 2


@dataclass
class Files:
    """A heap relation's files, or one of them, and which page of them is which block."""

    paths: list[Path]
    first_block: int
    segment_blocks: int
    left_out: Path | None
    """A segment behind one that is not full: a server sees the relation end there."""

    @property
    def pages(self) -> int:
        return sum(path.stat().st_size // SIZE for path in self.paths)

    def page(self, index: int) -> bytes:
        """By its number from the first page on."""
        number, at = divmod(index, self.segment_blocks) if len(self.paths) > 1 else (0, index)
        with self.paths[number].open("rb") as file:
            return os.pread(file.fileno(), SIZE, at * SIZE)


@dataclass
class Looked:
    """A heap's files, and what was found in them."""

    path: Path
    files: Files
    major: int
    major_is_from: str
    ranges: Ranges
    kept: kept.Kept
    pruning: predicted.Pruning
    pages: int = 0
    new: int = 0
    refusals: int = 0
    refused: dict[int, str] = field(default_factory=dict)
    """Of the first REASONS refused pages: which, from 0, and why."""
    first_filled: int | None = None
    worst: Rows = field(default_factory=lambda: np.zeros((0, len(COLUMNS)), np.int64))
    worst_places: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """The pages that gain most, now or once their dead tuples are pruned, and which they are, from 0."""
    drawn: NDArray[np.float64] = field(default_factory=lambda: np.zeros((2, 0)))
    """Of SAMPLE pages with tuples, the first drawn by lot: its lot, and which it is."""
    each: list[tuple[NDArray[np.int64], Rows]] = field(default_factory=list)
    """If it was asked for: all pages that are in no hole."""

    @property
    def version(self) -> Version:
        return VERSIONS[self.major]

    @property
    def first_block(self) -> int:
        return self.files.first_block

    @property
    def sums(self) -> NDArray[np.int64]:
        """Of all pages, COLUMNS."""
        return np.asarray(self.ranges.sums.sum(axis=0))

    def add(self, at: int, rows: Rows, lots: np.random.Generator) -> None:
        """What was found on the pages from `at` on."""
        places = np.arange(at, at + len(rows))
        self.ranges.add(places, rows)
        self.kept.add(rows)
        self.pruning.add(rows)
        fit = places[column(rows, "tuples") > 0]
        if self.first_filled is None and len(fit):
            self.first_filled = int(fit[0])
        drawn = np.concatenate([self.drawn, np.stack([lots.random(len(fit)), fit])], axis=1)
        self.drawn = drawn[:, np.argsort(drawn[0])[:SAMPLE]]
        rows_, places_ = np.concatenate([self.worst, rows]), np.concatenate([self.worst_places, places])
        gained, hinted_bytes = gain(rows_), column(rows_, "hinted_bytes")
        order = np.lexsort((-hinted_bytes, -gained))[:LISTED]
        order = order[(gained + hinted_bytes)[order] > 0]
        self.worst, self.worst_places = rows_[order], places_[order]


def require_heap(path: Path) -> tuple[Cluster | None, Files]:
    """Its cluster and its files. CannotLook: it is no heap's main fork, or its cluster cannot be followed."""
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
    if kind := index_kind(head[: len(head) // SIZE * SIZE]):
        raise CannotLook(
            f"{path}: no heap, but {kind}: give a table's file, SELECT pg_relation_filepath('table') names it"
        )
    if any(head) and says is None:
        raise CannotLook(f"{path}: no page says that it is one: this is no relation's file")
    files = files_of(path, cluster.segment_blocks if cluster else (1 << 30) // SIZE)
    if files.first_block + files.pages > BLOCKS:
        raise CannotLook(f"{path}: {NO_SEGMENT}")
    return cluster, files


def files_of(path: Path, segment_blocks: int) -> Files:
    """The relation's files from its first on, or that which is asked for if it is another."""
    found, left_out = [path], None
    while segment(path) == 0 and not left_out:
        following = path.with_name(f"{path.name}.{len(found)}")
        if not following.is_file() or not following.stat().st_size:
            break
        if found[-1].stat().st_size == segment_blocks * SIZE:
            found.append(following)
        else:
            left_out = following
    return Files(found, segment(path) * segment_blocks, segment_blocks, left_out)


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


def read(
    path: Path, asked: int | None, page: int | None = None, fillfactor: int | None = None, *, each: bool = True
) -> Looked:
    """Look at all pages. `each`: keep a row for each, which takes 100 bytes.

    CannotLook: no heap, a version that is not followed, or `page` cannot be drawn.
    """
    cluster, files = require_heap(path)
    major, source = choose_major(path, asked)
    if page is not None:
        must_be_drawable(path, files, page)
    held = kept.Kept(*kept.fillfactor_of(path, cluster, major, fillfactor))
    pruning, total = predicted.Pruning(VERSIONS[major].order.name), files.pages
    looked = Looked(path, files, major, source, Ranges(total), held, pruning)
    lots, filled, at, file_of = np.random.default_rng(1), 0, 0, path
    bar = progress.bar(progress.console(stderr=True))
    try:
        with bar:
            task = bar.add_task("pages", total=total)
            for number, file_of in enumerate(files.paths):
                with file_of.open("rb", buffering=0) as file:
                    for where, content in chunks(file, CHUNK * SIZE, SIZE):
                        pages = np.frombuffer(content[: len(content) // SIZE * SIZE], np.uint8).reshape(-1, SIZE).copy()
                        at = number * files.segment_blocks + where // SIZE
                        reasons = again(file.fileno(), pages, where // SIZE)
                        filled, looked.refusals = filled + int(pages.any(axis=1).sum()), looked.refusals + len(reasons)
                        looked.refused |= {
                            at + i: words for i, words in list(reasons.items())[: REASONS - len(looked.refused)]
                        }
                        rows = columns(pages, reasons, VERSIONS[major])
                        looked.add(at, rows, lots)
                        if each:
                            looked.each.append((np.arange(at, at + len(pages)), rows))
                        at += len(pages)
                        bar.update(task, completed=at)
    except OSError as error:
        raise CannotLook(f"{file_of}: after block {files.first_block + at}: {os_words(file_of, error)}") from error
    looked.pages, looked.new = at, at - filled
    return looked


def must_be_drawable(path: Path, files: Files, block: int) -> None:
    """CannotLook: the block that was asked for is not there, new, or refused: told before the whole file is read."""
    pages, first = files.pages, files.first_block
    if not first <= block < first + pages:
        raise CannotLook(
            f"{path} has the blocks {first} to {first + pages - 1}: {option('PAGE', block)} is none of them"
        )
    for left in range(AGAIN, -1, -1):
        content = files.page(block - first)
        if not any(content):
            raise CannotLook(f"block {block} is new (all zero): there is nothing to draw")
        refused = why_refused(content)
        if refused and not left:
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
    before = np.minimum.accumulate(np.where(normal, lp_off, SIZE), axis=1)[:, :-1]
    in_order = ~(normal[:, 1:] & (lp_off[:, 1:] >= before)).any(axis=1)
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
        "line_pointers": (after16[:, 6] - heap.SIZE_OF_PAGE_HEADER) // heap.SIZE_OF_LINE_POINTER,
        "tuple_bytes": (normal * length.astype(np.int64)).sum(axis=1),
        "in_order": in_order,
    }
    return np.stack([np.where(good, found[name], 0) for name in COLUMNS], axis=1)


def sample(looked: Looked) -> list[bytes]:
    """Accepted pages with tuples, drawn at random if there are many."""
    pages = (looked.files.page(int(place)) for place in np.sort(looked.drawn[1]))
    return [page for page in pages if accepted(page, looked.version)]


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
    return int(looked.worst_places[0]) if len(looked.worst_places) else looked.first_filled


def summary(looked: Looked) -> dict[str, Any]:
    """Sums over the files."""
    return {
        "file": str(looked.path),
        "files": [str(path) for path in looked.files.paths],
        "pages": looked.pages,
        "first_block": looked.first_block,
        "major": looked.major,
        "kernel": pgquern.compaction.dispatched().name,
        "new": looked.new,
        "refused": [{"block": looked.first_block + i, "why": words} for i, words in looked.refused.items()],
        "pages_refused": looked.refusals,
        **dict(zip(COLUMNS, looked.sums.tolist(), strict=True)),
        "gain": int(gain(looked.sums)),
        "pages_that_gain": looked.ranges.pages_that_gain,
        "rest_bytes": looked.files.paths[-1].stat().st_size % SIZE,
        "kept": looked.kept.document(),
        "pruning": looked.pruning.document(),
        "range": looked.ranges.document(looked.first_block, looked.pages),
    }


def each_page(looked: Looked) -> Iterator[dict[str, int]]:
    """All but those in holes of the file, which are new."""
    for places, rows in looked.each:
        for i, row in zip(places.tolist(), rows.tolist(), strict=True):
            yield {"block": looked.first_block + i, **dict(zip(COLUMNS, row, strict=True))}


def lines(looked: Looked) -> Iterator[str]:
    """The summary in words."""
    sums, refused, paths = summary(looked), looked.refused, looked.files.paths
    more = f" and {plural(len(paths) - 1, 'segment')} more" if len(paths) > 1 else ""
    yield (
        (
            f"{looked.path}{more}: {plural(sums['pages'], 'page')}"
            f" (blocks {looked.first_block} to {looked.first_block + sums['pages'] - 1}), {sums['new']:,} new,"
            f" {looked.refusals:,} refused; as PostgreSQL"
            f" {looked.major} compacts them ({looked.major_is_from}), by the kernel {sums['kernel']}"
        )
        if sums["pages"]
        else f"{looked.path}: 0 pages"
    )
    yield (
        f"free between pd_lower and pd_upper: {sums['free_before']:,} bytes before, {sums['free_after']:,} after:"
        f" {sums['gain']:,} gained on {plural(sums['pages_that_gain'], 'page')};"
        f" {plural(sums['lines_cut'], 'line pointer')} cut off"
    )
    yield (
        f"{sums['tuples']:,} tuples; line pointers: {sums['unused']:,} unused, {sums['redirect']:,} redirect,"
        f" {sums['dead']:,} dead"
    )
    yield f"dead by hint bits: {sums['hinted']:,} tuples of {sums['hinted_bytes']:,} bytes"
    yield from looked.kept.lines()
    yield from looked.pruning.lines()
    if looked.files.left_out:
        yield f"{looked.files.left_out} is left out: a segment before it is not full, and a server sees the end there"
    if sums["rest_bytes"]:
        yield f"{sums['rest_bytes']} bytes after the last page are no page: pgquern check-pages says more"
    for i, words in list(refused.items())[:LISTED]:
        yield f"  block {looked.first_block + i} is refused: {words}"
    if looked.refusals > LISTED:
        yield f"  and {looked.refusals - LISTED:,} more"
    if refused:
        checks = "pgquern check-pages FILE"
        yield f"What to do: {checks} says what is wrong with the pages, and what can be done about it."


def worst_lines(looked: Looked) -> Iterator[str]:
    """The pages that gain most, a line each below a head."""
    if len(looked.worst):
        yield "pages that gain most; `hint` is tuples and bytes dead by hint bits, `cut` line pointers cut off:"
        yield ("{:>10} {:>6} {:>6} {:>6}" + " {:>8}" * 4 + " {:>6} {:>6} {:>4}").format(
            *("block", "gain", "free", "after", "tuples", "unused", "redirect", "dead", "hint", "bytes", "cut")
        )
    for place, gained, row in zip(looked.worst_places, gain(looked.worst), looked.worst, strict=True):
        yield ("{:>10} {:>6} {:>6} {:>6}" + " {:>8}" * 4 + " {:>6} {:>6} {:>4}").format(
            looked.first_block + int(place), int(gained), *row[: len(SHOWN)].tolist()
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
    contents, block = looked.files.page(index), looked.first_block + index
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
@click.option("--fillfactor", type=click.IntRange(10, 100), help="The table's, if no catalog is there that says it.")
@json_option("Print one JSON object, with every page that is in no hole of the file.")
@click.argument("file")
def main(page: int | None, major: int | None, fillfactor: int | None, as_json: bool, file: str) -> None:
    """What compaction would do to the pages of FILE, a table's, and of the segments that follow it."""
    if not file:
        raise CannotLook("say which file: pgquern look /path/to/base/DATABASE/RELATION")
    looked = read(Path(file), major, page, fillfactor, each=as_json)
    drawn, timed = choose(looked, page), speeds(looked)
    said = [says_speed(name, speed) for name, speed in timed.items()]
    if not as_json:
        console = Console(soft_wrap=True, highlight=False, markup=False)
        for line in [*lines(looked), *worst_lines(looked), *said, NOTE, HINTS]:
            console.print(line)
        for bar in looked.ranges.bars(looked.first_block, looked.pages):
            console.print(bar, markup=True)
    drawing = None if drawn is None else draw(looked, drawn, said)
    whole = looked.pages and picture.of_file(
        "look",
        looked.path,
        ".png",
        lambda to: looked.ranges.draw(to, looked.path.name, looked.first_block, looked.pages),
    )
    if as_json:
        found = {**summary(looked), "page": list(each_page(looked)), "picture": drawing, "note": NOTE}
        found["drawn"] = None if drawn is None else looked.first_block + drawn
        found["picture_of_all"] = whole or None
        found["speed"] = {name: asdict(speed) for name, speed in timed.items()}
        print_json(found)
    else:
        for words, drawn_to in (("picture of all pages", whole), ("picture", drawing)):
            if drawn_to:
                console.print(f"{words}: {drawn_to}")
    sys.exit(1 if looked.refusals else 0)


if __name__ == "__main__":
    main()
