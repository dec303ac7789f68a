# SPDX-License-Identifier: PostgreSQL
"""The sources of the kernels that a machine compiles: csrc/rules.mk lists the levels that each machine can have."""

import platform
import re
from pathlib import Path

CSRC = Path("csrc")


def foreign_levels(machine: str) -> tuple[str, ...]:
    """The levels that other machines have: a file whose name ends in one of them is theirs."""
    listed = re.findall(r"^LEVELS_(\w+)\s*:=(.*)$", (CSRC / "rules.mk").read_text(), re.MULTILINE)
    return tuple(level for other, levels in listed if other != machine for level in levels.split())


def kernel_sources(stem: str = "", machine: str = platform.machine()) -> list[Path]:
    """All sources that the machine compiles, or those of one stem."""
    foreign = foreign_levels(machine)
    return sorted(path for path in (CSRC / stem).rglob("*.c") if not path.stem.endswith(foreign))
