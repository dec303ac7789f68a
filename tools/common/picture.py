# SPDX-License-Identifier: PostgreSQL
"""Pictures of the commands: the verdict comes first, the picture if it can. Without one the exit status is the same."""

import atexit
import hashlib
import logging
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import click

from tools.common.options import by_command

KINDS = ("jpg", "pdf", "png", "svg", "webp")


def folder() -> Path:
    """What all programs keep. `pgquern` may run in a data directory: there it writes nothing. RuntimeError: no home."""
    if not by_command():
        return Path("build")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "")
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "pgquern"


def option(says: str, default: Path | None = None) -> Callable[[Any], Any]:
    """The option --picture. Another kind than KINDS is refused before anything is done."""

    def checked(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
        if path is not None and path.suffix.lower()[1:] not in KINDS:
            raise click.BadParameter(f"{path} cannot be drawn: its name must end in .{', .'.join(KINDS)}")
        return path

    of = click.Path(path_type=Path)
    return click.option("--picture", type=of, default=default, show_default=True, callback=checked, help=says)


def of_file(program: str, file: Path, ending: str, write: Callable[[BinaryIO], object]) -> str | None:
    """Draw a file of the user's; the picture's path, or None. Two files of one name have two pictures."""

    def path() -> Path:
        place = hashlib.blake2s(os.fsencode(file.resolve()), digest_size=4).hexdigest()
        return folder() / program / f"{os.fsdecode(os.fsencode(file.name)[:150])}-{place}{ending}"

    return _told(path, write)


def save(path: Path, write: Callable[[BinaryIO], object]) -> str | None:
    """Write a picture; its path, or None."""
    return _told(lambda: path, write)


def _told(path: Callable[[], Path], write: Callable[[BinaryIO], object]) -> str | None:
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
        try:
            (cache := folder().absolute() / "matplotlib").mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=cache).close()
        except (OSError, RuntimeError):
            cache = Path(tempfile.mkdtemp(prefix="pgquern-"))
            atexit.register(shutil.rmtree, cache, ignore_errors=True)
        os.environ["MPLCONFIGDIR"] = str(cache)
        logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells that it makes its cache
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as found

    return found
