# SPDX-License-Identifier: PostgreSQL
"""A relation file, and a verdict on each of its pages."""

import os
import re
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path

import click
import pgquern.tornpage
from pgquern.compaction import TupleBounds, suspect_tuples
from pgquern.tornpage import verdicts as check_all

from ref.page import LP_NORMAL, line_pointers
from tools.check_pages import index_pages
from tools.check_pages.catalog import HEAP_AM, Xact, catalog_of
from tools.check_pages.tuples import Bounds, faults
from tools.common.heap_tuple import tuple_at
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
    header_faults,
    major_of,
    os_words,
    segment,
)
from tools.look.refused import SIZE, index_kind, why_refused

CHUNK = 2 * 1024 * 1024
"""Bytes that are read at a time: so many stay in the CPU's cache while they are checked."""
SEGMENT_BYTES = 1 << 30
"""Of a relation's segment file."""
AGAIN = 3
"""How often a wrong page is read."""
HEAD = 1 << 18
"""Bytes by which a file's kind and size of pages are found."""
TRIED, SEGMENTS = 3, 1024
"""Pages, and numbers of a segment, that are tried if all checksums are wrong."""
FEW = 512
"""Blocks among which one with a right checksum is hardly there by chance."""


class Verdict(IntEnum):
    """A cell that stands for several pages shows the greatest among them."""

    NEW, SOUND, ROWS, HEADER, CHECKSUM = range(5)


Verdicts = bytes
"""Of each page, a Verdict."""
WRONG = re.compile(rb"[^%c%c]" % (Verdict.NEW, Verdict.SOUND))
OURS = bytes.maketrans(
    bytes(one.value for one in pgquern.tornpage.Verdict), bytes(Verdict[one.name] for one in pgquern.tornpage.Verdict)
)


class CannotCheck(click.ClickException):
    """The file is no relation file that can be checked."""

    exit_code = 2


NO_BOUNDS = Bounds()


@dataclass(frozen=True)
class Rows:
    """What is known of the rows of a relation file."""

    table: str = ""
    """Its name, schema before it; empty if no catalog says it."""
    am: int = 0
    """The OID of its access method; 0: not known."""
    bounds: Bounds = NO_BOUNDS


@dataclass(frozen=True)
class Relation:
    """A relation file and what was found in it."""

    path: Path
    bytes: int
    block_size: int
    first_block: int
    cluster: Cluster | None
    kind: str
    """"heap", one of index_pages.KINDS, or empty: only the pages' headers are known."""
    rows: Rows
    checksums: bool
    verdicts: Verdicts

    def wrong(self) -> list[int]:
        """Indexes of the wrong pages."""
        return [found.start() for found in WRONG.finditer(self.verdicts)]

    @property
    def segment_pages(self) -> int:
        """Of a segment that is full."""
        return self.cluster.segment_blocks if self.cluster else SEGMENT_BYTES // self.block_size

    @property
    def lacks_pages(self) -> bool:
        """Whether a next segment exists though this one is not full."""
        if not re.fullmatch(r"(t\d+_)?\d+(_\w+)?(\.\d+)?", self.path.name):
            return False
        # A server that cuts a relation leaves its further segments empty.
        return len(self.verdicts) < self.segment_pages and any_bytes(self._segment(segment(self.path) + 1))

    @property
    def lost_segment(self) -> int | None:
        """A segment that is not there, though there is one after it; of the cluster that has both."""
        number = segment(self.path)
        if not self.cluster or not self.bytes:
            return None
        if number and not self._segment(number - 1).exists():
            return number - 1
        # Few are full: the folder is listed for those alone.
        if len(self.verdicts) < self.segment_pages or self._segment(number + 1).exists():
            return None
        others = self.path.parent.glob(f"{self._segment(0).name}.*")
        return number + 1 if any(segment(path) > number and any_bytes(path) for path in others) else None

    def _segment(self, number: int) -> Path:
        name = self.path.name.partition(".")[0]
        return self.path.with_name(f"{name}.{number}" if number > 0 else name)

    @property
    def too_long(self) -> bool:
        """Whether it has more pages than its cluster gives a segment."""
        return self.cluster is not None and len(self.verdicts) > self.segment_pages

    @property
    def sound(self) -> bool:
        lost = self.lost_segment is not None
        return not (self.wrong() or self.lacks_pages or lost or self.too_long or self.bytes % self.block_size)


