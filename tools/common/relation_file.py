# SPDX-License-Identifier: PostgreSQL
"""What a file of a cluster is, by its type, its name and its first bytes; and the cluster that it lies in."""

import re
import stat
import struct
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

BLOCK_SIZES = (1024, 2048, 4096, 8192, 16384, 32768)
FLOAT_FORMAT = struct.pack("<d", 1234567.0)
"""In pg_control of all versions; the sizes of blocks follow it."""
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
class Cluster:
    """What pg_control says."""

    path: Path
    block_size: int
    segment_blocks: int  # of a relation's files
    checksums: bool


def cluster_of(path: Path) -> Cluster | None:
    """That of the nearest folder above which has a global/pg_control; None if there is none that can be read."""
    for top in path.absolute().parents:
        try:
            control = (top / "global" / "pg_control").read_bytes()[:8192]
        except OSError:
            continue
        at = control.find(FLOAT_FORMAT) + len(FLOAT_FORMAT)
        if at < len(FLOAT_FORMAT) or len(control) < at + 48:
            continue
        block_size, segment_blocks = struct.unpack_from("<II", control, at)
        (checksums,) = struct.unpack_from("<I", control, at + 36)
        if block_size in BLOCK_SIZES and segment_blocks > 0:
            return Cluster(top, block_size, segment_blocks, checksums != 0)
    return None


def by_type(path: Path) -> str:
    """What is wrong with the path, before anything is read; empty if it is a regular file."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        dangling = "the link points nowhere" if path.is_symlink() else "there is no such file"
        return f"{dangling}: SELECT pg_relation_filepath('table') names a relation's file, within the data directory"
    except OSError as error:
        return f"{error.strerror}: run this as the user that owns the cluster"
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


def block_size_of(head: bytes) -> int | None:
    """The size that most pages say they have, where they would lie if it were so; None if none says one."""
    votes = Counter[int]()
    for size in BLOCK_SIZES:
        for at in range(0, len(head) - 19, size):
            version = int.from_bytes(head[at + 18 : at + 20], "little")
            votes[size] += version & 0xFF00 == size and version & 0xFF in range(1, 5)
    size, most = max(votes.items(), key=lambda vote: (vote[1], vote[0]), default=(0, 0))
    return size if most else None


def header_faults(page: bytes) -> str:
    """What a server refuses in a page's header, and a size that it does not look at; empty if nothing."""
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
    }
    return ", ".join(words for words, holds in faults.items() if holds)
