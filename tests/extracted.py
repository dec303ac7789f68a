# SPDX-License-Identifier: PostgreSQL
"""Where the programs are that are extracted from the proofs. PGQUERN_ORACLES names another folder, for broken ones."""

import os
from pathlib import Path

FOLDER = Path(os.environ.get("PGQUERN_ORACLES") or Path(__file__).parents[1] / "build" / "oracle")


def program(stem: str) -> Path:
    """A stem's. `make oracle` builds it."""
    return FOLDER / stem
