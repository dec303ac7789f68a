# SPDX-License-Identifier: PostgreSQL
"""The layers in which changes are made, and which stems have some."""

from pathlib import Path

from tests.changes.build import Compilers
from tests.changes.change import Row
from tests.changes.rows import COMMON, SOURCES, Tested
from tools.common import matrix, survivors
from tools.common.survivors import Survivor

NAMES = tuple(SOURCES)


def stems(layer: str, stem: str = "") -> list[str]:
    """The stems that have changes in a layer, and what lies under them; `stem` narrows to one."""
    names = [name for name in (*matrix.stems(), *matrix.GROUND, COMMON) if stem in ("", name)]
    return [name for name in names if SOURCES[layer](name)]


def row(layer: str, stem: str, compilers: Compilers) -> Row:
    """A stem in a layer."""
    return Tested(stem, layer, compilers)


def folder(layer: str, stem: str) -> Path:
    """Where survivors.toml lies."""
    return Path("tests", stem)


def listed(layer: str, stem: str) -> tuple[int, dict[str, Survivor]]:
    """How many changes are tried, and those of this layer that may survive. One list is of all layers of the tests."""
    number, found = survivors.load(folder(layer, stem) / "survivors.toml")
    files = SOURCES[layer](stem)
    return number, {name: one for name, one in found.items() if name.partition(" ")[0] in files}
