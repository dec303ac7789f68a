# SPDX-License-Identifier: PostgreSQL
"""The instruction counts of another machine's kernels: what is counted, what fails, and that no kernel is forgotten."""

import tomllib
from pathlib import Path

from bench.icount.emulated import CPU, Floor, Subject, between_marks, judge
from tools.common.matrix import with_cell

MARK = b"Trace 0: 0x7f578acdf580 [0000000000001001/00000000004007a0/00000001/00000201] %s\n"


def log(*symbols: bytes) -> list[bytes]:
    return [MARK % symbol for symbol in symbols]


def test_what_lies_between_the_marks_is_counted() -> None:
    call = (b"count_from", b"main", b"counted_call", b"memcpy", b"main", b"count_to")
    calls, counted, last = between_marks(log(b"main", *call, b"main", b"main", *call, b"_exit"))
    assert (calls, counted) == (2, 8)
    assert last.endswith("_exit")


def test_a_call_that_does_not_end_does_not_count() -> None:
    assert between_marks(log(b"count_from", b"main", b"abort"))[0] == 0
    assert between_marks(log(b"main", b"count_to"))[:2] == (0, 0)


def test_a_ratio_below_the_floor_fails() -> None:
    """Of upstream's variants the one with fewer instructions counts."""
    counts = {"one": 300, "other": 200, "ours": 100}
    assert judge(Floor(shape="any", at_least=2.0), counts, "ours")["status"] == "passed"
    assert judge(Floor(shape="any", at_least=2.1), counts, "ours")["status"] == "failed"


def test_each_row_with_kernels_for_that_machine_has_floors() -> None:
    assert list(CPU) == ["aarch64"]
    rows = with_cell("csrc/{stem}/*neon.c")
    assert rows
    assert rows == with_cell("bench/{stem}/icount_aarch64.toml")
    for row in rows:
        assert Path("bench", row, "icount.c").exists()
        subject = Subject.model_validate(tomllib.loads(Path("bench", row, "icount_aarch64.toml").read_text()))
        assert subject.floor
        assert all(floor.at_least > 0 for floor in subject.floor)
