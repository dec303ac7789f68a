# SPDX-License-Identifier: PostgreSQL
"""A folder that is a cluster's as far as the commands look: pg_control and PG_VERSION."""

import struct
from pathlib import Path

from tools.common.crc32c import crc32c
from tools.common.relation_file import FLOAT_FORMAT, Ids


def cluster(
    top: Path,
    major: str = "",
    *,
    version: int = 1300,
    block_size: int = 8192,
    segment_blocks: int = 131072,
    checksums: int = 1,
    aligned: int = 8,
    ids: Ids | None = None,
) -> Path:
    """Fields where servers of 64 bits have them, 13 to 17, and the right CRC. Returns the pg_control."""
    sizes = struct.pack("<8I4x", block_size, segment_blocks, 8192, 1 << 24, 64, 32, 1996, 2048)
    control = (
        struct.pack("<Q", ids.system if ids else 0)
        + struct.pack("<I", version)
        + bytes(192)
        + struct.pack("<I", aligned)
        + FLOAT_FORMAT
        + sizes
    )
    control += struct.pack("<I", checksums) + bytes(32)
    if ids:
        fixed = bytearray(control)
        struct.pack_into("<I", fixed, 16, int(ids.shut_down))
        struct.pack_into("<QQ", fixed, 32, ids.checkpoint, ids.redo)
        numbers = (ids.epoch << 32 | ids.next_xid, 0, ids.next_multi, ids.next_offset, ids.oldest_xid, 0)
        struct.pack_into("<Q7I4xq8xI", fixed, 64, *numbers, ids.oldest_multi, 0, ids.time, ids.oldest_active)
        control = bytes(fixed)
    (top / "global").mkdir(exist_ok=True)
    path = top / "global" / "pg_control"
    path.write_bytes((control + struct.pack("<I", crc32c(control))).ljust(8192, b"\0"))
    if major:
        (top / "PG_VERSION").write_text(f"{major}\n")
    return path
