# SPDX-License-Identifier: PostgreSQL
"""The commands, as the files tools/*/commands.toml list them.

A table is a command. `program` is a module whose `main` is a click command; nothing of it is loaded here.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GROUPS = {
    "files": "Your own files",
    "server": "Your own server, on a mount",
    "kernel": "Your own kernel",
    "models": "Models, and what they follow",
}
"""The groups of --help, in its order."""


@dataclass(frozen=True)
class Entry:
    """A command."""

    name: str
    group: str
    says: str
    program: str
    stem: str = ""
    """If it is about one: its folder is one of that stem's, and tests/STEM/commands.py has its files."""
    arguments: tuple[str, ...] = ()
    """Parameters of the program that are arguments here, in this order."""
    files: tuple[str, ...] = ()
    """Parameters that name a file or folder of the user's: it must be there before anything is built or run."""
    hide: tuple[str, ...] = ()
    """Options that --help does not show."""
    only: tuple[str, ...] = ()
    """The parameters that are kept; empty: all."""
    set: tuple[tuple[str, Any], ...] = ()
    """Parameters whose values are not for the user to choose."""
    help: str = ""
    """In the place of the program's own text."""
    example: str = ""
    """What --help begins with: `$ pgquern NAME ...` and what it prints, `...` for what is left out."""
    clone: bool = False
    """Whether it runs in a clone alone: it compiles, or needs models, tests or servers."""
    make: str = ""
    """What make must make before."""
    variables: tuple[tuple[str, str], ...] = ()
    """What make gets for that: a variable, and the parameter that it is."""
    flags: str = ""
    """A target of make that prints further parameters."""


def frozen(value: Any) -> Any:
    """A value of TOML that cannot change: a table as pairs."""
    if isinstance(value, dict):
        return tuple(value.items())
    return tuple(value) if isinstance(value, list) else value


def entries(top: Path) -> dict[str, Entry]:
    """All commands below a folder, in the order of GROUPS, within a group by name."""
    found = dict[str, Entry]()
    for path in sorted(top.glob("tools/*/commands.toml")):
        for name, table in tomllib.loads(path.read_text()).items():
            found[name] = Entry(name=name, **{key: frozen(value) for key, value in table.items()})
    order = list(GROUPS)
    return dict(sorted(found.items(), key=lambda item: (order.index(item[1].group), item[0])))
