# SPDX-License-Identifier: PostgreSQL
"""Fetch the embedded servers of versions.toml with Maven, check their SHA-256, unpack into build/postgres/<name>/.

A server's name is its major, unless its row gives another. Those of minors.toml are fetched one by one, by minors.py.

A server that is already there in the pinned version is not fetched again. If one cannot be fetched, its coordinates are
printed, the others are still fetched, and the exit status is 1. About 25 s the first time (75 MB), then nothing.

Needs `mvn` and `tar` with xz on the PATH; only the standard library, so that set-up needs no virtual environment.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("versions.toml")
DESTINATION = Path("build/postgres")
MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


class FetchError(Exception):
    """A server could not be fetched; the text names it and says what to do."""


class NotDownloaded(FetchError):
    """Maven did not bring it: what came is not wrong, nothing came."""


@dataclass(frozen=True)
class Pinned:
    """One row of versions.toml or minors.toml, for one machine."""

    name: str
    artifact: str
    major: int
    version: str
    sha256: str

    @property
    def coordinates(self) -> str:
        return f"{self.artifact}:{self.version}"


def pinned(table: Path = TABLE, machine: str = platform.machine()) -> list[Pinned]:
    """The rows of the table that have a server for this machine, in its order."""
    parsed = tomllib.loads(table.read_text())
    return [
        Pinned(row.get("name", str(row["major"])), parsed["artifacts"][machine], row["major"], **row[machine])
        for row in parsed["server"]
        if machine in row
    ]


def download(row: Pinned, into: Path) -> Path:
    """The jar of one server, fetched into a directory and checked."""
    run = subprocess.run(
        ["mvn", "-q", "-B", "-Dstyle.color=never", MAVEN_COPY, f"-Dartifact={row.coordinates}:jar",
         f"-DoutputDirectory={into}"],
        capture_output=True, text=True,
    )  # fmt: skip
    jar = into / f"{row.artifact.split(':')[1]}-{row.version}.jar"
    if run.returncode or not jar.exists():
        said = "\n".join((run.stdout + run.stderr).strip().splitlines()[:3])
        raise NotDownloaded(f"{row.coordinates} could not be downloaded; check Maven's network and mirrors\n{said}")
    digest = hashlib.sha256(jar.read_bytes()).hexdigest()
    if digest != row.sha256:
        raise FetchError(
            f"{row.coordinates} has SHA-256 {digest}, not {row.sha256}: not used. "
            "Remove it from Maven's local repository and try again; a new version needs a new line in versions.toml"
        )
    return jar


def unpack(jar: Path, into: Path) -> None:
    """The tree (bin, lib, share) inside the jar's .txz, into a new directory."""
    with zipfile.ZipFile(jar) as archive:
        (member,) = [name for name in archive.namelist() if name.endswith(".txz")]
        txz = archive.extract(member, jar.parent)
    subprocess.run(["tar", "-xJf", txz, "-C", str(into)], check=True)


def provide(row: Pinned, destination: Path = DESTINATION) -> bool:
    """Put one server in its place; False when it was there already."""
    home = destination / row.name
    mark = home / "pinned.sha256"
    if mark.exists() and mark.read_text() == row.sha256:
        return False
    destination.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=destination) as scratch:
        tree = Path(scratch) / "tree"
        tree.mkdir()
        unpack(download(row, Path(scratch).resolve()), tree)
        (tree / "pinned.sha256").write_text(row.sha256)
        shutil.rmtree(home, ignore_errors=True)
        tree.rename(home)
    return True


def main() -> int:
    rows = pinned()
    failed = 0
    for at, row in enumerate(rows, 1):
        try:
            if provide(row):
                print(
                    f"set-up: PostgreSQL {row.version} in {DESTINATION / row.name} ({at} of {len(rows)})",
                    flush=True,
                )
        except (FetchError, OSError, zipfile.BadZipFile, subprocess.CalledProcessError, ValueError) as error:
            failed += 1
            print(f"set-up failed: {row.coordinates}: {error}", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
