# SPDX-License-Identifier: PostgreSQL
"""What of the clone goes into the package: the command's programs, and all that these import of the house.

The programs import each other by the names of the clone's folders, `ref` and `tools`. No package may bring
these names for all of site-packages, so they lie in pgquern/_house/, which pgquern/__main__.py puts on its own path.
"""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("ref", "tools")
FIGURES = Path("bench/figures")
"""What was measured: a program predicts by it."""
START = "tools.pgquern.__main__"


def registries() -> list[Path]:
    """The files that list commands. They all go along: a command that needs the clone must say so."""
    return sorted(Path("tools").glob("*/commands.toml"))


def programs() -> list[str]:
    """The modules of the commands that need no clone."""
    tables = [table for path in registries() for table in tomllib.loads(path.read_text()).values()]
    return [table["program"] for table in tables if not table.get("clone")]


def file_of(module: str) -> Path | None:
    """The source of a module or package of the house; None: it is no such thing."""
    path = Path(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def imports(path: Path) -> Iterator[str]:
    """What a source imports, anywhere in it; of `from a import b` both a and a.b, which may be a module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def sources() -> list[Path]:
    """The sources that the programs and the command need, the __init__.py of their packages included."""
    found, ahead = set[Path](), [START, *programs()]
    while ahead:
        module = ahead.pop()
        parent = module.rpartition(".")[0]
        path = file_of(module) if module.split(".")[0] in FOLDERS else None
        if path and path not in found:
            found.add(path)
            ahead += imports(path)
        if parent:
            ahead.append(parent)
    return sorted(found)


def files() -> list[Path]:
    return [*sources(), *registries(), *sorted(FIGURES.glob("*.json"))]
