# SPDX-License-Identifier: PostgreSQL
"""What pg_waldump prints, as records of the oracle, with what replay does to each block.

A listing has a line a record; `pg_waldump -b` adds lines for the blocks, which are read too. It must be complete: each
record names the one before it. It does not say which blocks are initialised: INITIALISED does, from the calls of
XLogRegisterBuffer with REGBUF_WILL_INIT in upstream's access methods. Where a line was marked from the WAL itself
(wal.py), the mark counts.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ref.prefetch import MAIN_FORK, NO_RELATION, BlockReference, Effect, Record, Relation
from tools.trace.text import LONGEST, lines

FORKS = {None: MAIN_FORK, "main": MAIN_FORK, "fsm": 1, "vm": 2, "init": 3}
DEFAULT_TABLESPACE, GLOBAL_TABLESPACE = 1663, 1664
XLR_MAX_BLOCK_ID = 32
PAGE, SHORT_HEADER, LONG_HEADER = 8192, 24, 40
"""Of WAL: a segment's first page has the long header."""
SEGMENT = 16 << 20
"""wal_segment_size, by default."""
DECODED_FIXED, DECODED_BLOCK = 88, 64
"""sizeof of a DecodedXLogRecord without blocks, and of a DecodedBkpBlock, on 64-bit machines."""


class ListingError(ValueError):
    """The listing cannot be read; the text says where and why."""


class Replay(Enum):
    """What replay does with a block."""

    READ = "read"
    """It reads the page, if the block exists."""
    INIT = "init"
    """It writes the page anew, from nothing or from a full page image: nothing is read, and the file may grow."""
    NOTHING = "nothing"


MAX_BLOCK = 0xFFFFFFFE
MIN_RECORD, MAX_RECORD = 24, 1020 << 20
"""Bytes: a header, and XLogRecordMaxSize (xlogrecord.h)."""


@dataclass(frozen=True)
class Listed:
    """A record of a listing. `kind`: resource manager and record type. `replays`: by block, as in record.blocks."""

    record: Record
    kind: str
    replays: tuple[Replay, ...]
    drops: tuple[Relation, ...]
    """Relations whose files are removed."""
    length: int
    """Bytes of the record in the WAL."""
    decoded: tuple[int, int] = (0, 0)
    """The fewest and the most bytes of a decode buffer that it may take."""
    end: int = 0
    """The LSN behind its last byte."""
    committed: str = ""
    """When, if it is a commit."""
    guessed: bool = False
    """The listing does not tell which of its blocks are initialised: none are taken to be."""


ALL = set(range(XLR_MAX_BLOCK_ID + 1))
INITIALISED: dict[str, set[int]] = {
    "Heap INSERT+INIT": {0},
    "Heap UPDATE+INIT": {0},
    "Heap HOT_UPDATE+INIT": {0},
    "Heap2 MULTI_INSERT+INIT": {0},
    "Btree SPLIT_L": {1},
    "Btree SPLIT_R": {1},
    "Btree NEWROOT": {0, 2},
    "Btree INSERT_META": {2},
    "Btree META_CLEANUP": {0},
    "Btree MARK_PAGE_HALFDEAD": {0},
    "Btree UNLINK_PAGE": {0, 3},
    "Btree UNLINK_PAGE_META": {0, 3, 4},
    "Sequence LOG": {0},
    "Gin CREATE_PTREE": {0},
    "Gin UPDATE_META_PAGE": {0},
    "Gin INSERT_LISTPAGE": {0},
    "Gin DELETE_LISTPAGE": ALL,
    "Gist PAGE_SPLIT": ALL - {0},
    "BRIN CREATE_INDEX": {0},
    "BRIN INSERT+INIT": {0},
    "BRIN UPDATE+INIT": {0},
    "BRIN REVMAP_EXTEND": {1},
    "Hash INIT_META_PAGE": {0},
    "Hash INIT_BITMAP_PAGE": {0},
    "Hash ADD_OVFL_PAGE": {0, 3},
    "Hash SPLIT_ALLOCATE_PAGE": {1},
}
"""By kind: the blocks that are initialised. Other kinds of these resource managers initialise none."""
NEW_PAGE = {"ADD_LEAF": (0, ""), "MOVE_LEAFS": (1, "nmoves: "), "ADD_NODE": (1, "newoff: "), "SPLIT_TUPLE": (1, "")}
"""Of SP-GiST: the block that is initialised if the page is new. Where the line lacks the word beside, as before 16, it
does not tell; of PICKSPLIT none tells."""
KNOWN = {"XLOG", "Transaction", "Storage", "CLOG", "Database", "Tablespace", "MultiXact", "RelMap", "Standby", "Heap2",
         "Heap", "Btree", "Hash", "Gin", "Gist", "SPGist", "BRIN", "Sequence", "CommitTs", "ReplicationOrigin",
         "Generic", "LogicalMessage"}  # fmt: skip
