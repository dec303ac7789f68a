# SPDX-License-Identifier: PostgreSQL
"""Where the programs are that are extracted from the proofs, and what they answer.

PGQUERN_ORACLES names another folder, for broken ones.
"""

import os
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(os.environ.get("PGQUERN_ORACLES") or Path(__file__).parents[2] / "build" / "oracle")


def program(stem: str) -> Path:
    """A stem's. `make oracle` builds it."""
    return FOLDER / stem


def agree(said: Sequence[object], wanted: Sequence[object]) -> None:
    """All answers are those wanted. Only the first other one is told: to compare two long lists takes pytest hours."""
    for n, (one, other) in enumerate(zip(said, wanted, strict=False)):
        assert one == other, f"answer {n}"
    assert len(said) == len(wanted)
