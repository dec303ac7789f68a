# SPDX-License-Identifier: PostgreSQL
"""Checks the pages of a relation file, says which are wrong, and draws them.

    python -m tools.check_pages.__main__ [--block-size SIZE] [--json] FILE

The file is read only. The exit status is 0 if every page is sound or new, 1 if one is wrong or lacks its end, 2 if the
file cannot be checked. The size of a page, and whether pages have checksums, is as pg_control of the file's cluster
says, which is looked for in the folders above; without it the pages themselves say it. Of a table, the line pointers
are checked, too, as the compaction kernels and amcheck do: a server looks at few of them. A picture goes to
build/check-pages; of `pgquern check-pages`, to ~/.cache/pgquern. A running server may be writing a page while
it is read: a wrong page is read again before it counts.
"""

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Any, BinaryIO

import click
import numpy as np
from numpy.typing import NDArray
from pgquern.tornpage import check, checksums
from rich.console import Console

from tools.common import picture
from tools.common.answer import json_option, print_json
from tools.common.options import option
from tools.common.relation_file import (
    BLOCK_SIZES,
    BLOCKS,
    Cluster,
    ClusterError,
    by_content,
    by_type,
    chunks,
    cluster_of,
    foreign,
    fork,
    format_of,
    header_faults,
    os_words,
    segment,
)
from tools.look.refused import SIZE, index_kind, unfit

CHUNK = 64 * 1024 * 1024
SEGMENT_BYTES = 1 << 30
"""Of a relation's segment file."""
AGAIN = 3
"""How often a wrong page is read."""
LISTED = 20
HEAD = 1 << 20
"""Bytes by which a file's kind and size of pages are found."""
NEXT = (
    "What to do: if a server was writing the file, check a base backup of it instead, or stop the server. If it is"
    " stopped, keep a copy of the file, and restore from a backup with the log since; a standby may have sound pages."
    " Only then consider zero_damaged_pages, which throws the rows of a wrong page away. REINDEX makes an index again."
)
UNFIT = (
    "A server takes a page whose line pointers are wrong as it is, so zero_damaged_pages does not help: a query gives"
    " wrong rows or none, VACUUM fails, and the server may crash. verify_heapam of amcheck (14 and later) looks at the"
    " rows, too. A table whose access method (pg_class.relam) is not heap may have such pages."
)
TRIED, SEGMENTS = 3, 1024
"""Pages, and numbers of a segment, that are tried if all checksums are wrong."""
CELLS = 72 * 24
"""Of the picture in the terminal."""


class Verdict(IntEnum):
    """A cell that stands for several pages shows the greatest among them."""

    NEW, SOUND, UNFIT, HEADER, CHECKSUM = range(5)


MARKS = {
    Verdict.NEW: "[dim]·[/]",
    Verdict.SOUND: "[green]▪[/]",
    Verdict.UNFIT: "[magenta]U[/]",
    Verdict.HEADER: "[yellow]H[/]",
    Verdict.CHECKSUM: "[red]X[/]",
}
COLOURS = ("#e6e8ee", "#5aa469", "#c9a0dc", "#e0a030", "#c8322b")
WORDS = {
    Verdict.NEW: "new (all zero)",
    Verdict.SOUND: "sound",
    Verdict.UNFIT: "unfit for a heap",
    Verdict.HEADER: "with a broken header",
    Verdict.CHECKSUM: "with a wrong checksum",
}


class CannotCheck(click.ClickException):
    """The file is no relation file that can be checked."""

    exit_code = 2


@dataclass(frozen=True)
class Relation:
    """A relation file and what was found in it."""

    path: Path
    bytes: int
    block_size: int
    first_block: int
    cluster: Cluster | None
    heap: bool
    verdicts: NDArray[np.uint8]
    """Of each page a Verdict."""

    @property
    def checksums(self) -> bool:
        return self.cluster is None or self.cluster.checksums

    def wrong(self) -> list[int]:
        """Indexes of the wrong pages."""
        found: list[int] = np.flatnonzero(self.verdicts > Verdict.SOUND).tolist()
        return found

    def counts(self) -> dict[Verdict, int]:
        return {verdict: int(np.count_nonzero(self.verdicts == verdict)) for verdict in Verdict}

    @property
    def segment_pages(self) -> int:
        """Of a segment that is full."""
        return self.cluster.segment_blocks if self.cluster else SEGMENT_BYTES // self.block_size

    @property
    def lacks_pages(self) -> bool:
        """Whether a next segment exists though this one is not full."""
        if not re.fullmatch(r"(t\d+_)?\d+(_\w+)?(\.\d+)?", self.path.name):
            return False
        following = f"{self.path.name.partition('.')[0]}.{segment(self.path) + 1}"
        # A server that cuts a relation leaves its further segments empty.
        return len(self.verdicts) < self.segment_pages and any_bytes(self.path.with_name(following))

    @property
    def too_long(self) -> bool:
        """Whether it has more pages than its cluster gives a segment."""
        return self.cluster is not None and len(self.verdicts) > self.segment_pages

    @property
    def sound(self) -> bool:
        return not (self.wrong() or self.lacks_pages or self.too_long or self.bytes % self.block_size)


