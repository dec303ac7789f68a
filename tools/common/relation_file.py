# SPDX-License-Identifier: PostgreSQL
"""What a file of a cluster is, by its type, its name and its first bytes; and the cluster that it lies in."""

import errno
import os
import re
import stat
import struct
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from io import FileIO
from mmap import mmap
from pathlib import Path
from typing import NamedTuple

from tools.common.crc32c import crc32c

BLOCK_SIZES = (1024, 2048, 4096, 8192, 16384, 32768)
FLOAT_FORMAT = struct.pack("<d", 1234567.0)
"""In pg_control of all versions; the sizes of blocks follow it."""
CONTROLS = {960: "9.6", 1002: "10", 1100: "11", 1201: "12", 1300: "13 to 16", 1700: "17", 1800: "18"}
"""The versions of pg_control that are known: those have the checksums' version at one place, and a CRC-32C."""
FULL_XIDS = 1201
"""The first version whose next XID is a FullTransactionId."""
SHUT_DOWN = 1
"""DBState: DB_SHUTDOWNED. (A standby's pages may be newer than its last restartpoint.)"""
AGAIN = 10
"""How often a pg_control that seems damaged is read."""
BLOCKS = 2**32 - 1
"""Of a relation, at most."""
NO_SEGMENT = f"a relation has at most {BLOCKS:,} pages: none has this segment"
LAYOUTS = {1: "7.3 and 7.4", 2: "8.0", 3: "8.1 and 8.2"}
"""Of pages, before today's 4."""
MOUNTED = "PG_VERSION.mounted-by-pgquern"
NOT_ITS_FILES = (
    "is mounted by pgquern mount, or was when that or the machine stopped: its newest pages may be elsewhere, and torn"
    " ones are not mended yet. Give the mount point (findmnt -t fuse.pgquern), or run pgquern unmount on it first"
)
"""Where PG_VERSION is while the cluster is mounted, and what is said then."""
TYPES = {
    stat.S_ISDIR: "a directory: give a relation's file in it, such as base/5/16384",
    stat.S_ISFIFO: "a FIFO, which has no pages: give a relation's file",
    stat.S_ISSOCK: "a socket, which has no pages: give a relation's file",
    stat.S_ISCHR: "a device: give a relation's file",
    stat.S_ISBLK: "a device, not a file on it: mount it, and give a relation's file",
}
SLRU = ("pg_xact", "pg_clog", "pg_subtrans", "pg_commit_ts", "pg_serial", "offsets", "members", "pg_notify")
NAMES = {
    r"pg_control": "the cluster's control file: pg_controldata shows it, and checks its CRC",
    r"pg_filenode\.map": "the map of the catalogs' files; it has a CRC, which a server checks when it starts",
    r"pg_internal\.init.*": "a cache of the catalogs: delete it while the server is stopped, and it is made again",
    r"[0-9A-F]{24}(\.partial)?": "a segment of the write-ahead log: pg_waldump reads it, and checks each record's CRC",
    r"pgsql_tmp.*": "a temporary file of a query, which has no page headers: a server deletes it when it starts",
}
FORKS = {
    "fsm": "the free space map of relation {}: a server puts an empty page in the place of a wrong one",
    "vm": "the visibility map of relation {}: a server puts an empty page in the place of a wrong one; VACUUM fills it",
    "init": "the empty copy of unlogged relation {}, from which it is made again after a crash",
}


@dataclass(frozen=True)
class Ids:
    """The ids of the last checkpoint; 0: not known. Of a cluster that was shut down nothing is newer."""

    shut_down: bool = False
    checkpoint: int = 0
    """The LSN of its record: what is on a page of a cluster that was shut down ends there."""
    next_xid: int = 0
    oldest_xid: int = 0
    next_multi: int = 0
    oldest_multi: int = 0
    epoch: int = 0
    next_offset: int = 0
    """Of pg_multixact/members."""
    oldest_active: int = 0
    time: int = 0
    """Of the checkpoint, in seconds since 1970."""
    system: int = 0
    """The cluster's identifier."""
    redo: int = 0
    """Where the checkpoint began: what was logged before is on the pages."""


@dataclass(frozen=True)
class Cluster:
    """What pg_control says."""

    path: Path
    block_size: int
    segment_blocks: int  # of a relation's files
    checksums: bool
    ids: Ids = Ids()
    is_backup: bool = False
    """It has a backup_label: files are older and newer than pg_control, whose ids say nothing then."""


class ClusterError(ValueError):
    """What is known of the cluster is damaged, or of a version that is not known; the text says what to do."""


def above(path: Path) -> Iterator[Path]:
    """The folders above a file: by its name (that of a tablespace's may begin in its cluster), then where it lies."""
    named = Path(os.path.abspath(path)).parents
    yield from named
    yield from (folder for folder in path.resolve().parents if folder not in named)


