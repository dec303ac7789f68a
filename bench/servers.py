# SPDX-License-Identifier: PostgreSQL
"""Runs texts for a shell by servers that were built here (tests/upstream/build.py), after servers.sh."""

import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.upstream import build
from tests.upstream.build import BuildError, Tree

SHELL = Path(__file__).with_suffix(".sh")
CONFIGURE = (*(word for word in build.CONFIGURE if word != "--enable-cassert"), "--with-lz4")


def found_in(pattern: str, said: str) -> float:
    """What a figure's pattern finds; of two numbers, the time between them. Raises ValueError if it finds nothing."""
    found = re.search(pattern, said)
    if not found:
        raise ValueError(f"the output has no figure ({pattern}); it ends: {said[-300:]}")
    numbers = [float(group) for group in found.groups()]
    return numbers[-1] - (numbers[0] if len(numbers) > 1 else 0.0)


def install(tree: Tree) -> Path:
    """The folder of the programs, put where the server's user reads them."""
    to = tree.folder / "installed"
    for folder in (".", "contrib/test_decoding"):
        tree.must("make", "-s", "-C", folder, "install", f"DESTDIR={to}")
    return next(to.rglob("bin/postgres")).parent


def run(tree: Tree, programs: Path, folder: Path, text: str, variables: Mapping[str, str] | None = None) -> str:
    """What a text for a shell prints, after servers.sh in an empty folder. Raises BuildError if it fails."""
    shutil.rmtree(folder, ignore_errors=True)
    build.give(folder)
    log = folder.with_name(f"{folder.name}.log")
    with tempfile.TemporaryDirectory(prefix="pgquern-", dir="/tmp") as socket:
        build.give(Path(socket))
        script = f'cd "$1"; export PATH="$2:$PATH" PGHOST="$3"\n{SHELL.read_text()}\n{text}'
        if tree.run("bash", "-c", script, "servers", folder, programs, socket, log=log, environment=variables):
            said = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            raise BuildError(f"it failed in {folder} ({log}):\n{said}")
    return log.read_text(errors="replace")
