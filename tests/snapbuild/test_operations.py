# SPDX-License-Identifier: PostgreSQL
"""The loads, stores and moves of the kernels in plain C are those of the proved algorithms, in their order.

Equal bytes do not say that: another way may end in the same array. build/traced/snapbuild tells what C does (traced.c),
as gcc compiles it at -O1; build/oracle/snapbuild_operations what the proved functions do, extracted from the proofs.
"""

import os
import struct
import subprocess
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from ref.xid import FIRST_NORMAL
from tests.extracted import program
from tests.tally import tally

TOP = Path(__file__).parents[2]
TRACED, PROVED = TOP / "build" / "traced" / "snapbuild", program("snapbuild_operations")
INPLACE, SORTED, BRANCHLESS, FULL, COMPRESS = range(5)
KINDS = {
    "inplace": INPLACE,
    "sorted": SORTED,
    "branchless": BRANCHLESS,
    "full": FULL,
    "compress": COMPRESS,
}
MOVE = 2
HALF, RING = 2**31, 2**32
LONG = 2**16
"""From here on the sorted purge guesses where the gap begins."""


class Question(NamedTuple):
    """A kernel, what it is given, and for FULL 64-bit XIDs."""

    kind: int
    xids: list[int]
    flags: list[int]
    xmin: int

    def record(self) -> bytes:
        head = struct.pack("<BIIQ", self.kind, len(self.xids), len(self.flags), self.xmin)
        return head + struct.pack(f"<{len(self.xids) + len(self.flags)}Q", *self.xids, *self.flags)


Operation = tuple[int, ...]
"""What (0 load, 1 store, 2 move), array, zero, at, from, how many."""


def told(path: Path, questions: list[Question]) -> list[list[Operation]]:
    """The operations of each question."""
    if not path.exists():
        pytest.fail(f"{path} is not built: run `make oracle build/traced/snapbuild`")
    asked = b"".join(question.record() for question in questions)
    output = subprocess.run([path], input=asked, stdout=subprocess.PIPE, check=True).stdout
    found, at = [], 0
    for _ in questions:
        (k,) = struct.unpack_from("<I", output, at)
        found.append(list(struct.iter_unpack("<BBHIII", output[at + 4 : at + 4 + 16 * k])))
        at += 4 + 16 * k
    assert at == len(output)
    return found


def question(kind: int, rng: Random, n: int) -> Question:
    """XIDs near an xmin, which may be anywhere on the ring; those of sorted arrays lie close, or far apart."""
    xmin = rng.choice(
        [rng.randrange(FIRST_NORMAL, RING), rng.randrange(3, 2000), rng.randrange(RING - 2000, RING), HALF]
    )
    width = rng.choice([2 * n + 10, 64 * n + 10, HALF - 1])
    offsets = [rng.randrange(-width, width) for _ in range(n)]
    xids = [max(FIRST_NORMAL, (xmin + offset) % RING) for offset in offsets]
    if kind == SORTED:
        xids = sorted(set(xids))
    if kind == FULL:
        epoch = rng.randrange(1, 100) * RING
        xids = sorted({epoch + x for x in xids})
        xmin += epoch
    flags = [rng.randrange(2) for _ in xids] if kind == COMPRESS else []
    return Question(kind, xids, flags, xmin)


def questions(kind: int) -> list[Question]:
    rng = Random(kind)
    most = 15 if kind == BRANCHLESS else 300
    found = [question(kind, rng, rng.randrange(most + 1)) for _ in range(400)]
    return found + [question(SORTED, rng, LONG + rng.randrange(5000)) for _ in range(12) if kind == SORTED]


@pytest.mark.parametrize("name", KINDS)
def test_loads_stores_and_moves_are_the_proved_ones(name: str) -> None:
    asked = questions(KINDS[name])
    for one, got, want in zip(asked, told(TRACED, asked), told(PROVED, asked), strict=True):
        other = next((n for n, pair in enumerate(zip_longest(got, want)) if pair[0] != pair[1]), None)
        assert other is None, f"xmin {one.xmin}, {len(one.xids)} XIDs: operation {other}"
        tally("snapbuild", "operations traced", len(got))
    tally("snapbuild", "arrays traced", len(asked))


def test_each_way_of_the_sorted_purge_is_asked_for() -> None:
    """A move down to the front and one into a gap, none at all, and a guess."""
    asked = questions(SORTED)
    moves = [[operation for operation in one if operation[0] == MOVE] for one in told(PROVED, asked)]
    into = [one[0][3] for one in moves if one]
    assert into.count(0) >= 20
    assert len(into) - into.count(0) >= 20
    assert moves.count([]) >= 20
    assert sum(len(one.xids) >= LONG for one in asked) >= 5


CHANGES = {
    "each XID is stored": (
        "purge_inplace.c",
        INPLACE,
        "        if (!xid_normal_precedes(x, xmin))\n            committed->xip[surviving++] = x;\n",
        "        committed->xip[surviving] = x;\n        surviving += !xid_normal_precedes(x, xmin);\n",
    ),
    "an XID that stays in its place is not stored": (
        "purge_inplace.c",
        INPLACE,
        "            committed->xip[surviving++] = x;\n",
        "            if (surviving++ != off)\n                committed->xip[surviving - 1] = x;\n",
    ),
    "the last XID is looked at first": (
        "purge_sorted.c",
        SORTED,
        "        first = xip[0] >= xmin ? 0 : lower_bound32(xip, n, xmin);\n",
        "        last = xip[n - 1] < past ? n : lower_bound32(xip, n, past);\n"
        "        first = xip[0] >= xmin ? 0 : lower_bound32(xip, n, xmin);\n",
    ),
    "XIDs are moved one by one": (
        "full.c",
        FULL,
        "        memmove(fxip, fxip + gone, committed->xcnt * sizeof(uint64_t));\n    return accepted();",
        "        for (size_t i = 0; i < committed->xcnt; i++)\n"
        "            fxip[i] = fxip[gone + i];\n    return accepted();",
    ),
    "the flag comes before the XID": (
        "compress.c",
        COMPRESS,
        "            xids[to] = xids[i];\n            valid[to] = true;\n",
        "            valid[to] = true;\n            xids[to] = xids[i];\n",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_way_to_the_same_array_is_told(name: str, tmp_path: Path) -> None:
    file, kind, old, new = CHANGES[name]
    text = (TOP / "csrc/snapbuild" / file).read_text()
    assert text.count(old) == 1
    (tmp_path / "snapbuild").mkdir()
    (tmp_path / "snapbuild" / file).write_text(text.replace(old, new))
    other = tmp_path / "traced"
    command = ["make", "-s", f"CHANGED={tmp_path}", f"SNAPBUILD_TRACED={other}", str(other)]
    variables = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    subprocess.run(command, cwd=TOP, env=variables, check=True)
    asked = questions(kind)
    assert told(other, asked) != told(PROVED, asked)
