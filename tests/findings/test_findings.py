# SPDX-License-Identifier: PostgreSQL
"""Each finding can be read and sent: its files are there, its mail is short, its model run and its servers exist.

That it can be reproduced is shown by `make findings`.
"""

import os
import re
from pathlib import Path

import pytest

from tests.runners.findings import FINDINGS, SERVERS, finding, found_by, reproduce

FOLDERS = sorted(path.parent for path in FINDINGS.glob("*/README.md"))
NEEDED, MAY_HAVE = {"README.md", "mail.txt", "finding.toml"}, {"reproduce"}
LINES, COLUMNS, SCREEN = 30, 76, 50
each = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def ill_formed(mail: str) -> list[str]:
    """What keeps this text from being sent."""
    lines = mail.splitlines()
    found = [f"{len(lines)} lines"] if len(lines) > LINES else []
    found += [f"line {number} is too long" for number, line in enumerate(lines, 1) if len(line) > COLUMNS]
    found += [] if re.match(r"Subject: \S.*\n( \S.*\n)?(In-Reply-To: \S+\n)?\n\S", mail) else ["no subject"]
    return found


def test_there_are_findings() -> None:
    assert FOLDERS


@each
def test_its_files_are_there(folder: Path) -> None:
    files = {path.name for path in folder.iterdir()}
    assert NEEDED <= files <= NEEDED | MAY_HAVE
    readme = (folder / "README.md").read_text()
    assert 5 <= len(readme.splitlines()) <= SCREEN


@each
def test_its_mail_can_be_sent(folder: Path) -> None:
    assert ill_formed((folder / "mail.txt").read_text()) == []


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


def test_the_checks_can_fail() -> None:
    assert ill_formed("Subject: s\n\nHi\n") == []
    assert ill_formed("Subject: s\n t\nIn-Reply-To: <a@b>\n\nHi\n") == []
    assert ill_formed("Hi\n") == ["no subject"]
    assert ill_formed("Subject: s\n\n" + "x" * 77 + "\n" * 31) == ["33 lines", "line 3 is too long"]
    with pytest.raises(ValueError, match="no model has the run MCnone"):
        found_by("MCnone")


@pytest.mark.parametrize(("code", "status"), [(0, "passed"), (1, "failed"), (2, "skipped")])
def test_what_a_program_says_is_passed_on(tmp_path: Path, code: int, status: str) -> None:
    program = tmp_path / "reproduce"
    program.write_text(f"#!/bin/sh\necho LOST\nexit {code}\n")
    program.chmod(0o755)
    seen = reproduce(tmp_path, "18")
    assert (seen["status"], seen["reason"]) == (status, "" if code == 0 else "LOST")
