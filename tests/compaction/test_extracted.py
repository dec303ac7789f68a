# SPDX-License-Identifier: PostgreSQL
"""Proof = oracle = kernels: the functions extracted from the proofs, ref and every variant, on the same pages.

build/oracle/compaction runs the algorithms that proofs/compaction/ proves right. For each record of [1 byte algorithm]
[1 byte truncate][8192 bytes page] it answers [1 byte code][2 bytes line pointer, little-endian][8192 bytes page].
"""

import os
import subprocess
from collections.abc import Sequence
from itertools import product

import pytest

from ref.compaction import Order
from ref.page import BLCKSZ
from tests.common.extraction import program
from tests.common.tally import tally
from tests.compaction.agree import Outcome, assert_agreement, difference, expected
from tests.page.build import page_of
from tests.page.shapes import random_shape

PROGRAM = program("compaction")
PROVED = {
    "pg13": (0, Order.OFFSET),
    "pg14": (1, Order.ITEM),
    "windows of 64": (2, Order.ITEM),
    "windows of 256": (4, Order.ITEM),
    "each exactly": (5, Order.ITEM),
    "runs": (6, Order.ITEM),
    "squeeze": (7, Order.ITEM),
    "permute": (8, Order.ITEM),
    "slide": (9, Order.ITEM),
    "climb": (10, Order.ITEM),
    "whole lines": (11, Order.ITEM),
    "each exactly, from the area": (12, Order.ITEM),
    "by depth": (13, Order.ITEM),
    "runs by vectors of 64": (14, Order.ITEM),
    "runs by vectors of 32": (15, Order.ITEM),
    "slots": (16, Order.ITEM),
    "windows of 32": (17, Order.ITEM),
    "as scalar chooses": (18, Order.ITEM),
    "as avx2 chooses": (19, Order.ITEM),
    "as avx512 chooses": (20, Order.ITEM),
    "slide by pairs": (23, Order.ITEM),
    "as neon chooses": (24, Order.ITEM),
}
OF_EACH_ORDER = ("pg13", "pg14")
# A candidate on trial meets one proved algorithm of each order, on pages of the trial's own seed. That the others give
# the same is proved; of them each SHARE-th page shows that they are extracted as they are.
SEED = os.environ.get("PGQUERN_JUDGE")
ASKED = {name: PROVED[name] for name in (PROVED if SEED is None else OF_EACH_ORDER)}
SHARE = 20
BY_INTERPRETER = 128
PAGES = 10_000
CHUNK = 1000
# Those of the profile brief.
FIRST = 3 * CHUNK
ANSWER = 3 + BLCKSZ


def proved(algorithm: int, truncate: bool, pages: Sequence[bytes]) -> list[Outcome]:
    """What the extracted program makes of each page."""
    if not PROGRAM.exists():
        pytest.fail(f"{PROGRAM} is not built: run `make oracle`")
    records = b"".join(bytes([algorithm, truncate]) + page for page in pages)
    answers = subprocess.run([PROGRAM], input=records, stdout=subprocess.PIPE, check=True).stdout
    assert len(answers) == ANSWER * len(pages)
    return [
        Outcome(answers[at], int.from_bytes(answers[at + 1 : at + 3], "little"), answers[at + 3 : at + ANSWER])
        for at in range(0, len(answers), ANSWER)
    ]


@pytest.mark.parametrize(
    "start", [pytest.param(at, marks=[pytest.mark.whole] if at >= FIRST else []) for at in range(0, PAGES, CHUNK)]
)
def test_proof_equals_oracle_equals_kernels(start: int) -> None:
    """On random pages, sound and corrupt, with truncation and without: the same bytes, or the same refusal."""
    first = PAGES + start + CHUNK * int(SEED or 0)
    pages = [page_of(random_shape(number)) for number in range(first, first + CHUNK)]
    wanted = []
    for page in pages:
        wanted.append(expected(page))
        assert_agreement(page, wanted[-1])
    for (name, (algorithm, order)), truncate in product(ASKED.items(), (False, True)):
        chosen = slice(None, None, 1 if name in OF_EACH_ORDER else SHARE)
        for page, want, got in zip(
            pages[chosen], wanted[chosen], proved(algorithm, truncate, pages[chosen]), strict=True
        ):
            right = want[order, truncate]
            assert got == right, f"extracted {name}, truncate={truncate}: {difference(page, right, got)}"
    tally("compaction", "pages through proof, oracle and kernels", len(pages))


@pytest.mark.parametrize("name", PROVED)
def test_the_extracted_interpreter_agrees(name: str) -> None:
    """The few lines that carry out a proved program on buffers are not proved; here the proved interpreter does it."""
    algorithm, order = PROVED[name]
    pages = [page_of(random_shape(number)) for number in range(30)]
    for page, got in zip(pages, proved(BY_INTERPRETER + algorithm, True, pages), strict=True):
        assert got == expected(page)[order, True]
