# SPDX-License-Identifier: PostgreSQL
"""The layers in which changes are made, which stems have some, and where it stands what may survive."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.changes import emulated, extracted, hand, meanings, rows
from tests.changes.build import Compilers, Workshop
from tests.changes.change import Row
from tests.changes.emulated import Emulated
from tests.changes.outside import Model, Proof
from tools.common import matrix, survivors
from tools.common.survivors import Survivor


@dataclass(frozen=True)
class Layer:
    """Which stems have changes, the row of one, and the folder in which survivors.toml is."""

    has: Callable[[str], object]
    row: Callable[[str, Compilers], Row]
    lists: str = "tests"


def has_models(stem: str) -> bool:
    return Path("spec", stem, "models.toml").exists()


def has_proofs(stem: str) -> bool:
    return stem in matrix.stems() and Path("proofs", stem, "survivors.toml").exists()


LAYERS = {
    "C": Layer(rows.sources_of_c, lambda stem, compilers: rows.Tested(stem, "C", compilers)),
    "hand": Layer(lambda stem: hand.load(stem).change, rows.ByHand),
    "oracle": Layer(rows.sources_of_oracle, lambda stem, compilers: rows.Tested(stem, "oracle", compilers)),
    "binding": Layer(rows.sources_of_binding, lambda stem, compilers: rows.Tested(stem, "binding", compilers)),
    "extracted": Layer(extracted.sources, lambda stem, _: extracted.Extracted(stem)),
    "cross": Layer(emulated.sources, lambda stem, compilers: Emulated(Workshop(stem, "cross", compilers))),
    "meaning": Layer(lambda stem: stem == meanings.STEM, lambda *_: meanings.Meanings()),
    "model": Layer(has_models, lambda stem, _: Model(stem), "spec"),
    "proof": Layer(has_proofs, lambda stem, _: Proof(stem), "proofs"),
}


def stems(stem: str = "") -> list[str]:
    """All stems, and what lies under them; `stem` narrows to one."""
    names = [*matrix.stems(), *matrix.GROUND, rows.COMMON, meanings.STEM]
    return [name for name in names if stem in ("", name)]


def of(stem: str, chosen: Sequence[str]) -> list[str]:
    """The layers among these in which a stem has changes."""
    return [layer for layer in chosen if LAYERS[layer].has(stem)]


def listed(layer: str, stem: str) -> tuple[int | None, dict[str, Survivor]]:
    """How many changes are tried, and those that may survive. Nothing by hand may, and all of it is tried."""
    return (None, {}) if layer == "hand" else survivors.load(Path(LAYERS[layer].lists, stem, "survivors.toml"))
