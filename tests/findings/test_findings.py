# SPDX-License-Identifier: PostgreSQL
"""Each finding can be read and sent: its files are there, its mail is short, its model run and its servers exist.

That it can be reproduced is shown by `make findings`.
"""

import os
from pathlib import Path

import pytest

from tests.runners.findings import FINDINGS, SERVERS, finding, found_by, reproduce

FOLDERS = sorted(path.parent for path in FINDINGS.glob("*/README.md"))
NEEDED, MAY_HAVE = {"README.md", "mail.txt", "finding.toml"}, {"reproduce"}
LINES, COLUMNS, SCREEN = 30, 76, 50
each = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def test_there_are_findings() -> None:
    assert FOLDERS


@each
def test_its_files_are_there(folder: Path) -> None:
    files = {path.name for path in folder.iterdir()}
    assert NEEDED <= files <= NEEDED | MAY_HAVE
    readme = (folder / "README.md").read_text()
    assert 5 <= len(readme.splitlines()) <= SCREEN


@each
def test_a_model_run_found_it(folder: Path) -> None:
    told = finding(folder)
    stem, run = found_by(told["model"]), told["model"]
    assert f"`pgquern show {stem} {run}` draws" in (folder / "README.md").read_text()


@each
def test_it_is_reproduced_on_servers_that_we_have(folder: Path) -> None:
    """Or its README says what is missing."""
    program, servers = folder / "reproduce", finding(folder)["servers"]
    assert program.exists() or not servers
    assert set(servers) <= set(SERVERS)
    if program.exists():
        assert os.access(program, os.X_OK)
        text = program.read_text()
        assert "LOST: " in text
        assert text.endswith("sys.exit(0 if lost else 1)\n")
    if not servers:
        assert "**What is missing" in (folder / "README.md").read_text()


@pytest.mark.parametrize(("code", "status"), [(0, "passed"), (1, "failed"), (2, "skipped")])
def test_what_a_program_says_is_passed_on(tmp_path: Path, code: int, status: str) -> None:
    program = tmp_path / "reproduce"
    program.write_text(f"#!/bin/sh\necho LOST\nexit {code}\n")
    program.chmod(0o755)
    seen = reproduce(tmp_path, "18")
    assert (seen["status"], seen["reason"]) == (status, "" if code == 0 else "LOST")
