# SPDX-License-Identifier: PostgreSQL
"""The source of this Debian's PostgreSQL: the release as upstream made it, out of Debian's source package.

apt checks the signature of the index, and by it the hash of the file. The newest version that the configured package
sources still have is taken, and its number stands in each result; a version of our choice would soon be gone there.
What our changes rest on is checked one function at a time (tests/upstream/kinds.py).
"""

import re
import shutil
import subprocess
from pathlib import Path

APT = Path("/etc/apt")


class NotHad(Exception):
    """There is no source to be had here; says why."""


def source_entries(text: str) -> str:
    """A list of package sources, turned into one of source packages; both of Debian's forms."""
    return re.sub(r"(?m)^deb\s", "deb-src ", re.sub(r"(?m)^Types:.*$", "Types: deb-src", text))


class Apt:
    """apt with lists of its own: the machine's are not touched."""

    def __init__(self, folder: Path) -> None:
        parts = folder / "apt" / "parts"
        for path in (parts, folder / "apt" / "lists" / "partial", folder / "apt" / "cache" / "archives" / "partial"):
            path.mkdir(parents=True, exist_ok=True)
        for path in (APT / "sources.list", *APT.glob("sources.list.d/*.list"), *APT.glob("sources.list.d/*.sources")):
            if path.exists():
                (parts / path.name).write_text(source_entries(path.read_text()))
        settings = {
            "Dir::Etc::SourceList": "/dev/null", "Dir::Etc::SourceParts": parts.resolve(),
            "Dir::State::Lists": (folder / "apt" / "lists").resolve(),
            "Dir::Cache": (folder / "apt" / "cache").resolve(),
            "APT::Sandbox::User": "root",
        }  # fmt: skip
        self.options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]

    def run(self, *command: str, cwd: Path) -> str:
        """What it prints. Raises NotHad if it fails."""
        program, *words = command
        run = subprocess.run([program, *self.options, "-q", *words], cwd=cwd, capture_output=True, text=True)
        if run.returncode:
            raise NotHad(f"`{' '.join(command)}` failed: {run.stderr.strip() or run.stdout.strip()}")
        return run.stdout


def tarball(major: str, folder: Path) -> Path:
    """The release of a major version, fetched into the folder if it is not there."""
    if found := sorted(folder.glob(f"postgresql-{major}_*.orig.tar.*")):
        return found[-1]
    if not shutil.which("apt-get"):
        raise NotHad("no apt-get here: name a checkout of PostgreSQL, PG=/path/to/postgres")
    folder.mkdir(parents=True, exist_ok=True)
    apt = Apt(folder)
    apt.run("apt-get", "update", cwd=folder)
    package = f"postgresql-{major}"
    versions = re.findall(r"^Version: (\S+)", apt.run("apt-cache", "showsrc", package, cwd=folder), re.MULTILINE)
    reason = f"the package sources have no {package}"
    # A mirror may list a version whose files it does not have: then the one before it.
    for version in sorted(versions, key=lambda text: [int(n) for n in re.findall(r"\d+", text)], reverse=True):
        try:
            apt.run("apt-get", "source", "--download-only", f"{package}={version}", cwd=folder)
            return sorted(folder.glob(f"{package}_*.orig.tar.*"))[-1]
        except NotHad as error:
            reason = str(error)
    raise NotHad(reason)