def any_bytes(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def choose_block_size(path: Path, head: bytes, cluster: Cluster | None, asked: int | None) -> int:
    """What was asked for, or what pg_control says, or else the pages. CannotCheck: most pages say another size."""
    found = format_of(head)
    if not cluster and (words := foreign(found)):
        raise CannotCheck(f"{path}: {words}")
    says = found and found.block_size
    size = asked or (cluster.block_size if cluster else says or 8192)
    if cluster and asked not in (None, cluster.block_size):
        raise CannotCheck(
            f"{path}: pg_control of {cluster.path} says {cluster.block_size}: leave {option('BLOCK_SIZE')} out"
        )
    if says not in (None, size) and not cluster:
        raise CannotCheck(
            f"{path}: the pages say that they have {says} bytes, not {size}: give {option('BLOCK_SIZE', says)}"
        )
    return size


def read(path: Path, asked: int | None) -> Relation:
    """Check all pages. CannotCheck: no relation file, or another block size, or no checksums and no pg_control."""
    if words := by_type(path):
        raise CannotCheck(f"{path}: {words}")
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise CannotCheck(f"{path}: {os_words(path, error)}") from error
    if words := by_content(path, head[:8192]):
        raise CannotCheck(f"{path}: no relation, but {words}")
    try:
        cluster = cluster_of(path)
    except ClusterError as error:
        raise CannotCheck(f"{path}: {error}") from error
    block_size = choose_block_size(path, head, cluster, asked)
    first = segment(path) * (cluster.segment_blocks if cluster else SEGMENT_BYTES // block_size)
    whole = np.frombuffer(head[: len(head) // SIZE * SIZE], np.uint8).reshape(-1, SIZE)
    heap = block_size == SIZE and not fork(path) and not index_kind(whole)
    if first + path.stat().st_size // block_size > BLOCKS:
        raise CannotCheck(f"{path}: a relation has at most {BLOCKS:,} pages: none has this segment")
    relation = Relation(path, 0, block_size, first, cluster, heap, np.zeros(0, np.uint8))
    found, done, seen, stored = list[tuple[int, list[Verdict]]](), 0, 0, False
    try:
        with path.open("rb", buffering=0) as file:
            for at, content in chunks(file, CHUNK // block_size * block_size, block_size):
                page, pages = at // block_size, content[: len(content) // block_size * block_size]
                found.append((page, verdicts_of(pages, first + page, relation)))
                done, seen = page + len(found[-1][1]), at + len(content)
                stored = stored or any(any(pages[i + 8 : i + 10]) for i in range(0, len(pages), block_size))
        verdicts = np.zeros(seen // block_size, np.uint8)  # what is in holes is new
        for page, those in found:
            verdicts[page : page + len(those)] = those
        relation = replace(relation, bytes=seen, verdicts=verdicts)
        if not cluster and not stored and (verdicts == Verdict.CHECKSUM).any():
            raise CannotCheck(
                f"{path}: no page has a checksum, and there is no pg_control in the folders above that says whether the"
                " cluster was made without --data-checksums: check the file where it lies in its cluster (of a"
                " tablespace: by pg_tblspc)"
            )
        return replace(relation, verdicts=confirmed(relation))
    except OSError as error:
        raise CannotCheck(f"{path}: after block {first + done}: {os_words(path, error)}") from error


def verdicts_of(pages: bytes, first: int, relation: Relation) -> list[Verdict]:
    """Of pages from block `first` on. Without checksums a page that has only a wrong one is judged by the rest."""
    size = relation.block_size
    found = [Verdict[verdict.name] for verdict in check(pages, block_size=size, first_block=first)]
    fields = np.frombuffer(pages, "<u2").reshape(-1, size // 2)
    doubted = set(np.flatnonzero(fields[:, 9] != size | 4).tolist())
    refused = unfit(fields.view(np.uint8)) if relation.heap else {}
    for i, verdict in enumerate(found):
        again = {Verdict.SOUND: i in doubted or i in refused, Verdict.CHECKSUM: not relation.checksums}
        if again.get(verdict):
            page = pages[i * size : (i + 1) * size]
            found[i] = Verdict.HEADER if header_faults(page) else Verdict.UNFIT if i in refused else Verdict.SOUND
    return found


def confirmed(relation: Relation) -> NDArray[np.uint8]:
    """The verdicts, after wrong pages were read again."""
    found, size = relation.verdicts.copy(), relation.block_size
    with relation.path.open("rb", buffering=0) as file:
        for i in relation.wrong():
            for _ in range(AGAIN):
                file.seek(i * size)
                page = file.read(size)
                if len(page) == size and found[i] > Verdict.SOUND:
                    (found[i],) = verdicts_of(page, relation.first_block + i, relation)
    return found


def end_of(relation: Relation) -> list[str]:
    """What can be said of the file's end: bytes of a broken page, a segment that is too short, zeroed pages."""
    size, pages = relation.block_size, len(relation.verdicts)
    rest = relation.bytes - pages * size
    filled = np.flatnonzero(relation.verdicts)
    zeroed = pages - int(filled[-1]) - 1 if len(filled) else pages
    said = []
    if rest:
        said.append(
            f"TRUNCATED: {rest} bytes follow the last page, {size - rest} less than a page has. A server does not read"
            " them, and overwrites them when it extends the relation."
        )
    if relation.lacks_pages:
        said.append(
            f"TRUNCATED: the next segment exists, so this one must have {relation.segment_pages:,} pages; it has"
            f" {pages:,}. A server sees the relation end here: take the file from a backup."
        )
    if relation.too_long:
        said.append(
            f"TOO LONG: a segment of this cluster has at most {relation.segment_pages:,} pages; this one has {pages:,}."
            " A server stops with an error."
        )
    if zeroed:
        said.append(
            f"the last {zeroed:,} pages ({zeroed * size:,} bytes, from byte {(pages - zeroed) * size:,} on) are all"
            " zero. A server leaves such pages when it has extended a relation and did not fill them, at most some"
            " hundreds at a time. If rows are missing or there are many, the file lost its end: compare with a backup."
        )
    if not rest and not relation.lacks_pages:
        said.append(
            "whether whole pages are missing at the end, the file cannot tell: SELECT pg_relation_size('table') of a"
            " backup or a standby can."
        )
    return said


def grid(relation: Relation, cells: int) -> tuple[list[Verdict], int]:
    """The worst verdict of each cell, and how many pages a cell stands for."""
    pages = len(relation.verdicts)
    each = max(1, -(-pages // cells))
    worst = np.maximum.reduceat(relation.verdicts, range(0, pages, each)) if pages else relation.verdicts
    return [Verdict(verdict) for verdict in worst], each


def show(relation: Relation, console: Console) -> None:
    """The verdict, the picture in the terminal, and the list of what is wrong."""
    size, pages, first = relation.block_size, len(relation.verdicts), relation.first_block
    counts = relation.counts()
    words = ", ".join(f"{counts[verdict]:,} {WORDS[verdict]}" for verdict in Verdict if counts[verdict]) or "none"
    console.print(f"{relation.path}: {pages:,} pages of {size} bytes: {words}")
    blocks = f", blocks {first} to {first + pages - 1}" if pages else ""
    console.print(f"{relation.bytes:,} bytes{blocks}. {says_cluster(relation.cluster)}")
    if words := fork(relation.path):
        console.print(f"this is {words}")
    cells, each = grid(relation, CELLS)
    for at in range(0, len(cells), 72):
        console.print("".join(MARKS[verdict] for verdict in cells[at : at + 72]), markup=True)
    if each > 1:
        console.print(f"a mark stands for {each} pages and shows the worst of them")
    for i, why in faults(relation, LISTED):
        console.print(f"  block {first + i}, byte {i * size}: {why}")
    if (more := len(relation.wrong()) - LISTED) > 0:
        console.print(f"  and {more} more")
    for said in end_of(relation):
        console.print(said)
    for advice in advised(relation):
        console.print(advice)


def other_segment(relation: Relation) -> int | None:
    """Which one it is by its checksums, if all are wrong for the one that its name says."""
    wrong, size, counts = relation.wrong(), relation.block_size, relation.counts()
    # One page alone fits to one of a thousand numbers too easily.
    if len(wrong) < 2 or counts[Verdict.NEW] + counts[Verdict.CHECKSUM] < len(relation.verdicts):
        return None
    with relation.path.open("rb") as file:
        pages = [(i, os.pread(file.fileno(), size, i * size)) for i in wrong[:TRIED]]
    for number in range(min(SEGMENTS, BLOCKS // relation.segment_pages)):
        first = number * relation.segment_pages
        if all(check(page, block_size=size, first_block=first + i) == [0] for i, page in pages if len(page) == size):
            return number
    return None


def advised(relation: Relation) -> list[str]:
    if (number := other_segment(relation)) is not None:
        name = f"16384.{number}" if number else "16384"
        return [f"What to do: the checksums are right for segment {number}: give the file such a name as {name}."]
    return [NEXT] * (not relation.sound) + [UNFIT] * bool((relation.verdicts == Verdict.UNFIT).any())


def says_cluster(cluster: Cluster | None) -> str:
    if cluster is None:
        return (
            "no pg_control was found in the folders above: the pages themselves say their size, and are judged as those"
            " of a cluster with checksums"
        )
    checksums = "pages have checksums" if cluster.checksums else "CHECKSUMS ARE OFF: only headers are checked"
    return f"pg_control of {cluster.path}: {cluster.block_size} bytes a page, {checksums}"


def faults(relation: Relation, most: int | None = None) -> Iterator[tuple[int, str]]:
    """The wrong pages, or the first of them: each one's index, and what is wrong with it."""
    with relation.path.open("rb") as file:
        for i in relation.wrong()[:most]:
            file.seek(i * relation.block_size)
            yield i, fault(file.read(relation.block_size), relation.first_block + i, relation)


def summary(relation: Relation) -> dict[str, Any]:
    """All that is found, with every wrong page."""
    counts, size, cluster = relation.counts(), relation.block_size, relation.cluster
    return {
        "file": str(relation.path),
        "sound": relation.sound,
        "bytes": relation.bytes,
        "block_size": size,
        "pages": len(relation.verdicts),
        "first_block": relation.first_block,
        **{f"pages_{verdict.name.lower()}": counts[verdict] for verdict in Verdict},
        "cluster": cluster
        and {"path": str(cluster.path), "block_size": cluster.block_size, "checksums": cluster.checksums},
        "fork": fork(relation.path),
        "wrong": [
            {
                "block": relation.first_block + i,
                "byte": i * size,
                "verdict": Verdict(relation.verdicts[i]).name.lower(),
                "why": why,
            }
            for i, why in faults(relation)
        ],
        "lacks_pages": relation.lacks_pages,
        "too_long": relation.too_long,
        "rest_bytes": relation.bytes % size,
        "says": end_of(relation) + advised(relation),
    }


def fault(page: bytes, block: int, relation: Relation) -> str:
    """What is wrong with a page, field by field."""
    found = []
    if relation.checksums:
        (right,) = checksums(page, block_size=relation.block_size, first_block=block)
        has = int.from_bytes(page[8:10], "little")
        found.append(f"pd_checksum {has}, calculated {right}" if has != right else "pd_checksum is right")
    refused = unfit(np.frombuffer(page, np.uint8).reshape(1, -1)) if relation.heap else {}
    return "; ".join([*found, *filter(None, [refused.get(0) or header_faults(page)])])


def draw(relation: Relation, file: BinaryIO) -> None:
    """The picture as a PNG: a square for a page, or for several."""
    plt = picture.pyplot()
    from matplotlib.colors import ListedColormap

    cells, each = grid(relation, 128 * 128)
    width = min(128, max(16, int(len(cells) ** 0.5) + 1))
    values = np.full(-(-max(1, len(cells)) // width) * width, np.nan)
    values[: len(cells)] = cells
    figure, axes = plt.subplots(figsize=(8, 1.2 + 7.2 * len(values) / width / width))
    axes.imshow(values.reshape(-1, width), cmap=ListedColormap(COLOURS), vmin=-0.5, vmax=4.5)
    axes.set_xlabel(f"{width} squares a row, {each} page{'s' if each > 1 else ''} a square")
    axes.set_yticks([])
    for verdict in Verdict:
        axes.plot([], [], "s", color=COLOURS[verdict], label=WORDS[verdict])
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, frameon=False, fontsize=8)
    name = os.fsencode(relation.path.name).decode(errors="backslashreplace")
    title = f"{name}: {len(relation.verdicts):,} pages, {len(relation.wrong()):,} wrong"
    axes.set_title(title, parse_math=False)
    figure.savefig(file, format="png", dpi=130, bbox_inches="tight")
    plt.close(figure)


@click.command()
@click.option("--block-size", type=int, help="The BLCKSZ of the server, if no pg_control says it.")
@json_option("Print one JSON object, with every wrong page.")
@click.argument("file")
def main(block_size: int | None, as_json: bool, file: str) -> None:
    """Check the pages of FILE."""
    if not file:
        raise CannotCheck("say which file: pgquern check-pages /path/to/base/DATABASE/RELATION")
    if block_size not in (None, *BLOCK_SIZES):
        raise CannotCheck(f"{block_size} is no size of a block: 1024, 2048, 4096, 8192, 16384 or 32768")
    relation = read(Path(file), block_size)
    # What looks like markup is in a file's name.
    console = Console(soft_wrap=True, highlight=False, markup=False)
    if not as_json:
        show(relation, console)
    drawing = picture.of_file("check-pages", relation.path, ".png", lambda target: draw(relation, target))
    if as_json:
        print_json({**summary(relation), "picture": drawing})
    elif drawing:
        console.print(f"picture: {drawing}")
    sys.exit(0 if relation.sound else 1)


if __name__ == "__main__":
    main()
