# SPDX-License-Identifier: PostgreSQL
"""A slot's .snap file: the serialised snapshot builder, decoded and checked field by field.

Upstream: src/backend/replication/logical/snapbuild.c (SnapBuildSerialize, SnapBuildRestore; struct SnapBuildOnDisk), 13
to 18, as a server for 64 bits and little-endian writes it:

    magic, checksum, version, length | struct SnapBuild | committed.xip | catchange.xip (from 16 on)

The checksum is CRC-32C of all from `version` on. Pointers within the struct are zero, or mean nothing.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ref.xid import XID, raw_sorted
from tools.common.crc32c import crc32c

MAGIC = 0x51A1E001
PREFIX = struct.Struct("<4I")
CONSISTENT = 2
NAME = re.compile(r"([0-9A-F]+)-([0-9A-F]+)\.snap")


@dataclass(frozen=True)
class Layout:
    """Of the struct: the majors that write it, its bytes, and (name, format, place) of what is in it."""

    majors: tuple[int, ...]
    bytes: int
    fields: tuple[tuple[str, str, int], ...]

    @property
    def said(self) -> str:
        return " or ".join(map(str, self.majors))


START = (("state", "<i", 0), ("xmin", "<I", 16), ("xmax", "<I", 20), ("start_decoding_at", "<Q", 24))
"""The same in all versions."""


def _committed(at: int) -> tuple[tuple[str, str, int], ...]:
    names = ("committed.xcnt", "committed.xcnt_space", "committed.includes_all_transactions")
    return ((names[0], "<Q", at), (names[1], "<Q", at + 8), (names[2], "<B", at + 16))


_MIDDLE = (
    ("two_phase_at", "<Q", 32),  # initial_consistent_point in 14
    ("initial_xmin_horizon", "<I", 40),
    ("building_full_snapshot", "<B", 44),
    ("last_serialized_snapshot", "<Q", 56),
    ("next_phase_at", "<I", 72),
    *_committed(80),
)
_CATCHANGE = ("catchange.xcnt", "<Q", 112)
LAYOUTS = {
    2: Layout(
        (13,),
        128,
        (
            *START,
            ("initial_xmin_horizon", "<I", 32),
            ("building_full_snapshot", "<B", 36),
            ("last_serialized_snapshot", "<Q", 48),
            ("was_running.was_xmin", "<I", 64),
            ("was_running.was_xmax", "<I", 68),
            *_committed(96),
        ),
    ),
    4: Layout((14, 15), 112, (*START, *_MIDDLE)),
    5: Layout((16,), 128, (*START, *_MIDDLE, _CATCHANGE)),
    6: Layout((17, 18), 128, (*START, *_MIDDLE, ("in_slot_creation", "<B", 45), _CATCHANGE)),
}
LSNS = ("start_decoding_at", "two_phase_at", "last_serialized_snapshot")
FLAGS = ("building_full_snapshot", "in_slot_creation", "committed.includes_all_transactions")


class NoSnapError(ValueError):
    """The bytes are no .snap file; the text says why, and what they may be."""


@dataclass(frozen=True)
class Snap:
    """What a file says, and which of its fields are wrong."""

    version: int
    checksum: int
    length: int
    fields: dict[str, int]
    committed: list[int]
    catchange: list[int]
    faults: list[str]
    refused: bool
    """Whether a server would refuse it: too short for its counts, another checksum or version. It checks no more."""

    @property
    def majors(self) -> str:
        return LAYOUTS[self.version].said


def lsn(value: int) -> str:
    return f"{value >> 32:X}/{value & 0xFFFFFFFF:X}"


def lsn_of(name: str) -> int | None:
    """The LSN in a file's name; None if it has none."""
    found = NAME.fullmatch(name)
    return int(found[1], 16) << 32 | int(found[2], 16) if found else None


