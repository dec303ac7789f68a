# SPDX-License-Identifier: PostgreSQL
"""What others claim about a stem, and ours beside it: bench/STEM/claimed.toml, for the report.

[source] says who claims it, where and when. Each [[claim]] has their `figure`, and what it is `of`; `ours`, a sentence
with names in braces; `values`, where the recorded figure of each name stands; the `command` that measures it; and how
what we measured `differs` from what they did. Without `differs` the measure is the same; without `ours` there is none.
"""

import tomllib
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tools.report.figures import FigureError
from tools.report.texts import marked
from tools.report.values import Recorded, Where, filled


class Claim(BaseModel):
    """One figure of theirs."""

    model_config = ConfigDict(extra="forbid")

    figure: str
    of: str
    ours: str = ""
    values: dict[str, Where] = {}
    command: str = ""
    differs: str = ""

    @model_validator(mode="after")
    def _says_what_is_missing(self) -> Self:
        if not self.ours and not self.differs:
            raise ValueError("a claim without a figure of ours says in `differs` why there is none")
        if self.ours and not (self.command and self.values):
            raise ValueError("a figure of ours comes from `values`, and has a `command` that measures it")
        return self


class Source(BaseModel):
    """Who claims it, in what, and when."""

    model_config = ConfigDict(extra="forbid")

    who: str
    what: str
    when: str


class Claimed(BaseModel):
    """bench/STEM/claimed.toml."""

    model_config = ConfigDict(extra="forbid")

    source: Source
    claim: list[Claim] = Field(min_length=1)


def read(stem: str) -> Claimed | None:
    """A stem's file; None if it has none. FigureError: something else is in it."""
    path = Path("bench", stem, "claimed.toml")
    if not path.exists():
        return None
    try:
        return Claimed.model_validate(tomllib.loads(path.read_text()))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise FigureError(f"{path}: {error}: correct it; tools/report/others.py says what the keys mean") from error


def ours(stem: str, claim: Claim, recorded: Recorded) -> str:
    """The sentence of a claim with its figures, and on what they were measured."""
    return "{} ({})".format(*filled(stem, claim.ours, claim.values, recorded)) if claim.ours else ""


def table(stem: str, recorded: Recorded) -> dict[str, Any] | None:
    """What others claim about a stem, as HTML; None if nobody does."""
    if not (found := read(stem)):
        return None
    lines = [
        {"figure": marked(claim.figure), "of": marked(claim.of), "ours": marked(ours(stem, claim, recorded)),
         "command": claim.command, "differs": marked(claim.differs)}
        for claim in found.claim
    ]  # fmt: skip
    return {"who": found.source.who, "source": marked(f"{found.source.what}, {found.source.when}"), "lines": lines}
