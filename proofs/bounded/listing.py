# SPDX-License-Identifier: PostgreSQL
"""What proofs/STEM/bounded.toml lists: bounded proofs, and for each the changes of C that it must refute."""

import tomllib
from pathlib import Path

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


class Proof(BaseModel):
    """One run of CBMC, on proofs/STEM/bounded/`harness` and the C files in `source`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    says: str
    """One sentence: what holds, and up to which bound."""
    harness: str
    source: list[str] = []
    """Files of csrc/; none if the harness includes them."""
    define: dict[str, str | int] = {}
    unwind: int
    """How often each loop is unrolled. CBMC proves that no loop goes further."""
    reduce: list[Change] = []
    """Constants of the kernel that are made smaller, so that a small input reaches all of its branches."""
    mutant: list[mutants.Mutant] = []
    """killed_by is the start of what CBMC says of the check that must fail."""


def load(path: Path) -> list[Proof]:
    """The proofs of one stem, names unique. Raises MutantError, naming the file, if it does not fit."""
    try:
        proofs = [Proof.model_validate(entry) for entry in tomllib.loads(path.read_text())["proof"]]
    except ValidationError as error:
        raise mutants.MutantError(f"{path}: {error}") from error
    names = [proof.name for proof in proofs] + [mutant.name for proof in proofs for mutant in proof.mutant]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise mutants.MutantError(f"{path}: these names occur twice: {', '.join(twice)}")
    return proofs
