# SPDX-License-Identifier: PostgreSQL
"""Pictures of the commands: the verdict comes first, the picture if it can. Without one the exit status is the same."""

import hashlib
import logging
import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import click

from tools.common.options import by_command


def folder() -> Path:
    """What all programs keep. `pgquern` may run in a data directory: there it writes nothing. RuntimeError: no home."""
    if not by_command():
        return Path("build")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "")
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "pgquern"


def of_file(program: str, file: Path, ending: str, write: Callable[[BinaryIO], object]) -> str | None:
    """Draw a file of the user's; the picture's path, or None. Two files of one name have two pictures."""

    def path() -> Path:
        place = hashlib.blake2s(os.fsencode(file.resolve()), digest_size=4).hexdigest()
        return folder() / program / f"{os.fsdecode(os.fsencode(file.name)[:150])}-{place}{ending}"

    try:
        return str(written(path(), write))
    except Exception as error:
        click.echo(f"no picture was drawn: {error}", err=True)
        return None


def written(path: Path, write: Callable[[BinaryIO], object]) -> Path:
    """A whole picture in the place of an older one. OSError: what lies there is a link, or no file."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise OSError(f"{path} is a link, or no file: remove it, or name another")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Nobody who may write in that folder can have made a file or link of this name before.
    temporary = path.with_name(f".{secrets.token_hex(8)}{path.suffix}")
    try:
        with temporary.open("xb") as file:
            write(file)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def pyplot() -> Any:
    """matplotlib's, loaded when the verdict is there; its cache lies among ours. By itself it would write elsewhere."""
    if "matplotlib" not in sys.modules and "MPLCONFIGDIR" not in os.environ:
        os.environ["MPLCONFIGDIR"] = str(folder().absolute() / "matplotlib")
        logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells that it makes its cache
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as found

    return found
