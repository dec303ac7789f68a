# SPDX-License-Identifier: PostgreSQL
"""What a stem adds to the report: bench/STEM/report.html and bench/STEM/report.py, if it has them.

report.html is a part of the page, for Jinja, rendered with what context() of report.py returns.
"""

import importlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from tools.common.results import Result

BENCH = Path("bench")


def _module(stem: str) -> ModuleType | None:
    return importlib.import_module(f"bench.{stem}.report") if (BENCH / stem / "report.py").exists() else None


def stems() -> list[str]:
    """The stems that have benchmarks."""
    return sorted(path.parent.name for path in BENCH.glob("*/goals.toml"))


def of_stem(stem: str, found: Sequence[Result]) -> list[Result]:
    """The results of one stem."""
    return [result for result in found if result.stem == stem]


def contexts(found: Sequence[Result]) -> dict[str, dict[str, Any]]:
    """For each stem that has a part of the page, what the part is rendered with."""
    parts = {}
    for stem in stems():
        if (BENCH / stem / "report.html").exists() and (module := _module(stem)):
            parts[stem] = module.context(of_stem(stem, found))
    return parts
