# SPDX-License-Identifier: PostgreSQL
"""Set-up on a machine where it may install nothing: it says what it found and what is missing."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.postgres import fetch, minors

NEED = Path(".ci/apt-need").absolute()


def need(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PGQUERN_NO_APT": "1"}
    return subprocess.run([NEED, *arguments], capture_output=True, text=True, env=environment)


def test_tools_that_are_there_are_enough() -> None:
    """No package is asked for: nosuch-package does not exist."""
    done = need("nosuch-package", "--tools", "gcc", "liburing.h", "stdpp.base")
    assert done.returncode == 0
    assert "found: gcc liburing.h stdpp.base; missing: nothing" in done.stderr


@pytest.mark.parametrize("missing", ["nosuch-command", "nosuch.h", "stdpp.nosuch"])
def test_what_is_missing_is_named_with_the_packages(missing: str) -> None:
    done = need("gcc", "--tools", "gcc", missing)
    assert done.returncode == 1
    assert f"found: gcc; missing: {missing}" in done.stderr
    assert "Install what is missing by your own means" in done.stderr


def test_a_need_that_a_command_tells_is_missing_too() -> None:
    assert need("gcc", "--tools", "gcc", "--have", "false").returncode == 1
    assert need("gcc", "--tools", "nosuch", "--have", "true").returncode == 0


def test_what_is_installed_is_asked_by_a_recipe() -> None:
    """A variable would ask when make begins, and set-up may bring the package later in the same call."""
    rules = [Path("Makefile"), *Path().glob("*/rules.mk"), *Path().glob("*/*/rules.mk")]
    assert not [path for path in rules if re.search(r"(?<!\$)\$\(shell pkg-config", path.read_text())]


def test_without_dpkg_nothing_is_installed(tmp_path: Path) -> None:
    """On another distribution, with no word said."""
    for tool in ("bash", "env", "gcc"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    done = subprocess.run(
        [NEED, "gcc", "--tools", "gcc", "clang"], capture_output=True, text=True, env={"PATH": str(tmp_path)}
    )
    assert done.returncode == 1
    assert "found: gcc; missing: clang" in done.stderr


@pytest.mark.parametrize(
    ("brings", "ends"),
    [("exit 1", pytest.skip.Exception), ('echo > "${5#*=}/binaries-13.0.0.jar"', fetch.FetchError)],
    ids=["nothing", "something else"],
)
def test_a_minor_is_skipped_if_maven_brings_nothing_and_fails_if_it_brings_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, brings: str, ends: type[BaseException]
) -> None:
    (mvn := tmp_path / "mvn").write_text(
        f'#!/bin/sh\nfor a; do case $a in -DoutputDirectory=*) set 1 2 3 4 "$a";; esac; done\n{brings}\n'
    )
    mvn.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(minors, "TOP", tmp_path)
    row = fetch.Pinned("13.0", "somebody:binaries", 13, "13.0.0", "0" * 64)
    monkeypatch.setattr(fetch, "pinned", lambda table: [row])
    with pytest.raises(ends, match=r"13\.0"):
        minors.minors("13.0")


def test_a_minor_that_is_not_pinned_for_this_machine_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "pinned", lambda table: [])
    with pytest.raises(pytest.skip.Exception, match=r"PostgreSQL 13\.99: none is pinned for this machine"):
        minors.minors("13.99")
