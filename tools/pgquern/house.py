# SPDX-License-Identifier: PostgreSQL
"""Where the command runs: in a clone, or in a package that pip installed, which has only a part of it."""

import importlib
import os
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import click

TOP = Path(__file__).resolve().parents[2]
IS_CLONE = (TOP / "Makefile").is_file()
IS_SET_UP = IS_CLONE and Path(sys.prefix).resolve() == (TOP / "build/venv").resolve()
"""Whether the clone's own environment runs this; another one has the binding that pip built, and not all libraries."""
COMMIT = TOP / "COMMIT"
"""In a package: the commit that it was built from."""


class Failed(click.ClickException):
    """Nothing was done. The text is a sentence that says what to do."""

    exit_code = 2


def version() -> str:
    """The version, and the commit if it is known."""
    from importlib import metadata

    from tools.common import environment

    if IS_CLONE:
        number = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["version"]
        commit = environment.commit(TOP)
    else:
        number, commit = metadata.version("pgquern"), COMMIT.read_text().strip() if COMMIT.exists() else ""
    return f"pgquern {number}" + (f", commit {commit}" if commit else "")


@cache
def make(target: str, variables: tuple[tuple[str, str], ...] = (), *, quiet: bool = False) -> str:
    """Make a target of the clone; what make says goes to stderr. `quiet`: return it instead."""
    command = ["make", "-s", "-C", str(TOP), target, *(f"{name}={value}" for name, value in variables)]
    # Another make above this one must not hand its job server and variables down.
    above = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    try:
        done = subprocess.run(command, env=above, stdout=subprocess.PIPE if quiet else 2, text=True, check=False)
    except FileNotFoundError as error:
        raise Failed("make is not installed: install it (Debian: apt install make) and try again") from error
    if done.returncode:
        raise Failed(f"this needs what `{shlex.join(command)}` makes, and that failed: mend what it says above")
    importlib.invalidate_caches()  # build/ffi may be new: Python looked for it when it started
    return done.stdout or ""


def flags(target: str) -> dict[str, list[str]]:
    """Parameters that a target prints: a line for each value, the parameter's name before it."""
    found = dict[str, list[str]]()
    for line in make(target, quiet=True).splitlines():
        name, _, value = line.partition(" ")
        found.setdefault(name, []).append(value)
    return found
