# SPDX-License-Identifier: PostgreSQL
"""How much of each layer a stem has, counted in the lists that the layers themselves run by."""

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from spec.tools import models
from tools.common import defects
from tools.common.matrix import GROUND, stems

REQUIRED = Path("proofs/required-theorems.txt")


def theorems() -> Counter[str]:
    """Required theorems of each stem; those of the shared ground by the name of its file."""
    lines = [line for line in REQUIRED.read_text().splitlines() if line.startswith("Pgquern.")]
    parts = [line.split(".") for line in lines]
    return Counter(part[2].lower() if part[1] == "common" else part[1] for part in parts)


def entries(path: Path, *keys: str) -> int:
    """How many tables a list has: [[KEY]], or [[KEY.KEY]] within them; none without the file."""
    found: list[Any] = [tomllib.loads(path.read_text())] if path.exists() else []
    for key in keys:
        found = [inner for outer in found for inner in outer.get(key, [])]
    return len(found)


def of_stem(stem: str, runs: list[models.Run], required: Counter[str]) -> dict[str, Any]:
    """The counts of one stem."""
    mine = [run for run in runs if run.stem == stem]
    real = [defect for defect in defects.load() if defect.stem == stem]
    return {
        "stem": stem,
        "models_hold": sum(not run.must_fail for run in mine),
        "models_fail": sum(run.must_fail for run in mine),
        "theorems": required[stem],
        "bounded": entries(Path("proofs", stem, "bounded.toml"), "proof"),
        "defects": len(real),
        "defects_told": sum(not defect.none for defect in real),
    }


def table() -> list[dict[str, Any]]:
    """A line for each stem, then the ground and whatever else theorems are required of, then the sums."""
    runs, required = models.find(Path("spec")), theorems()
    lines = [of_stem(stem, runs, required) for stem in stems()]
    ground = [of_stem(name, runs, required) for name in sorted({*GROUND, *required} - {line["stem"] for line in lines})]
    lines += [line for line in ground if any(value for value in line.values() if isinstance(value, int))]
    sums = {key: sum(line[key] for line in lines) for key in lines[0] if key != "stem"}
    return [*lines, {"stem": "all", **sums}]