def prefix(content: bytes) -> tuple[int, int, int]:
    """The checksum, the version and the length. NoSnapError: too short, or another magic or version."""
    if len(content) < PREFIX.size:
        raise NoSnapError(f"{len(content)} bytes: even magic, checksum, version and length have {PREFIX.size}")
    magic, checksum, version, length = PREFIX.unpack_from(content)
    if magic != MAGIC:
        swapped = magic == int.from_bytes(MAGIC.to_bytes(4, "big"), "little")
        why = ": a big-endian machine wrote it" if swapped else f": no .snap file has it, they begin with {MAGIC:#010x}"
        raise NoSnapError(f"magic is {magic:#010x}{why}")
    if version not in LAYOUTS:
        known = ", ".join(f"{number} ({layout.said})" for number, layout in LAYOUTS.items())
        raise NoSnapError(f"version is {version}: PostgreSQL 13 to 18 write {known}")
    return checksum, version, length


def decode(content: bytes, name: str = "", major: int | None = None) -> Snap:
    """`name` is the file's, which holds its LSN; `major`: of its cluster, None if that is not known.

    NoSnapError: as prefix(), or cut before the first XID.
    """
    checksum, version, length = prefix(content)
    layout = LAYOUTS[version]
    if len(content) < PREFIX.size + layout.bytes:
        raise NoSnapError(f"{len(content)} bytes: the file is cut within the builder's struct, of {layout.bytes} bytes")
    fields = {field: int(struct.unpack_from(form, content, PREFIX.size + at)[0]) for field, form, at in layout.fields}
    rest = content[PREFIX.size + layout.bytes :]
    xids = [xid for (xid,) in struct.iter_unpack("<I", rest[: len(rest) // 4 * 4])]
    first, second = fields["committed.xcnt"], fields.get("catchange.xcnt", 0)
    needed = PREFIX.size + layout.bytes + 4 * (first + second)
    # A server reads as much as the counts say, and what follows that does not count.
    right = crc32c(content[8:needed])
    refused = needed > len(content) or right != checksum
    if other := major is not None and major not in layout.majors:
        refused = True
    snap = Snap(version, checksum, length, fields, xids[:first], xids[first : first + second], [], refused)
    if other:
        snap.faults.append(
            f"version is {version}, which PostgreSQL {layout.said} writes: {major}, its cluster's, does not"
        )
    snap.faults.extend(faults(snap, len(content), needed, right, name))
    return snap


def faults(snap: Snap, size: int, needed: int, right: int, name: str) -> Iterator[str]:
    """What is wrong, a field each, with a file that has `size` bytes and `needed` by its counts."""
    fields = snap.fields
    if snap.length != size:
        yield f"length is {snap.length:,}, the file has {size:,} bytes"
    if needed != size:
        counts = fields["committed.xcnt"] + fields.get("catchange.xcnt", 0)
        named = " and catchange.xcnt" if "catchange.xcnt" in fields else ""
        yield f"committed.xcnt{named} say {counts:,} XIDs, so {needed:,} bytes; the file has {size:,}"
    if right != snap.checksum:
        yield f"checksum is {snap.checksum:#010x}, calculated {right:#010x}: bytes were changed after it was written"
    if fields["state"] != CONSISTENT:
        yield f"state is {fields['state']}: only a builder that is CONSISTENT (2) is written"
    for field in FLAGS:
        if fields.get(field, 0) > 1:
            yield f"{field} is {fields[field]}, neither 0 nor 1"
    for field in ("xmin", "xmax"):
        if not XID.is_normal(fields[field]):
            yield f"{field} is {fields[field]}, which is no normal XID"
    if fields["committed.xcnt"] > fields["committed.xcnt_space"]:
        yield f"committed.xcnt {fields['committed.xcnt']} lies above xcnt_space {fields['committed.xcnt_space']}"
    for field, xids in (("committed.xip", snap.committed), ("catchange.xip", snap.catchange)):
        for i, xid in enumerate(xids, 1):
            if not XID.is_normal(xid):
                yield f"{field}: number {i} is {xid}, which is no normal XID"
                break
    if snap.catchange != raw_sorted(snap.catchange):
        yield "catchange.xip is not sorted: a server would search it and miss XIDs"
    at = lsn_of(name)
    if at is not None and fields["last_serialized_snapshot"] > at:
        last = lsn(fields["last_serialized_snapshot"])
        yield f"last_serialized_snapshot {last} lies after the file's own LSN {lsn(at)}: it was renamed"
