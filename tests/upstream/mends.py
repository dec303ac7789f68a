# SPDX-License-Identifier: PostgreSQL
"""The mends that our findings propose, built into the server: `reproduce` loses in the unchanged one alone."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tests.upstream.build import Tree
from tests.upstream.kinds import Kind

FINDINGS = Path("tests/findings")
INSTALLED = Path("usr/local/pgsql")
LOST, NOT_TRIED = 0, 2
"""How `reproduce` ends; otherwise it has seen no loss."""


@dataclass(frozen=True)
class Tried:
    """A finding's `reproduce` in the unchanged server, and in the mended one."""

    mend: Kind
    control: int
    mended: int
    seconds: float
    said: str

    @property
    def status(self) -> str:
        if NOT_TRIED in (self.control, self.mended):
            return "skipped"
        return "passed" if self.control == LOST != self.mended else "failed"

    @property
    def reason(self) -> str:
        """Why it did not pass; "" if it did."""
        if self.status == "passed":
            return ""
        if self.status == "skipped":
            return self.said
        return f"it is {'' if self.mended == LOST else 'not '}lost in the mended server, and " + (
            f"{'' if self.control == LOST else 'not '}in the unchanged one: {self.said}"
        )


def installed(tree: Tree) -> Path:
    """Where the server is installed, with the one plugin that a finding needs."""
    place = tree.folder / "installed"
    for folder in (".", "contrib/test_decoding"):
        tree.must("make", "-s", "-C", folder, "install", f"DESTDIR={place}")
    return place / INSTALLED


def reproduce(finding: str, home: Path) -> tuple[int, str]:
    """How it ended, and its last line."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(home / "lib")}
    run = subprocess.run(
        [FINDINGS / finding / "reproduce", home / "bin"], capture_output=True, text=True, env=environment
    )
    return run.returncode, "".join((run.stdout + run.stderr).strip().splitlines()[-1:])


def tried(mend: Kind, control: Tree, mended: Tree) -> Tried:
    """Both, one after the other."""
    began = time.monotonic()
    before, first = reproduce(mend.finding, installed(control))
    after, second = reproduce(mend.finding, installed(mended))
    return Tried(mend, before, after, round(time.monotonic() - began, 1), second if before == LOST else first)
