# SPDX-License-Identifier: PostgreSQL
"""CRC-32C, by which PostgreSQL seals pg_control and .snap files."""

from functools import cache


@cache
def _table() -> list[int]:
    """Of CRC-32C (Castagnoli, reflected), for each byte."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


def crc32c(data: bytes) -> int:
    table, crc = _table(), 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
