# SPDX-License-Identifier: PostgreSQL
"""A list of proofs of C text: what each proves, and the changes of C that must stop it."""

import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from tools.common import mutants


class Change(BaseModel):
    """`old`, which occurs once in csrc/`file`, becomes `new`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    old: str
    new: str

    def make(self, csrc: Path, name: str) -> None:
        """Change the copy of csrc/. Raises MutantError if `old` does not occur exactly once."""
        (csrc / self.file).write_text(mutants.Mutant(name=name, **self.model_dump()).source(csrc))


class Listed(BaseModel):
    """What each list says of a proof."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    says: str
    """One sentence: what holds, and up to which bound, if there is one."""
    reduce: list[Change] = []
    """What is made smaller, taken out, or replaced by its like before the tool looks at it."""
    mutant: list[mutants.Mutant] = []
    """killed_by is a part of what the tool says of the check, or the goal, that must fail."""


Proof = TypeVar("Proof", bound=Listed)


def load(path: Path, kind: type[Proof]) -> list[Proof]:
    """The proofs of one stem, names unique. Raises MutantError, naming the file, if it does not fit."""
    try:
        proofs = [kind.model_validate(entry) for entry in tomllib.loads(path.read_text())["proof"]]
    except ValidationError as error:
        raise mutants.MutantError(f"{path}: {error}") from error
    names = [proof.name for proof in proofs] + [mutant.name for proof in proofs for mutant in proof.mutant]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise mutants.MutantError(f"{path}: these names occur twice: {', '.join(twice)}")
    return proofs
