# SPDX-License-Identifier: PostgreSQL
"""What proofs/STEM/contracts.toml lists: functions whose contracts are proved, and changes that must stop a proof."""

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from proofs.bounded.listing import Change
from tools.common import mutants


class Proof(BaseModel):
    """One run of WP, on some functions of one C file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    says: str
    """One sentence: what holds."""
    source: str
    """A file of csrc/."""
    functions: list[str]
    """Their bodies are proved to keep their contracts. What they call and is not listed is taken at its contract."""
    goals: int
    """How many there are to prove, as Frama-C 25 counts them; other versions may count in another way."""
    steps: int = 200_000
    """Of the prover on each goal. Steps, since a busy machine changes no verdict."""
    reduce: list[Change] = []
    """What is taken out of the file because Frama-C cannot read it, or replaced by its like."""
    mutant: list[mutants.Mutant] = []
    """killed_by is a part of the name of a goal that must not be proved then."""


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
