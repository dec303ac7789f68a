# SPDX-License-Identifier: PostgreSQL
"""`pip install .` from a clone installs only the binding: it needs cffi and nothing else, and has all kernels.

The test needs no network: the environment of the tests has all that the build needs.
"""

import json
import os
import shutil
import subprocess
import sys
from email.parser import HeaderParser
from pathlib import Path

import pgquern
import pytest

ROOT = Path(__file__).parent.parent
CLONE = ("csrc", "pyproject.toml", "README.md", "LICENSE")


def run(*command: str | Path, cwd: Path, path: str = "") -> str:
    """Runs Python with PYTHONPATH=path, and returns what it prints."""
    environment = os.environ | {"PYTHONPATH": path, "PGQUERN_PROFILE": "asan"}
    environment.pop("PGQUERN_RESULT", None)  # this run's result is written once
    done = subprocess.run([sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The parts of the repository that the package is made of."""
    folder = tmp_path_factory.mktemp("clone")
    for name in CLONE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def installed(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that pip installed the clone to."""
    target = tmp_path_factory.mktemp("installed")
    options = ("--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check")
    run("-m", "pip", "install", *options, "--target", target, ".", cwd=clone)
    return target


def test_it_needs_cffi_alone(installed: Path) -> None:
    (metadata,) = installed.glob("*.dist-info/METADATA")
    needs = HeaderParser().parsestr(metadata.read_text()).get_all("Requires-Dist", [])
    assert [need for need in needs if "extra ==" not in need] == ["cffi"]


def test_it_is_the_binding_alone(installed: Path) -> None:
    top = sorted(path.name for path in installed.iterdir() if path.suffix != ".dist-info")
    assert top == ["_pgquern.abi3.so", "pgquern"]
    modules = {path.name for path in (ROOT / "csrc/ffi/pgquern").iterdir() if path.is_file()}
    assert {path.name for path in (installed / "pgquern").iterdir() if path.is_file()} == modules


def test_what_is_built_lies_in_the_folder_for_it(clone: Path, installed: Path) -> None:
    """After an installation the clone is clean: build/ is ignored."""
    assert installed.is_dir()
    assert {path.name for path in clone.iterdir()} == {*CLONE, "build"}
    assert not [path for path in (clone / "csrc").rglob("*") if path.suffix in (".o", ".so", ".egg-info")]


def test_all_variants_are_there_and_run(installed: Path, tmp_path: Path) -> None:
    """The same rows as in the library that make builds; and tests of the kernels pass with the installed binding."""
    use = "import json, pgquern; print(json.dumps([pgquern.__file__, pgquern.rows()]))"
    where, rows = json.loads(run("-c", use, cwd=tmp_path, path=str(installed)))
    assert Path(where) == installed / "pgquern/__init__.py"
    assert [tuple(row) for row in rows] == pgquern.rows()
    tests = sorted(ROOT.glob("tests/*/test_kernels_*.py"))
    options = ("-q", "-p", "no:cacheprovider", "-o", f"pythonpath={ROOT} {installed}")
    report = run("-m", "pytest", *options, *tests, cwd=ROOT)
    assert " passed" in report.splitlines()[-1]
