# SPDX-License-Identifier: PostgreSQL
"""What people reported of damaged files: made here, and named by the command."""

import struct
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.common.reports import Report, of
from tests.page.cluster import cluster
from tests.page.rows import (
    BLCKSZ,
    COMMITTED,
    FAULTS,
    FROZEN,
    IS_MULTI,
    LOCK_ONLY,
    NEXT_MULTI,
    SHARE_LOCK,
    Rows,
    plain_tuples,
    sound,
)
from tests.tornpage.test_check_pages import checked, seal
from tests.tornpage.test_check_pages_restored import MADE
from tests.tornpage.test_check_pages_rows import IDS


def locked(multi: int, mask: int) -> Callable[[Rows, int], None]:
    """A row that was inserted, and locked by a MultiXact."""

    def put(rows: Rows, number: int) -> None:
        struct.pack_into("<II", rows.page, rows.off(number), FROZEN, multi)
        rows.put(number, 20, "<H", COMMITTED | IS_MULTI | LOCK_ONLY | mask)

    return put


def inserted(xmin: int) -> Callable[[Rows, int], None]:
    def put(rows: Rows, number: int) -> None:
        rows.put(number, 0, "<I", xmin)
        rows.put(number, 20, "<H", COMMITTED | 0x800)

    return put


IN_A_ROW: dict[str, Callable[[Rows, int], object]] = {
    "an xmin of 4294918145": inserted(4294918145),
    "an xmin before all": inserted(FROZEN - 1),
    "a MultiXactId of 6849409": locked(6849409, SHARE_LOCK),
    "a MultiXactId of 9.2": locked(NEXT_MULTI + 123, 0),
    "an orphan of a HOT chain": FAULTS["no other tuple or redirect points to it"],
}


def damaged(made: str, top: Path) -> Path:
    """A table of three blocks in a cluster that was shut down, with what `made` says."""
    pages = [sound(Random(block), block) for block in range(3)]
    cluster(top, checksums=made != "a page's size, without checksums", ids=IDS)
    if made in IN_A_ROW:
        IN_A_ROW[made](pages[1], plain_tuples(pages[1])[0])
    content = seal(b"".join(bytes(one.page) for one in pages), BLCKSZ, 0)
    if made == "a bit of a row":
        content[2 * BLCKSZ - 1] ^= 1
    elif made == "a page's size, without checksums":
        content[BLCKSZ + 18 : BLCKSZ + 20] = b"\0\0"
    elif made == "a header of zeroes":
        content[BLCKSZ : BLCKSZ + 24] = bytes(24)
    elif made == "a segment that lost its end":
        (top / "16384.1").write_bytes(seal(bytes(content), BLCKSZ, 131072))
    else:
        assert made in IN_A_ROW
    (top / "16384").write_bytes(content)
    return top / "16384"


@pytest.mark.parametrize("report", [one for one in of("tornpage") if one.made != MADE], ids=lambda report: report.made)
def test_what_was_reported_is_said(report: Report, tmp_path: Path) -> None:
    status, said = checked(damaged(report.made, tmp_path))
    assert (status, report.says in said) == (report.status, True), said
