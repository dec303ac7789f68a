# SPDX-License-Identifier: PostgreSQL
"""The forms of the checksum extracted from the proof, oracle and every variant, on the same pages."""

import struct
import subprocess
from pathlib import Path
from random import Random

import pytest
from pgquern.tornpage import checksums, variants

from ref import tornpage as ref
from tests.tally import tally

PROGRAM = Path(__file__).parents[2] / "build" / "oracle" / "tornpage"
FORMS = {"upstream's loop": 0, "the chain": 1, "the prime in two parts": 2}
PAGES = 60


def masked(page: bytes) -> bytes:
    """The page as the checksum sees it: pd_checksum is zero."""
    return page[:8] + bytes(2) + page[10:]


def proved(form: int, pages: list[tuple[bytes, int, list[int]]]) -> list[int]:
    """What the extracted program gives for pages, each with its block number and an order of the lanes."""
    if not PROGRAM.exists():
        pytest.fail(f"{PROGRAM} is not built: run `make oracle`")
    questions = b"".join(
        struct.pack("<BIII", form, ref.LANES, len(page) // (4 * ref.LANES), block)
        + struct.pack(f"<{ref.LANES}I", *ref.BASE_OFFSETS)
        + struct.pack(f"<{ref.LANES}I", *order)
        + masked(page)
        for page, block, order in pages
    )
    answers = subprocess.run([PROGRAM], input=questions, stdout=subprocess.PIPE, check=True).stdout
    return [answer for (answer,) in struct.iter_unpack("<I", answers)]


def test_proof_equals_oracle_equals_kernels() -> None:
    """Pages of every size, and the lanes in any order."""
    rng = Random(7)
    pages = [
        (
            rng.randbytes(rng.choice(ref.BLOCK_SIZES[:4])),
            rng.randrange(2**32 - 1),
            rng.sample(range(ref.LANES), ref.LANES),
        )
        for _ in range(PAGES)
    ]
    found = {name: proved(form, pages) for name, form in FORMS.items()}
    for i, (page, block, _) in enumerate(pages):
        (wanted,) = ref.checksums(page, len(page), block)
        assert {name: answers[i] for name, answers in found.items()} == dict.fromkeys(FORMS, wanted)
        for variant in variants():
            if variant.supported:
                assert checksums(page, block_size=len(page), first_block=block, variant=variant.name) == [wanted]
    tally("tornpage", "pages through proof, oracle and kernels", len(pages))
