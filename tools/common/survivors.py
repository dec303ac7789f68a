# SPDX-License-Identifier: PostgreSQL
"""How many changes of a stem are tried, which of them nothing shows, and why: survivors.toml beside what is changed."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError


class ListError(ValueError):
    """A survivors.toml is wrong; the message names the file, and what to change."""


class Change(Protocol):
    @property
    def name(self) -> str:
        """The definition, and the checksum of the change."""

    @property
    def says(self) -> str:
        """The change itself, for people."""


class Tried(Protocol):
    """A change, and what showed it."""

    @property
    def change(self) -> Change: ...
    @property
    def verdict(self) -> str: ...
    @property
    def by(self) -> str: ...


class Survivor(BaseModel):
    """A change that nothing shows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    change: str
    """Its name."""
    says: str
    seen: str
    """Its verdict."""
    why: str = Field(min_length=15)
    """Why nothing shows it."""


class File(BaseModel):
    """A whole survivors.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    number: NonNegativeInt
    """How many changes are tried; 0: none yet, and the file says why."""
    survivor: list[Survivor] = Field(default_factory=list)


def load(path: Path) -> tuple[int, dict[str, Survivor]]:
    """How many changes are tried, and those listed, by name."""
    try:
        file = File.model_validate(tomllib.loads(path.read_text()))
    except FileNotFoundError as error:
        raise ListError(f"{path} is missing; write 'number = 12' there: how many changes are tried") from error
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise ListError(f"{path}: {error}") from error
    listed = file.survivor
    names = [one.change for one in listed]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ListError(f"{path}: listed twice: {', '.join(twice)}")
    return file.number, {one.change: one for one in listed}


def wrong(
    tried: Sequence[Tried],
    listed: dict[str, Survivor],
    there: Collection[str],
    unseen: Collection[str] = ("counts only", "survived"),
) -> dict[str, str]:
    """What must be mended, by the name of the change. there: all that there are; unseen: verdicts to be listed."""
    faults = dict.fromkeys(listed.keys() - there, "there is no such change any more; take it out of survivors.toml")
    for one in tried:
        name, found = one.change.name, listed.get(one.change.name)
        if one.verdict not in unseen:
            if found:
                faults[name] = f"is {one.verdict} now ({one.by}); take it out of survivors.toml"
        elif found is None:
            faults[name] = "nothing shows it: state what does, or list it with a reason in survivors.toml"
        elif found.seen != one.verdict or found.says != one.change.says:
            faults[name] = f"survivors.toml says '{found.seen}: {found.says}', it is '{one.verdict}: {one.change.says}'"
    return faults


def entry(one: Tried) -> str:
    """A change in the form of survivors.toml, without its reason."""
    # JSON's escapes are TOML's.
    change, says = json.dumps(one.change.name), json.dumps(one.change.says, ensure_ascii=False)
    return f'[[survivor]]\nchange = {change}\nsays = {says}\nseen = "{one.verdict}"\nwhy = ""\n'
