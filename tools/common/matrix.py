# SPDX-License-Identifier: PostgreSQL
"""The stems of the matrix, read off the tree: a stem exists once its oracle does."""

from pathlib import Path

GROUND = ("page", "xid")
"""The shared ground under all stems. It has oracles and tests, but it is no stem."""


def stems(top: Path = Path()) -> list[str]:
    """All stems, sorted by name: the modules of ref/ that are not shared ground."""
    return sorted(path.stem for path in (top / "ref").glob("*.py") if path.stem not in ("__init__", *GROUND))


def with_cell(pattern: str, stem: str = "", top: Path = Path()) -> list[str]:
    """The stems whose cell exists. `pattern` has {stem} in it, as in "tests/{stem}/fuzz.c"; `stem` narrows to one."""
    return [name for name in stems(top) if stem in ("", name) and any(top.glob(pattern.format(stem=name)))]