"""Resource managers of which this module knows what their records do."""

MARK = "; initialises "
"""Before the numbers of the blocks that a record initialises, or "none", at the end of a marked line."""
_LINE = re.compile(
    r"rmgr: (?P<rmgr>\S+)\s+len \(rec/tot\):\s*\d{1,10}/\s*(?P<length>\d{1,18}), tx:\s*\d{1,20}, "
    r"lsn: (?P<lsn>[0-9A-F]{1,8}/[0-9A-F]{1,8}), prev (?P<prev>[0-9A-F]{1,8}/[0-9A-F]{1,8}), "
    r"desc: (?P<type>[A-Z_0-9+]+)\b(?P<rest>.*)"
)
_BLOCK = re.compile(
    r"blkref #(\d\d?): rel (\d{1,10})/(\d{1,10})/(\d{1,10})(?: fork (\w+))? blk (\d{1,10})\b"
    r"(?: \(?FPW(?P<verify> for WAL verification)?\)?)?"
)
_PATH = re.compile(r"(?<!\w)(?:base/(\d{1,10})|(global)|pg_tblspc/(\d{1,10})/[^/]+/(\d{1,10}))/(\d{1,10})(?![\d_])")
_COMMITTED = re.compile(r" (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?)")
_MESSAGE = re.compile(r"(?:\S*/)?pg_waldump: ")
"""What pg_waldump itself says at its end, of the place where the WAL does not go on, if both went to one file."""


def lsn_of(text: str) -> int:
    """0/155A1B8 as a number."""
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def lsn_text(lsn: int) -> str:
    """And back, as servers write it."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def relation_of(path: str) -> Relation | None:
    """The relation whose main fork lies at a path such as base/5/16384; None for any other path."""
    found = _PATH.search(path)
    if found is None:
        return None
    base, shared, tablespace, database, number = found.groups()
    if shared:
        return Relation(GLOBAL_TABLESPACE, 0, int(number))
    return Relation(int(tablespace or DEFAULT_TABLESPACE), int(base or database), int(number))


def read_listing(path: Path, *, guess: bool = False) -> list[Listed]:
    """All records. ListingError if a line is garbled, a record is missing, or none is there; and, unless guess is set,
    if it is not known which blocks a record initialises."""
    found = _matches(path)
    ahead: tuple[int, re.Match[str]] | None = next(found)
    listed: list[Listed] = []
    while ahead:
        (number, match), ahead = ahead, next(found, None)
        after = ahead[1] if ahead else None
        lsn = lsn_of(match["lsn"])
        if listed and lsn_of(match["prev"]) != listed[-1].record.lsn:
            raise ListingError(
                f"{path}, line {number}: the record at {match['lsn']} follows one at {match['prev']}, but the line "
                f"before lists {lsn_text(listed[-1].record.lsn)}: records are missing"
            )
        next_lsn = lsn_of(after["lsn"]) if after else lsn + int(match["length"])
        if next_lsn <= lsn:
            raise ListingError(f"{path}, line {number}: the next record does not start after {match['lsn']}")
        listed.append(_listed(match, lsn, next_lsn, f"{path}, line {number}"))
        if listed[-1].guessed and not guess:
            raise ListingError(
                f"{path}, line {number}: it is not known here which blocks {listed[-1].kind} initialises, and the line "
                "does not tell"
            )
    return listed


def _matches(path: Path) -> Iterator[tuple[int, re.Match[str]]]:
    """The records, with their lines' numbers: at least one."""
    number = 0
    for number, line in _joined(path):
        match = _LINE.match(line)
        if match is None:
            more = ". Is it a segment of the log? Give what pg_waldump prints of it" * ("\0" in line)
            raise ListingError(f"{path}, line {number} is not a record as pg_waldump prints it: {line[:60]!r}{more}")
        yield number, match
    if not number:
        raise ListingError(f"{path}: no record; it must be what pg_waldump prints")