def start_of(path: Path, size: int) -> bytes | None:
    """The first bytes of a regular file; None if there is none that can be read."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return None


def chunks(file: FileIO, size: int, page: int) -> Iterator[tuple[int, memoryview]]:
    """The file, so many bytes at a time, and where each lies; holes of whole pages, which are all zero, are left out.

    The last has fewer bytes, or none, and ends where the file does. What a server appends after that is left out. All
    lie in the same memory, one after the other. It begins where a page of memory does: 16 bytes further on a Zen 3
    copies at a quarter of its speed.
    """
    at, more, room = 0, True, memoryview(mmap(-1, size))
    while more:
        try:
            data = os.lseek(file.fileno(), at, os.SEEK_DATA)
        except OSError as error:
            # The rest is one hole; or the file system cannot say where data is.
            data = os.fstat(file.fileno()).st_size if error.errno == errno.ENXIO else at
        at = max(at, data // page * page)
        file.seek(at)
        got = file.readinto(room)
        yield at, room[:got]
        at, more = at + got, got == size


def cluster_of(path: Path) -> Cluster | None:
    """That of the nearest folder above which has a global/pg_control; None if there is none that can be read.

    ClusterError: it cannot be followed.
    """
    for top in above(path):
        if (control := start_of(top / "global" / "pg_control", 8192)) is None:
            continue
        # A server that writes it at this moment is no fault.
        for _ in range(AGAIN):
            if not control_fault(control):
                break
            time.sleep(0.01)
            control = start_of(top / "global" / "pg_control", 8192) or b""
        if words := control_fault(control):
            raise ClusterError(f"pg_control of {top}{words}")
        if (top / MOUNTED).exists():
            raise ClusterError(f"{top} {NOT_ITS_FILES}")
        at = control.find(FLOAT_FORMAT) + len(FLOAT_FORMAT)
        block_size, segment_blocks = struct.unpack_from("<II", control, at)
        (checksums,) = struct.unpack_from("<I", control, at + 36)
        is_backup = (top / "backup_label").exists()
        ids = Ids() if is_backup else _ids(control)
        return Cluster(top, block_size, segment_blocks, checksums != 0, ids, is_backup)
    return None


def _ids(control: bytes) -> Ids:
    """ControlFileData and CheckPoint, src/include/catalog/pg_control.h: at these places since 12, on 64 bits."""
    if int.from_bytes(control[8:12], "little") < FULL_XIDS:
        return Ids()
    (state,) = struct.unpack_from("<I", control, 16)
    checkpoint, redo = struct.unpack_from("<QQ", control, 32)
    found = struct.unpack_from("<Q7I4xq8xI", control, 64)
    next_xid, _, next_multi, next_offset, oldest_xid, _, oldest_multi, _, at, oldest_active = found
    ids = (state == SHUT_DOWN, checkpoint, next_xid & 0xFFFFFFFF, oldest_xid, next_multi, oldest_multi)
    (system,) = struct.unpack_from("<Q", control)
    return Ids(*ids, next_xid >> 32, next_offset, oldest_active, at, system, redo)


@cache
def control_fault(control: bytes) -> str:
    """Why nothing can be taken from a pg_control; empty if it is sound."""
    alone = "; a copy of the file outside of that folder is judged by what its pages say"
    version = int.from_bytes(control[8:12], "little")
    if int.from_bytes(control[8:12], "big") in CONTROLS:
        return ": a big-endian machine wrote it, and pages of one are not known here"
    if version not in CONTROLS and version in range(800, 10000):
        known = ", ".join(f"{number} (PostgreSQL {major})" for number, major in CONTROLS.items())
        return f" has the version {version}: known are {known}{alone}"
    at = control.find(FLOAT_FORMAT) + len(FLOAT_FORMAT)
    places = range(at + 40, min(at + 128, len(control) - 4), 4)  # the CRC is the last field
    if at < len(FLOAT_FORMAT) or not any(crc32c(control[:to]) == _number(control, to) for to in places):
        return f" is damaged: its CRC is wrong, and no server would start{alone}"
    if (aligned := _number(control, at - 12) or _number(control, at - 16)) != 8:
        return f": its machine aligns to {aligned} bytes: only pages of 64-bit machines are known here"
    if _number(control, at) not in BLOCK_SIZES or not _number(control, at + 4):
        return (
            f" is damaged: it says blocks of {_number(control, at)} bytes, {_number(control, at + 4)} a segment{alone}"
        )
    return ""


def _number(control: bytes, at: int) -> int:
    return int.from_bytes(control[at : at + 4], "little")


def major_of(path: Path) -> str:
    """What PG_VERSION of the nearest folder above says, or a tablespace's folder; empty if there is none.

    ClusterError: it holds no version.
    """
    for top in above(path):
        if found := re.fullmatch(r"PG_(\d+(?:\.\d+)?)_\d+", top.name):
            return found[1]
        if (content := start_of(top / "PG_VERSION", 64)) is None:
            continue
        text = content.decode(errors="replace").strip()
        if not re.fullmatch(r"\d{1,4}(\.\d{1,4})?", text):
            raise ClusterError(f"{top / 'PG_VERSION'} is damaged: it says {text!r}, which is no version")
        return text
    return ""


def os_words(path: Path, error: OSError) -> str:
    """An error of the operating system in words, with what to do."""
    if isinstance(error, NotADirectoryError):
        plain = next((above for above in path.parents if above.is_file()), path.parent)
        return f"{plain} is a plain file, no folder: nothing lies in it"
    if error.errno == errno.EIO:
        return f"{error.strerror}: the disk cannot read it: copy it with a tool that goes on after an error (ddrescue)"
    owner = error.errno in (errno.EACCES, errno.EPERM)
    return f"{error.strerror}{': run this as the user that owns the cluster' if owner else ''}"


def by_type(path: Path) -> str:
    """What is wrong with the path, before anything is read; empty if it is a regular file."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        dangling = "the link points nowhere" if path.is_symlink() else "there is no such file"
        return f"{dangling}: SELECT pg_relation_filepath('table') names a relation's file, within the data directory"
    except OSError as error:
        return os_words(path, error)
    return next((f"this is {words}" for holds, words in TYPES.items() if holds(mode)), "")


