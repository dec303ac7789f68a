# SPDX-License-Identifier: PostgreSQL
"""Reads build/results/*.json, one file a layer (or a layer and stem), as the layers' drivers write them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path("build/results")


@dataclass(frozen=True)
class Cell:
    """What one layer did for one stem: counts, seconds, and a sentence of its own."""

    layer: str
    stem: str
    seconds: float
    passed: int
    failed: int
    skipped: int
    says: str

    @property
    def status(self) -> str:
        """failed, skipped (nothing ran), or passed."""
        if self.failed:
            return "failed"
        return "passed" if self.passed else "skipped"


def load(folder: Path = RESULTS) -> list[dict[str, Any]]:
    """Every result that names its layer. Raises ValueError, naming the file, for one that is not JSON."""
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            result = json.loads(path.read_text())
        except json.JSONDecodeError as error:
            raise ValueError(f"{path} is not JSON ({error}); run the layer's target again") from error
        if "layer" in result:
            found.append(result)
    return found


def cells(results: list[dict[str, Any]]) -> list[Cell]:
    """One cell a layer and stem."""
    return [
        Cell(r["layer"], stem, s["seconds"], s["passed"], s["failed"], s.get("skipped", 0), s.get("says", ""))
        for r in results
        for stem, s in r["stems"].items()
    ]
