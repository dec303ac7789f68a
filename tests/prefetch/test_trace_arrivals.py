# SPDX-License-Identifier: PostgreSQL
"""When WAL came to a standby, from the calls of its WAL receiver."""

from math import inf
from pathlib import Path

import pytest

from tests.prefetch.test_trace import line
from tools.trace.arrivals import Arrivals, read_arrivals
from tools.trace.listing import read_listing
from tools.trace.strace import StraceError

SEGMENT = 16 << 20
WAL = "5</srv/pg_wal/000000010000000000000001>"
CALLS = [
    f'1000000000.1 pwrite64({WAL}, ""..., 800, 0) = 800',
    "1000000000.2 sendto(4<socket:[1]>, \"\"..., 39, 0, NULL, 0) = 39",
    f"1000000000.3 fdatasync({WAL}) = 0",
    "1000000000.4 sendto(4<socket:[1]>, \"\"..., 39, 0, NULL, 0) = 39",
    f'1000000000.5 pwrite64({WAL}, ""..., 200, 800) = 200',
    f'1000000000.6 pwrite64({WAL}, ""..., 500, 1000) = 500',
    f"1000000000.7 fdatasync({WAL}) = 0",
    f'1000000000.8 pwrite64({WAL}, ""..., 500, 1500) = 500',
    "1000000000.9 +++ exited with 0 +++",
]  # fmt: skip


def test_what_each_flush_covers_and_when(tmp_path: Path) -> None:
    """What is written and not flushed has not come; nor has what was there before."""
    (tmp_path / "trace.7").write_text("\n".join(CALLS) + "\n")
    (tmp_path / "trace.8").write_text("1000000000.2 pwrite64(5</srv/pg_wal/000000010000000000000001>, ...) = 8\n")
    found = read_arrivals(tmp_path, SEGMENT, local=SEGMENT + 100)
    assert found.ends == [SEGMENT + 800, SEGMENT + 1500]
    assert found.after == [1000000000.3, 1000000000.7]
    assert found.before == [1000000000.4, 1000000000.8]
    assert read_arrivals(tmp_path, SEGMENT, local=SEGMENT + 900).ends == [SEGMENT + 1500]


@pytest.mark.parametrize("receivers", [0, 2])
def test_one_receiver_is_needed(tmp_path: Path, receivers: int) -> None:
    (tmp_path / "trace").write_text("1000000000.2 sendto(4<socket:[1]>) = 39\n")
    for number in range(receivers):
        (tmp_path / f"trace.{number}").write_text("\n".join(CALLS) + "\n")
    with pytest.raises(StraceError, match=f"{receivers} WAL receivers were recorded; one is needed, by -ttt"):
        read_arrivals(tmp_path, SEGMENT, 0)


@pytest.mark.parametrize(
    ("end", "since", "until", "current"),
    [
        (10, 0, 1, []),
        (10, 0, 1.5, [10]),
        (10, 2, 3, [10]),
        (10, 2, 3.5, [10, 20]),
        (10, 3.5, 3.7, [10, 20]),
        (10, 4, 5, [20]),
        (11, 0, 3.5, [20]),
        (20, 0, 3, []),
        (20, 0, inf, [20, 30]),
        (21, 4, inf, [30]),
        (31, 0, inf, []),
    ],
)
def test_what_may_have_been_the_last_flush(end: int, since: float, until: float, current: list[int]) -> None:
    arrivals = Arrivals(0, ends=[10, 20, 30], after=[1, 3, 5], before=[2, 4, 6])
    assert arrivals.current(end, since, until) == current


@pytest.mark.parametrize(
    ("lsn", "length", "end"),
    [
        (0x1000040, 54, 0x1000076),
        (0x1001FC0, 64, 0x1002000),
        (0x1001FC0, 65, 0x1002019),
        (0x1001FC0, 8192 + 64 - 24 + 1, 0x1004019),
        (0x1FFFFC0, 65, 0x2000029),
    ],
)
def test_where_a_record_ends(tmp_path: Path, lsn: int, length: int, end: int) -> None:
    """Behind its last byte, before what pads it; past the header of each page that begins within it."""
    path = tmp_path / "wal"
    text = line(lsn // 64).replace("54/    54", f"{length}/{length:6}")
    path.write_text(text + "\n")
    (listed,) = read_listing(path)
    assert (listed.record.lsn, listed.end) == (lsn, end)