def by_content(path: Path, head: bytes) -> str:
    """What a file is that is no relation, by its name or else by its first bytes; empty if it may be one."""
    if path.parent.name in SLRU and re.fullmatch(r"[0-9A-F]{4,15}", path.name):
        return f"a segment of {path.parent.name}, whose pages have no headers and no checksums"
    if named := next((words for name, words in NAMES.items() if re.fullmatch(name, path.name)), ""):
        return named
    if re.fullmatch(r"\d+([._].*)?|t\d+_\d+([._].*)?", path.name):
        return ""
    if FLOAT_FORMAT in head[:512] and int.from_bytes(head[8:12], "little") in range(900, 3000):
        return NAMES[r"pg_control"]
    if head[1:2] == b"\xd1" and int.from_bytes(head[36:40], "little") in BLOCK_SIZES:
        return NAMES[r"[0-9A-F]{24}(\.partial)?"]
    if head[:4] == (0x592717).to_bytes(4, "little"):
        return NAMES[r"pg_filenode\.map"]
    if head and all(byte in b"\t\n\r\f" or byte >= 32 for byte in head) and head.isascii():
        return "a text file"
    return ""


def fork(path: Path) -> str:
    """What a fork other than the main one is; empty for that."""
    found = re.fullmatch(r"(?:t\d+_)?(\d+)_(fsm|vm|init)(\.\d+)?", path.name)
    return FORKS[found[2]].format(found[1]) if found else ""


def segment(path: Path) -> int:
    """The number of the segment in a file's name: 2 of 16384.2, 0 of 16384."""
    found = re.fullmatch(r"(?:t\d+_)?\d+(?:_\w+)?\.(\d+)", path.name)
    return int(found[1]) if found else 0


class Format(NamedTuple):
    """What pages say of themselves in pd_pagesize_version."""

    block_size: int
    layout: int
    big_endian: bool


def format_of(head: bytes) -> Format | None:
    """What most pages say, where they would lie if it were so; None if none says anything."""
    votes = Counter[Format]()
    for size in BLOCK_SIZES:
        for at in range(0, len(head) - 19, size):
            for big in (False, True):
                version = int.from_bytes(head[at + 18 : at + 20], "big" if big else "little")
                if version & 0xFF00 == size and version & 0xFF in range(1, 5):
                    votes[Format(size, version & 0xFF, big)] += 1
    return max(votes, key=lambda one: (votes[one], not one.big_endian, one.block_size), default=None)


def foreign(found: Format | None) -> str:
    """Why no page of a file can be judged; empty if nothing speaks against it."""
    if found and found.big_endian:
        return "a big-endian machine wrote its pages, which are not known here"
    if found and found.layout in LAYOUTS:
        old = LAYOUTS[found.layout]
        return f"its pages have the layout {found.layout} of PostgreSQL {old}; known is 4, which 8.3 and later write"
    return ""


def header_faults(page: bytes) -> str:
    """What a server refuses in a page's header, and a size or layout that it does not look at; empty if nothing."""
    flags, lower, upper, special, version = struct.unpack_from("<5H", page, 10)
    size = len(page)
    faults = {
        "pd_upper is 0, and the page is not all zero": upper == 0,
        f"pd_flags {flags:#06x} has bits that no version knows": flags & ~7,
        f"pd_lower {lower} lies above pd_upper {upper}": lower > upper > 0,
        f"pd_upper {upper} lies above pd_special {special}": upper > special,
        f"pd_special {special} lies above {size}": special > size,
        f"pd_special {special} is no multiple of 8": special % 8,
        f"pd_pagesize_version {version:#06x} says {version & 0xFF00} bytes": version & 0xFF00 != size,
        f"pd_pagesize_version {version:#06x} says layout {version & 0xFF}": version & 0xFF != 4,
    }
    return ", ".join(words for words, holds in faults.items() if holds)