def any_bytes(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def choose_block_size(path: Path, head: bytes, cluster: Cluster | None, asked: int | None) -> int:
    """What was asked for, or what pg_control says, or else the pages. CannotCheck: most pages say another size."""
    if cluster:
        if asked not in (None, cluster.block_size):
            raise CannotCheck(
                f"{path}: pg_control of {cluster.path} says {cluster.block_size}: leave {option('BLOCK_SIZE')} out"
            )
        return cluster.block_size
    found = format_of(head)
    if words := foreign(found):
        raise CannotCheck(f"{path}: {words}")
    says = found and found.block_size
    size = asked or says or 8192
    if says not in (None, size):
        raise CannotCheck(
            f"{path}: the pages say that they have {says} bytes, not {size}: give {option('BLOCK_SIZE', says)}"
        )
    return size


def rows_of(path: Path, cluster: Cluster | None) -> Rows:
    """By the files of the cluster's catalogs."""
    if not cluster:
        return Rows()
    major, status = major_of(path), Xact(cluster.path).status
    found = catalog_of(path, cluster, int(major)) if major.isdigit() else None
    if not found or not (row := found[1]):
        return Rows(bounds=Bounds(cluster.ids, status=status))
    ids = cluster.ids
    oldest = (row.relfrozenxid, row.relminmxid) if ids.shut_down or row.lsn <= ids.redo else (0, 0)
    return Rows(found[0].name(row), row.am, Bounds(ids, *oldest, row.natts * ids.shut_down, status))


def kind_of(path: Path, head: bytes, block_size: int, am: int) -> str:
    """Of the main fork, by the catalog, or else by most of its first pages."""
    if block_size != SIZE or fork(path):
        return ""
    if am:
        return "heap" if am == HEAP_AM else index_pages.BY_AM.get(am, "")
    return index_kind(head[: len(head) // SIZE * SIZE]) or "heap"


def read(path: Path, asked: int | None, *, checksums: bool = True) -> Relation:
    """Check all pages. checksums: those of a file without a cluster have some.

    CannotCheck: no relation file, or another block size, or no checksums and no pg_control.
    """
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
        rows = rows_of(path, cluster)
    except ClusterError as error:
        raise CannotCheck(f"{path}: {error}") from error
    block_size = choose_block_size(path, head, cluster, asked)
    first = segment(path) * (cluster.segment_blocks if cluster else SEGMENT_BYTES // block_size)
    if first + path.stat().st_size // block_size > BLOCKS:
        raise CannotCheck(f"{path}: {NO_SEGMENT}")
    kind, have = kind_of(path, head, block_size, rows.am), cluster.checksums if cluster else checksums
    relation = Relation(path, 0, block_size, first, cluster, kind, rows, have, b"")
    found, done, seen, stored = list[tuple[int, bytes]](), 0, 0, False
    try:
        with path.open("rb", buffering=0) as file:
            for at, content in chunks(file, CHUNK // block_size * block_size, block_size):
                page, pages = at // block_size, content[: len(content) // block_size * block_size]
                found.append((page, verdicts_of(pages, first + page, relation)))
                done, seen = page + len(found[-1][1]), at + len(content)
                stored = stored or any(any(pages[i + 8 : i + 10]) for i in range(0, len(pages), block_size))
        verdicts = bytearray(seen // block_size)  # what is in holes is new
        for page, those in found:
            verdicts[page : page + len(those)] = those
        relation = replace(relation, bytes=seen, verdicts=bytes(verdicts))
        if not cluster and not stored and Verdict.CHECKSUM in verdicts:
            raise CannotCheck(
                f"{path}: no page has a checksum, and there is no pg_control in the folders above that says whether the"
                " cluster was made without --data-checksums: check the file where it lies in its cluster (of a"
                f" tablespace: by pg_tblspc), or give {option('NO_CHECKSUMS')}"
            )
        return replace(relation, verdicts=confirmed(relation))
    except OSError as error:
        raise CannotCheck(f"{path}: after block {first + done}: {os_words(path, error)}") from error


def verdicts_of(pages: bytes | memoryview, first: int, relation: Relation) -> bytes:
    """Of pages from block `first` on. Without checksums a page that has only a wrong one is judged by the rest."""
    size = relation.block_size
    found = bytearray(check_all(pages, block_size=size, first_block=first).translate(OURS))
    if not relation.checksums:
        found = found.replace(bytes([Verdict.CHECKSUM]), bytes([Verdict.SOUND]))
    for i in doubted(pages, first, relation):
        if found[i] == Verdict.SOUND:
            header, *others = said_of(bytes(pages[i * size : (i + 1) * size]), first + i, relation)
            found[i] = Verdict.HEADER if header else Verdict.ROWS if others else Verdict.SOUND
    return bytes(found)


def doubted(pages: bytes | memoryview, first: int, relation: Relation) -> Iterator[int]:
    """The indexes of all pages of which said_of may say something.

    Without numpy, here and beside it: to load that takes longer than to check half a gigabyte.
    """
    size, end = relation.block_size, end_of_log(relation) or 1 << 64
    if relation.kind == "heap":
        suspect = suspect_tuples(pages, tuple_bounds(relation.rows.bounds), first_block=first)
    else:
        suspect = index_pages.suspect(pages, size, relation.kind)
    least = size if relation.kind == "heap" else 0
    headers = struct.iter_unpack(f"<II2x5H{size - 20}x", pages)
    for i, (high, low, flags, lower, upper, special, version) in enumerate(headers):
        odd = flags > 7 or version != size | 4 or special % 8 or high << 32 | low > end
        if odd or suspect[i] or not (upper > 0 and lower <= upper <= special and least <= special <= size):
            yield i


def end_of_log(relation: Relation) -> int:
    """No page has a pd_lsn beyond it; 0: not known."""
    ids = relation.cluster and relation.cluster.ids
    return ids.checkpoint if ids and ids.shut_down else 0


def tuple_bounds(bounds: Bounds) -> TupleBounds:
    """As the kernel takes them."""
    ids, ends = bounds.ids, bounds.ids.shut_down
    return TupleBounds(
        next_xid=ids.next_xid * ends,
        oldest_xid=ids.oldest_xid,
        relfrozenxid=bounds.relfrozenxid,
        next_multi=ids.next_multi * ends,
        oldest_multi=ids.oldest_multi,
        relminmxid=bounds.relminmxid,
        natts=bounds.natts,
    )


def said_of(page: bytes, block: int, relation: Relation) -> list[str]:
    """What is wrong with a page beside its checksum: first the header's faults, or nothing, then the others."""
    header = [header_faults(page)]
    lsn = int.from_bytes(page[:4], "little") << 32 | int.from_bytes(page[4:8], "little")
    if (end := end_of_log(relation)) and lsn > end:
        header.append(f"pd_lsn {_lsn(lsn)} lies beyond the end of the log, {_lsn(end)}")
    others = list[str]()
    if relation.kind == "heap":
        refused = why_refused(page).get(0, "")
        others.append(refused.removeprefix(header[0]).removeprefix("; "))
        if not relation.checksums and (other := block_of_rows(page, least=2)) not in (None, block):
            others.append(f"its rows say that they are of block {other}")
        others += [f"line pointer {number}: {words}" for number, words in faults(page, block, relation.rows.bounds)]
    elif relation.kind:
        others += index_pages.faults(page, relation.kind)
    return [", ".join(filter(None, header)), *filter(None, others)]


def _lsn(lsn: int) -> str:
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def block_of_rows(page: bytes, least: int = 0) -> int | None:
    """Which block the rows without xmax point to, their own; None if they do not agree, or fewer than 2 do.

    least: so many of them must not be frozen. Freezing takes the xmax of an update that was aborted away, and leaves
    t_ctid as it is: it points to where the new row was.
    """
    seen, frozen = Counter[int](), 0
    for number, (off, flags, length) in enumerate(line_pointers(page), 1):
        if flags == LP_NORMAL and length >= 24 and off + length <= len(page):
            one = tuple_at(page, off, length)
            if not one.xmax and one.offset == number:
                seen[one.block] += 1
                frozen += one.xmin_frozen
    return next(iter(seen)) if len(seen) == 1 and seen.total() > max(1, frozen + least - 1) else None


def right_block(page: bytes, relation: Relation) -> int | None:
    """The block for which a page's checksum is right, though not for the one that it lies in."""
    size, pages, first = relation.block_size, len(relation.verdicts), relation.first_block
    rows = block_of_rows(page) if relation.kind == "heap" else None
    nearby = range(first, first + pages) if pages <= FEW else ()
    right = [
        n for n in ([rows] if rows is not None else nearby) if check_all(page, block_size=size, first_block=n) == SOUND
    ]
    return right[0] if len(right) == 1 else None


SOUND = bytes([pgquern.tornpage.Verdict.SOUND])


def confirmed(relation: Relation) -> bytes:
    """The verdicts, after wrong pages were read again."""
    found, size = bytearray(relation.verdicts), relation.block_size
    with relation.path.open("rb", buffering=0) as file:
        for i in relation.wrong():
            for _ in range(AGAIN):
                file.seek(i * size)
                page = file.read(size)
                if len(page) == size and found[i] > Verdict.SOUND:
                    (found[i],) = verdicts_of(page, relation.first_block + i, relation)
    return bytes(found)


def other_segment(relation: Relation) -> int | None:
    """Which one it is by its checksums, if all are wrong for the one that its name says."""
    wrong, size = relation.wrong(), relation.block_size
    # One page alone fits to one of a thousand numbers too easily.
    if len(wrong) < 2 or not {*relation.verdicts} <= {Verdict.CHECKSUM, Verdict.NEW}:
        return None
    with relation.path.open("rb") as file:
        pages = [(i, os.pread(file.fileno(), size, i * size)) for i in wrong[:TRIED]]
    for number in range(min(SEGMENTS, BLOCKS // relation.segment_pages)):
        first = number * relation.segment_pages
        if all(
            check_all(page, block_size=size, first_block=first + i) == SOUND for i, page in pages if len(page) == size
        ):
            return number
    return None
