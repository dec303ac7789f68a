# SPDX-License-Identifier: PostgreSQL
"""The example that the --help of a command begins with: it is run, and prints what stands there."""

import doctest
import importlib
import os
import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.pgquern.test_command import ALL, LAUNCHER, ON_FILES, TOP, launcher
from tools.pgquern.__main__ import main


def make_inputs(name: str, folder: Path) -> None:
    """What the example names: that of the stem's commands, and what others take."""
    if name in ON_FILES:
        getattr(importlib.import_module(f"tests.{ALL[name].stem}.commands"), name.replace("-", "_"))(folder)
    for other in ("data/base", "mnt", "postgres"):
        (folder / other).mkdir(parents=True)
    (folder / "postgres/configure.ac").write_text("AC_INIT([PostgreSQL], [18.1], [x], [], [y])\n")


def check_example(name: str, folder: Path, programs: Path) -> None:
    """Runs its lines in a folder with its inputs, with the `pgquern` that lies in `programs`."""
    make_inputs(name, folder)
    kind = next(line.strip() for line in (CliRunner().invoke(main, ["judge"]).stdout).splitlines()[2:] if line.strip())
    stem = min(path.parent.name for path in TOP.glob("spec/*/models.toml"))
    example = re.sub(r"\bKIND\b(?! SOURCE)", kind, ALL[name].example.strip().replace("show STEM", f"show {stem}"))
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment |= {"PATH": f"{programs}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(folder / "cache")}
    environment |= {"PGQUERN_RESULTS": str(folder / "results")}
    found = re.findall(r"^\$ (pgquern .*)\n((?:(?!\$ ).*\n?)*)", example, re.MULTILINE)
    assert found
    for line, says in found:
        done = subprocess.run(line, shell=True, cwd=folder, env=environment, capture_output=True, text=True)
        got = re.sub("paths below .*\n", "", done.stderr) if done.returncode == 2 else done.stdout
        same = doctest.OutputChecker().check_output(says.rstrip() + "\n", got.rstrip() + "\n", doctest.ELLIPSIS)
        assert same, f"{line}\n{got}{done.stderr}"


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.tools] * entry.clone) for name, entry in ALL.items() if entry.example],
)
def test_an_example_is_true_and_comes_first(name: str, tmp_path: Path) -> None:
    if ALL[name].stem and "mount" in name and not Path("/dev/fuse").exists():
        pytest.skip("there is no /dev/fuse")
    shown = CliRunner().invoke(main, [name, "--help"], prog_name="pgquern").stdout.splitlines()
    shown_example = [line.strip() for line in shown[2:]][: len(ALL[name].example.strip().splitlines())]
    assert shown_example == [line.strip() for line in ALL[name].example.strip().splitlines()]
    launcher()
    check_example(name, tmp_path, LAUNCHER.parent)


def test_each_command_has_an_example() -> None:
    assert all(entry.example for entry in ALL.values())
