# SPDX-License-Identifier: PostgreSQL
"""What a record of WAL initialises, read from its bytes."""

import struct
from pathlib import Path

import pytest

from tools.trace.listing import LONG_HEADER, MARK, PAGE, SHORT_HEADER, ListingError, lsn_text
from tools.trace.wal import Wal, marked

SEGMENT = 1 << 20
INIT, IMAGE, DATA, SAME = 0x40, 0x10, 0x20, 0x80
Block = tuple[int, int, bytes]
"""Its number, its flags, and the header of its image."""


def image(flags: int) -> bytes:
    return struct.pack("<HHB", 100, 0, flags) + b"\0\0" * (flags & 0x1D > 1)


def record(*blocks: Block, main: bool = True) -> bytes:
    """The headers come first; then all data."""
    headers = b"".join(
        bytes([number, flags])
        + struct.pack("<H", 8 if flags & DATA else 0)
        + more
        + bytes(0 if flags & SAME else 12)
        + b"\x03\0\0\0"
        for number, flags, more in blocks
    )
    data = sum(8 * bool(flags & DATA) + 100 * bool(flags & IMAGE) for _, flags, _ in blocks)
    body = headers + (b"\xff\x28" if main else b"") + bytes([0, INIT] * (data // 2 + (20 if main else 0)))
    return struct.pack("<I", 24 + len(body)) + bytes(20) + body


def segments(folder: Path, stream: bytes, at: int, count: int = 1) -> None:
    """Segments of WAL, whose first bytes past `at`, the headers of their pages left out, are the stream."""
    pages = []
    for number in range(count * SEGMENT // PAGE):
        first = number % (SEGMENT // PAGE) == 0
        head = struct.pack("<HHIQ", 0xD110, 2 if first else 0, 1, SEGMENT + number * PAGE) + bytes(8)
        if first:
            head += struct.pack("<QII", 7, SEGMENT, PAGE)
        start = max(at - number * PAGE, len(head))
        body = bytes(start - len(head)) if start < PAGE else bytes(PAGE - len(head))
        room = PAGE - len(head) - len(body)
        pages.append(head + body + stream[:room].ljust(room, b"\0"))
        stream = stream[room:]
    folder.mkdir(exist_ok=True)
    for number in range(count):
        part = pages[number * SEGMENT // PAGE :][: SEGMENT // PAGE]
        (folder / f"0000000100000000{number + 1:08X}").write_bytes(b"".join(part))


@pytest.mark.parametrize(
    ("blocks", "initialised"),
    [
        ([], []),
        ([(0, 0, b"")], []),
        ([(0, INIT, b""), (1, DATA | SAME, b"")], [0]),
        ([(0, DATA, b""), (1, INIT | SAME, b""), (3, INIT | SAME | DATA, b"")], [1, 3]),
        ([(0, IMAGE, image(0)), (1, INIT | SAME, b"")], [1]),
        ([(0, IMAGE, image(0x03)), (2, INIT, b"")], [2]),
        ([(0, IMAGE, image(0x07)), (2, INIT, b"")], [2]),
        ([(0, IMAGE, image(0x13)), (32, INIT, b"")], [32]),
        ([(0, IMAGE, struct.pack("<HHB", 100, 0, 0x06)), (1, INIT | SAME, b"")], [1]),
    ],
)
@pytest.mark.parametrize("main", [True, False])
@pytest.mark.parametrize("at", [LONG_HEADER, 504, 2 * PAGE - 16, 3 * PAGE - 30, 2 * PAGE + SHORT_HEADER])
def test_the_blocks_that_a_record_initialises(
    tmp_path: Path, blocks: list[Block], initialised: list[int], at: int, main: bool
) -> None:
    """Wherever it starts, and wherever a page ends in it; with data of its own, and without."""
    segments(tmp_path / "pg_wal", record(*blocks, main=main), at)
    assert Wal(tmp_path / "pg_wal").initialised(SEGMENT + at) == initialised


@pytest.mark.parametrize("before", [16, 30, 48])
def test_a_record_goes_on_in_the_next_segment(tmp_path: Path, before: int) -> None:
    """Whose first page has the longer header."""
    segments(tmp_path / "pg_wal", record((0, DATA, b""), (1, INIT | SAME, b""), (2, SAME, b"")), SEGMENT - before, 2)
    assert Wal(tmp_path / "pg_wal").initialised(2 * SEGMENT - before) == [1]


@pytest.mark.parametrize("backwards", [True, False])
def test_the_later_timeline_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backwards: bool) -> None:
    """In whatever order a folder gives its files."""
    folder = tmp_path / "pg_wal"
    segments(folder, record((0, INIT, b"")), 40)
    segment = folder / "000000010000000000000001"
    segment.rename(folder / "0000000A0000000000000001")
    segments(folder, record((1, INIT, b"")), 40)
    files = sorted(folder.iterdir(), reverse=backwards)
    monkeypatch.setattr(Path, "iterdir", lambda _: iter(files))
    assert Wal(folder).initialised(SEGMENT + 40) == [0]


def test_a_record_without_data_ends_with_its_header(tmp_path: Path) -> None:
    segments(tmp_path / "pg_wal", struct.pack("<I", 24) + bytes(20) + record((0, INIT, b"")), 40)
    assert Wal(tmp_path / "pg_wal").initialised(SEGMENT + 40) == []


def test_each_line_is_marked(tmp_path: Path) -> None:
    segments(tmp_path / "pg_wal", record((1, INIT, b""), (2, INIT | SAME, b"")), 40)
    lines = [f"lsn: {lsn_text(SEGMENT + 40)}, prev 0/0, desc: X{end}\n" for end in (", blkref #1: rel 1/2/3", "")]
    said = marked("".join(lines), tmp_path / "pg_wal")
    assert [line.partition(MARK)[2] for line in said.splitlines()] == ["1 2", "none"]


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda segment: segment.unlink(), "has no segment of WAL"),
        (lambda segment: segment.write_bytes(b"x"), "is cut off"),
        (lambda segment: segment.write_bytes(bytes(PAGE)), "is no segment of WAL: its size would be 0"),
        (lambda segment: segment.rename(segment.with_name("000000010000000000000009")), "lacks the segment"),
        (lambda segment: segment.write_bytes(segment.read_bytes()[:PAGE]), "ends before"),
        (lambda segment: segment.write_bytes(segment.read_bytes()[: 3 * PAGE - 1]), "ends before"),
    ],
)
def test_wal_that_is_damaged_is_told(tmp_path: Path, damage: object, says: str) -> None:
    folder = tmp_path / "pg_wal"
    segments(folder, record((0, INIT, b"")), 2 * PAGE + SHORT_HEADER)
    assert callable(damage)
    damage(next(folder.iterdir()))
    with pytest.raises(ListingError, match=says):
        Wal(folder).initialised(SEGMENT + 2 * PAGE + SHORT_HEADER)