def _joined(path: Path) -> Iterator[tuple[int, str]]:
    """Each record's lines as one: those about blocks are indented. With the number of the first of them."""
    number, record, message = 0, "", ""
    for at, line in enumerate(lines(path), 1):
        if not line.strip():
            continue
        if _MESSAGE.match(line):
            message = line
            continue
        if message:
            raise ListingError(f"{path}, line {at}: something follows what pg_waldump ended with: {message[:200]!r}")
        if not line.endswith("\n") and _LINE.match(record or line):  # otherwise it is no listing at all
            raise ListingError(f"{path}: the last line is cut off")
        if record and line[0] in " \t":
            record += "," + line.rstrip("\n")
            if len(record) > LONGEST:
                raise ListingError(f"{path}, line {at}: no record is described by so many lines")
            continue
        if record:
            yield number, record
        number, record = at, line.rstrip("\n")
    if record:
        yield number, record
    elif message:
        raise ListingError(f"{path}: no record; pg_waldump says: {message.strip()[:200]}")


def _initialised(kind: str, rest: str) -> set[int] | None:
    """The blocks that a record initialises; None: it cannot be told."""
    _, mark, blocks = rest.rpartition(MARK)
    if mark and re.fullmatch(r"none|\d+(?: \d+)*", blocks):
        return set() if blocks == "none" else set(map(int, blocks.split()))
    rmgr, _, type = kind.partition(" ")
    if rmgr == "SPGist" and type in NEW_PAGE:
        block, tells = NEW_PAGE[type]
        if tells not in rest:
            return None
        return {block} if "(newpage)" in rest or ", new 1)" in rest else set()
    return None if rmgr not in KNOWN or kind == "SPGist PICKSPLIT" else INITIALISED.get(kind, set())


def _listed(match: re.Match[str], lsn: int, next_lsn: int, where: str) -> Listed:
    kind, rest = f"{match['rmgr']} {match['type']}", match["rest"]
    told = _initialised(kind, rest)
    blocks, replays = [], []
    for found in _BLOCK.finditer(rest):
        number, tablespace, database, relation, fork, block = found.groups()[:6]
        if fork not in FORKS:
            raise ListingError(f"{where}: no fork is called {fork!r}")
        has_image = "FPW" in found.group()
        init = int(number) in (told or ())
        name = Relation(int(tablespace), int(database), int(relation))
        blocks.append(BlockReference(name, int(block), FORKS[fork], has_image, init))
        if init or (has_image and not found["verify"]):
            replays.append(Replay.INIT)
        else:
            replays.append(Replay.NOTHING if kind == "XLOG FPI_FOR_HINT" else Replay.READ)
    numbers = [int(found[1]) for found in _BLOCK.finditer(rest)]
    if (
        len(blocks) < rest.count("blkref #")
        or any(block.block > MAX_BLOCK for block in blocks)
        or max(numbers, default=0) > XLR_MAX_BLOCK_ID
    ):
        raise ListingError(f"{where}: a reference to a block is garbled")
    effect, relation, length = _effect(kind, rest, where)
    record = Record(lsn, next_lsn, tuple(blocks), effect, relation, length)
    if not MIN_RECORD <= int(match["length"]) <= MAX_RECORD:
        raise ListingError(f"{where}: no record has {match['length']} bytes")
    total, slots = int(match["length"]), max(numbers, default=-1) + 1
    decoded = _decoded_size(total, slots, tuple(blocks))
    guessed = told is None and Replay.READ in replays
    drops = tuple(_drops(kind, rest))
    committed = _COMMITTED.match(rest) if match["type"] == "COMMIT" else None
    time = committed[1] if committed else ""
    return Listed(record, kind, tuple(replays), drops, total, decoded, _end(lsn, total), time, guessed)


