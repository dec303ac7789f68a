# SPDX-License-Identifier: PostgreSQL
"""Changes that a person thought of, since no rule makes them: tests/<stem>/changes.toml.

    tests = ["test_x.py"]     files of the stem's folder that look at its kernels, beside test_kernels*.py

    [[change]]
    name, file                from the top
    old, new                  a piece that occurs once, and what it becomes
    killers                   what must tell it, each of them: a pytest node, "world N" (a seed, tried first),
                              "threads", "cross", "sanitizers"

Here stand changes of more than one place, or of the order of statements or of memory, and those of defects.toml.
"""

import tomllib
import zlib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from tests.changes.change import Change


class ListError(ValueError):
    """A list that does not fit the sources, with what to change."""


class Entry(BaseModel):
    """One change."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    file: str
    old: str
    new: str
    killers: tuple[str, ...]

    def change(self) -> Change:
        """As the engine takes it."""
        path = Path(self.file)
        found = (text := path.read_text()).count(self.old) if path.exists() else 0
        if found != 1:
            raise ListError(f"change {self.name}: `old` occurs {found} times in {path}, not once; correct it")
        begin = text.index(self.old)
        rank = f"{zlib.crc32(self.name.encode()):08x}"
        edit = (begin, begin + len(self.old), self.new)
        return Change(self.file, (edit,), self.name, f"in {self.file}", rank, self.killers)


class File(BaseModel):
    """A whole list."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tests: tuple[str, ...] = ()
    change: tuple[Entry, ...] = ()


def load(stem: str) -> File:
    """A stem's list; an empty one if it has none."""
    path = Path("tests", stem, "changes.toml")
    try:
        listed = File.model_validate(tomllib.loads(path.read_text()) if path.exists() else {})
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise ListError(f"{path}: {error}") from error
    names = [entry.name for entry in listed.change]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ListError(f"{path}: these names occur twice: {', '.join(twice)}")
    return listed
