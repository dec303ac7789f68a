# SPDX-License-Identifier: PostgreSQL
"""What strace recorded of a startup process, as advises and reads of relations' blocks.

Recorded with: strace -ff -y -s 0 -e trace=fadvise64,pread64,preadv,openat,close,lseek -o DIR/trace postgres -D DATA.
With -ff each process has a file; -y names the file behind each descriptor. Times (-ttt, -r) may stand before the calls;
of a standby those of -ttt are needed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ref.prefetch import Relation
from tools.trace.listing import relation_of
from tools.trace.text import lines

BLOCK_SIZE = 8192
SEGMENT_BLOCKS = 131072
"""RELSEG_SIZE: a relation's file number k starts at so many blocks times k."""


MOST_BLOCKS = 128
"""Of a read: io_max_combine_limit, at most."""
MOST = 1 << 32
"""Blocks of a relation."""


class StraceError(ValueError):
    """The trace cannot be read; the text says where and why."""


@dataclass(frozen=True)
class Call:
    """An advise ("advise") or a read ("read") of one block, in a line of the trace."""

    what: str
    relation: Relation
    block: int
    line: int
    at: float = field(default=0.0, compare=False)
    """In seconds since 1970, if it was recorded."""


@dataclass
class Trace:
    """What one process did. sizes: each relation's blocks when it was first looked at, or None if it did not exist."""

    path: Path
    calls: list[Call] = field(default_factory=list)
    sizes: dict[Relation, int | None] = field(default_factory=dict)
    other_reads: set[tuple[str, str]] = field(default_factory=set)
    """Pages read of other forks: they take buffers, too."""
    reloads: list[int] = field(default_factory=list)
    """After how many calls the process read its configuration anew, each time."""
    ended: bool = False
    """Whether the trace goes on to the end of the process."""


_TIME = re.compile(r"^(?:\d{2}:\d{2}:)?\d{0,12}\.?\d{1,12} +(?=[a-z+-])")
_STAMP = re.compile(r"^(\d{9,}\.\d+) ")
_CALL = re.compile(r"(?P<name>\w+)\((?P<arguments>.*)\) += (?P<result>-?\d+|\?)(?P<more>.*)$")
_OTHER = re.compile(
    r"(?:--- (?:SIG\w+ .*|stopped by SIG\w+ )---|\+\+\+ killed by .*\+\+\+|exit_group\(.*\) += \?|<detached \.\.\.>)$"
)
_END = re.compile(r"\+\+\+ exited with \d+ \+\+\+$")
_FILE = re.compile(r"(\d+)<([^>]*)>")
_SEGMENT = re.compile(r"/\d+\.(\d+)$")
_OTHER_FORK = re.compile(r"/\d+_(?:fsm|vm|init)(?:\.\d+)?$")


def read_strace(path: Path) -> Trace:
    """The trace of a process; of a folder, that of the startup process.

    StraceError if a line is garbled, the trace is cut off, or there is nothing of a relation in it.
    """
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.is_file())
        if not files:
            raise StraceError(f"{path}: no file is in this folder: give the one to which strace -ff -o wrote")
        path = max(files, key=_likely)
    trace = Trace(path)
    for number, line in enumerate(lines(path), 1):
        if line.strip():
            stamp = _STAMP.match(line)
            _take(trace, _TIME.sub("", line.rstrip("\n"), count=1), number, float(stamp[1]) if stamp else 0.0)
    if not trace.ended:
        raise StraceError(f"{path}: the trace is cut off; its last line is not '+++ exited with ... +++'")
    if not trace.calls and not trace.sizes:
        raise StraceError(
            f"{path}: no call on a file of a relation: it needed no block, or this is not the startup process,"
            " recorded with -y"
        )
    return trace


def _likely(path: Path) -> tuple[bool, int]:
    """The startup process alone looks for a backup label. Traces without openat: it has most calls on relations."""
    label, calls = False, 0
    for line in lines(path):
        label |= '"backup_label"' in line
        calls += relation_of(line) is not None
    return label, calls


def _take(trace: Trace, line: str, number: int, at: float) -> None:
    """One line."""
    if trace.ended:
        raise StraceError(f"{trace.path}, line {number}: the process has exited before; one process, one file (-ff)")
    if _END.match(line):
        trace.ended = True
        return
    found = _CALL.match(line)
    if found is None:
        if _OTHER.match(line):
            return
        raise StraceError(f"{trace.path}, line {number} is not a line of strace -ff: {line[:60]!r}")
    name, arguments, result = found["name"], found["arguments"], found["result"]
    if name == "openat":
        _opened(trace, arguments, result)
    elif name in ("fadvise64", "pread64", "preadv", "lseek"):
        file = _FILE.match(arguments)
        if file is None:
            raise StraceError(f"{trace.path}, line {number}: no name of a file behind the descriptor; record with -y")
        _called(trace, name, file[2], arguments[file.end() :].split(", ")[1:], result, number, at)


def _opened(trace: Trace, arguments: str, result: str) -> None:
    """Of a relation that is opened first we learn whether it exists."""
    path, _, flags = arguments.partition('", ')
    if path.endswith("postgresql.auto.conf"):  # the last file of a configuration
        trace.reloads.append(len(trace.calls))
    relation = relation_of(path)
    if relation is None or relation in trace.sizes or _SEGMENT.search(path):
        return
    if (result == "-1" and "O_CREAT" not in flags) or (result != "-1" and "O_EXCL" in flags):
        trace.sizes[relation] = None


def _called(trace: Trace, name: str, path: str, arguments: Sequence[str], result: str, number: int, at: float) -> None:
    relation = relation_of(path)
    if relation is None:
        if name != "lseek" and _OTHER_FORK.search(path):
            trace.other_reads.add((path, "".join(arguments[-1:])))
        return
    if result.startswith("-"):
        raise StraceError(f"{trace.path}, line {number}: {name} failed")
    where = f"{trace.path}, line {number}"
    segment = _SEGMENT.search(path)
    first = _size(segment[1], where) * SEGMENT_BLOCKS if segment else 0
    if name == "lseek":
        # The next file of a relation is looked at where the one before it is full.
        if "SEEK_END" in arguments and trace.sizes.get(relation, first) == first:
            trace.sizes[relation] = first + _size(result, where) // BLOCK_SIZE
        return
    if len(arguments) < 3:
        raise StraceError(f"{where}: {name} without all its arguments")
    # Other advice than to read soon is none of a prefetcher's.
    if name == "fadvise64" and "POSIX_FADV_WILLNEED" not in arguments[2]:
        return
    offset, wanted = arguments[:2] if name == "fadvise64" else (arguments[-1], result)
    begin, length = _size(offset, where), _size(wanted, where)
    if begin % BLOCK_SIZE or length % BLOCK_SIZE or not length:
        raise StraceError(f"{where}: {name} of a part of a block, or short: {length} bytes")
    what, most = ("advise", 1) if name == "fadvise64" else ("read", MOST_BLOCKS)
    block, blocks = first + begin // BLOCK_SIZE, length // BLOCK_SIZE
    if blocks > most or block + blocks > MOST:
        raise StraceError(f"{where}: {name} of {blocks} blocks from {block} on: no recovery does that")
    trace.calls += [Call(what, relation, block + k, number, at) for k in range(blocks)]


def _size(text: str, where: str) -> int:
    """Bytes, or the number of a file. StraceError: no file has so many."""
    if not re.fullmatch(r"[0-9]{1,15}", text):
        raise StraceError(f"{where}: {text[:40]!r} is no number of bytes in a file")
    return int(text)