def _end(lsn: int, length: int) -> int:
    """The LSN behind a record's last byte: pages that begin within it begin with a header."""
    while length > (room := PAGE - lsn % PAGE):
        length -= room
        lsn += room
        lsn += LONG_HEADER if lsn % SEGMENT == 0 else SHORT_HEADER
    return lsn + length


def _decoded_size(total: int, slots: int, blocks: tuple[BlockReference, ...]) -> tuple[int, int]:
    """What DecodeXLogRecord may take for a record of `total` bytes: its struct, and all data, each piece aligned.

    A listing does not tell how the data is divided, so not how much is padding, nor each header's length: that of an
    image has 5 or 7 bytes, that of the main data 2 or 5 if there is any; an origin and a transaction may have 3 and 5.
    """
    named = [a.relation == b.relation for a, b in itertools.pairwise(blocks)]
    headers = 24 + sum(8 + 5 * block.has_image for block in blocks) + 12 * (len(blocks) - sum(named))
    optional = 2 * sum(block.has_image for block in blocks) + 5 + 3 + 5
    struct = DECODED_FIXED + DECODED_BLOCK * slots
    most = max(total - headers, 0)
    return struct + _aligned(max(most - optional, 0)), struct + _aligned(most + 7 * (len(blocks) + 1))


def _aligned(size: int) -> int:
    return -(-size // 8) * 8


def _effect(kind: str, rest: str, where: str) -> tuple[Effect, Relation, int]:
    """What else a record does. A record that creates or truncates another fork than the main one does nothing here."""
    if kind in ("XLOG CHECKPOINT_SHUTDOWN", "XLOG END_OF_RECOVERY"):
        return Effect.TIMELINE, NO_RELATION, 0
    if kind == "Storage CREATE":
        created = relation_of(rest)
        return (Effect.CREATE, created, 0) if created else (Effect.NONE, NO_RELATION, 0)
    if kind == "Storage TRUNCATE":
        truncated, length = relation_of(rest), re.search(r" to (\d{1,10}) blocks", rest)
        if not truncated or not length:
            raise ListingError(f"{where}: a truncation that does not say of what, and to how many blocks")
        return Effect.TRUNCATE, truncated, int(length[1])
    if kind == "Database CREATE_FILE_COPY":
        copied = re.search(r"to (?:pg_tblspc/\d+/[^/]+|base|\d+)/(\d{1,10})", rest)
        if not copied:
            raise ListingError(f"{where}: a database is created, and its directory is not named")
        return Effect.CREATE_DATABASE, Relation(0, int(copied[1]), 0), 0
    return Effect.NONE, NO_RELATION, 0


def _drops(kind: str, rest: str) -> Iterator[Relation]:
    """The relations that the end of a transaction removes."""
    if kind.startswith("Transaction ") and (rels := re.search(r"; rels:((?: [^ ;]+)+)", rest)):
        for path in rels[1].split():
            if relation := relation_of(path):
                yield relation
