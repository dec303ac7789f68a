# SPDX-License-Identifier: PostgreSQL
"""A mutant: one change to one file, which a named test, proof or sanitizer must catch."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

M = TypeVar("M", bound="Mutant")


class MutantError(ValueError):
    """A list of mutants that does not fit the sources, with what to change."""


class Mutant(BaseModel):
    """`old`, which occurs once in `file`, becomes `new`. A layer may subclass this to add fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    file: str
    """From the folder that the layer names, as in "S/scalar.c"."""
    old: str
    new: str
    killed_by: str = ""
    """The pytest node, the theorem, or the finding that must catch it."""

    def source(self, root: Path) -> str:
        """The text of root/file with the change made. Raises MutantError if `old` does not occur exactly once."""
        path = root / self.file
        if not path.exists():
            raise MutantError(f"mutant {self.name}: {path} does not exist; correct `file`")
        found = (text := path.read_text()).count(self.old)
        if found != 1:
            raise MutantError(f"mutant {self.name}: `old` occurs {found} times in {path}, not once; correct `old`")
        return text.replace(self.old, self.new)


def load(path: Path, kind: type[M]) -> list[M]:
    """The tables [[mutant]] of a TOML file, names unique. Raises MutantError, naming the file and the mutant."""
    listed: Sequence[dict[str, object]] = tomllib.loads(path.read_text()).get("mutant", [])
    mutants = []
    for entry in listed:
        try:
            mutants.append(kind.model_validate(entry))
        except ValidationError as error:
            raise MutantError(f"{path}: mutant {entry.get('name', '?')}: {error}") from error
    names = [mutant.name for mutant in mutants]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise MutantError(f"{path}: these names occur twice: {', '.join(twice)}")
    return mutants
