# SPDX-License-Identifier: PostgreSQL
"""tests/defects.toml: real defects of PostgreSQL, and what here tells each one."""

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

LIST = Path("tests/defects.toml")
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{10}$")]
Text = Annotated[str, Field(min_length=1)]
Minor = Annotated[str, Field(pattern=r"^\d+\.\d+$")]


class DefectError(ValueError):
    """A list of defects that is not as it should be, with what to change."""


class ToldApart(BaseModel):
    """A test that a released minor fails and the next one passes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    old: Minor
    new: Minor
    test: Annotated[str, Field(pattern=r"^tests/\w+/test_minors\.py::test_\w+$")]


class Defect(BaseModel):
    """A run or a mutant has its essence, or `none` says why nothing can tell."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    commit: tuple[Commit, ...]
    """Those that mend it, of the master branch first; empty while it is not mended."""
    title: Text
    stem: Text
    what: Text
    hit: Text
    """The versions that had it."""
    fixed: tuple[Annotated[str, Field(pattern=r"^\d+(\.\d+)+$")], ...] = ()
    """Minor releases whose notes name it."""
    source: str = ""
    """Where it was found, if neither `commit` nor these notes say so."""
    essence: str = ""
    """What of it the run or the mutant has."""
    model: str = ""
    kernel: str = ""
    none: str = ""
    beside: bool = False
    """No cell of the stem is about the place of the defect."""
    told_apart: ToldApart | None = None
    """In real servers, by `make test ONLY=minors`."""

    @model_validator(mode="after")
    def _either(self) -> "Defect":
        told = self.model or self.kernel
        if bool(told) == bool(self.none):
            raise ValueError("give `model` or `kernel`, or the reason in `none`")
        if bool(told) != bool(self.essence):
            raise ValueError("give `essence` with `model` or `kernel`, or `none` alone")
        if self.beside and told:
            raise ValueError("`beside` belongs to `none`")
        return self


def load(path: Path = LIST) -> list[Defect]:
    """The tables [[defect]], in their order. Raises DefectError, naming the defect."""
    defects = []
    for entry in tomllib.loads(path.read_text())["defect"]:
        try:
            defects.append(Defect.model_validate(entry))
        except ValidationError as error:
            raise DefectError(f"{path}: {entry.get('title', '?')}: {error}") from error
    return defects
