# SPDX-License-Identifier: PostgreSQL
"""How many changes of a row are tried, and which of them no property shows, and why: spec/STEM/survivors.toml."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field, NonNegativeInt, ValidationError

from spec.tools.changed import Tried
from spec.tools.models import ModelError, Table


class Survivor(Table):
    """A change that no property shows."""

    change: str
    """Its name: the definition, and the checksum of the change."""
    says: str
    """The change itself, for people."""
    seen: Literal["counts only", "survived"]
    why: str = Field(min_length=15)
    """Why no property shows it."""


class File(Table):
    """A whole survivors.toml."""

    number: NonNegativeInt
    """How many changes are tried; 0: none yet, and the file says why."""
    survivor: list[Survivor] = Field(default_factory=list)


def load(path: Path) -> tuple[int, dict[str, Survivor]]:
    """How many changes are tried, and those listed, by name."""
    try:
        file = File.model_validate(tomllib.loads(path.read_text()))
    except FileNotFoundError as error:
        raise ModelError(f"{path} is missing; write 'number = 12' there: how many changes are tried") from error
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise ModelError(f"{path}: {error}") from error
    listed = file.survivor
    names = [one.change for one in listed]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ModelError(f"{path}: listed twice: {', '.join(twice)}")
    return file.number, {one.change: one for one in listed}


def wrong(tried: Sequence[Tried], listed: dict[str, Survivor], there: Collection[str]) -> dict[str, str]:
    """What must be mended, by the name of the change. there: the names of all changes that the models have."""
    faults = dict.fromkeys(listed.keys() - there, "there is no such change any more; take it out of survivors.toml")
    for one in tried:
        name, found = one.change.name, listed.get(one.change.name)
        if one.verdict in ("killed", "invalid"):
            if found:
                faults[name] = f"is {one.verdict} now ({one.by}); take it out of survivors.toml"
        elif found is None:
            faults[name] = "no property shows it: add one, or list it with a reason in survivors.toml"
        elif found.seen != one.verdict or found.says != one.change.says:
            faults[name] = f"survivors.toml says '{found.seen}: {found.says}', it is '{one.verdict}: {one.change.says}'"
    return faults


def entry(one: Tried) -> str:
    """A change in the form of survivors.toml, without its reason."""
    change, says = json.dumps(one.change.name), json.dumps(one.change.says)
    return f'[[survivor]]\nchange = {change}\nsays = {says}\nseen = "{one.verdict}"\nwhy = ""\n'
