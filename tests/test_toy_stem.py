# SPDX-License-Identifier: PostgreSQL
"""CONTRIBUTING's list of what a stem adds is complete: a toy stem with all cells is taken up; no other file changes.

The toy stem's cells lie in tests/toy_stem/. They and the lines of its registries are added to a copy of the tree. There
make accepts the stem, runs each of its layers, and the rules of the house are checked. What is built already is reused.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.test_house import FILES, GENERATED, ROOT
from tools.common import results

pytestmark = pytest.mark.tools

TOY = ROOT / "tests" / "toy_stem"
REGISTRIES = "registries.toml"
OWN = {"conftest.py", "README.md", REGISTRIES}
"""Files of tests/toy_stem that are no cells."""

VENV = ROOT / "build" / "venv"
LINKED = ("tools", "model/java", f"pycache{ROOT}")
"""What is used from the real build/; the last one holds the compiled modules of VENV, under their absolute path."""
COPIED = ("setup", "obj", "bench/harness.cc.o", "bench/harness.cc.d")
STALE = ("obj/common/errors.o", "obj/common/errors.d")
"""Of what is copied, only these objects hold something that a new stem changes: the texts of the status codes."""

# What the commands that accept a stem may write, by CONTRIBUTING: tables in documents, and the toy stem's own files.
ACCEPTED = {
    "spec/toy/models.toml",
}


def cells() -> dict[str, Path]:
    """The toy stem's files, by the path that each has in a tree."""
    files = [path for path in TOY.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {str(path.relative_to(TOY)): path for path in files if str(path.relative_to(TOY)) not in OWN}


def registry_lines() -> list[dict[str, str]]:
    """The lines that the stem adds to files of all stems: file, text, and before what."""
    lines: list[dict[str, str]] = tomllib.loads((TOY / REGISTRIES).read_text())["line"]
    return lines


def copy_tree(tree: Path) -> None:
    """What the repository holds but the toy stem and its test, with times, so that make sees what is built already."""
    for path in FILES:
        if TOY not in path.parents and path != Path(__file__):
            target = tree / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
    build = tree / "build"
    for name in (*LINKED, *COPIED):
        source, target = ROOT / "build" / name, build / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name in LINKED and source.exists():
            target.symlink_to(source.resolve())
        elif source.is_dir():
            shutil.copytree(source, target)
        elif source.exists():
            shutil.copy2(source, target)
    for name in STALE:
        (build / name).unlink(missing_ok=True)


def add_stem(tree: Path) -> None:
    """The toy stem's cells, and its lines in the registries."""
    for name, cell in cells().items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(cell, tree / name)
    for line in registry_lines():
        file = tree / line["file"]
        before = file.stat()
        head, mark, rest = (
            file.read_text().rpartition(line["before"]) if "before" in line else (file.read_text(), "", "")
        )
        file.write_text(f"{head}{line['text']}\n{mark}{rest}")
        # The headers only grow: to other objects than those of STALE, which include them, nothing changes.
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def run(tree: Path, *command: str) -> str:
    """Run a command in the tree, apart from the make and the pytest that may run this test; it must succeed."""
    ours = ("MAKE", "MFLAGS", "PGQUERN_", "PYTHONPATH", "STEM")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment["PGQUERN_PROFILE"] = "asan"  # the fewest examples: the kernels are not what is tested
    environment["PYTHONPYCACHEPREFIX"] = str(tree / "build" / "pycache")
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}:\n{said[-6000:]}"
    return said


def make(tree: Path, *arguments: str) -> str:
    return run(tree, "make", *arguments, "STEM=toy", f"VENV={VENV}")


def contents(tree: Path) -> dict[str, bytes]:
    """All files of a tree that are not generated."""
    paths = (path for path in tree.rglob("*") if not GENERATED & set(path.relative_to(tree).parts))
    return {str(path.relative_to(tree)): path.read_bytes() for path in paths if path.is_file()}


def changes(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with the toy stem, accepted as CONTRIBUTING says; only what it lists has changed."""
    tree = tmp_path_factory.mktemp("tree")
    copy_tree(tree)
    before = contents(tree)
    add_stem(tree)
    make(tree, "model", "prove", "ACCEPT=1")
    allowed = cells().keys() | {line["file"] for line in registry_lines()} | ACCEPTED
    assert changes(before, contents(tree)) == allowed
    return tree


def result_of(tree: Path, layer: str) -> results.Result:
    return results.read(tree / "build" / "results" / layer / "toy.json")


def test_each_layer_takes_up_a_new_stem(tree: Path) -> None:
    """Models, proofs, extraction, tests, a broken kernel, a benchmark; and no file changes."""
    before = contents(tree)
    make(tree, "model", "oracle", "differential")
    make(tree, "bench", "SIZE=quick")
    make(tree, "changes", "SIZE=quick")
    for layer in ("model", "proof", "test", "changes-quick", "bench"):
        result = result_of(tree, layer)
        assert (result.status, result.count("skipped")) == ("passed", 0), layer
        assert result.count("passed") > 0, layer
    assert changes(before, contents(tree)) == set()


def test_the_house_keeps_its_rules_with_a_new_stem(tree: Path) -> None:
    """No generic file names it; the matrix has no empty cell; the report shows it; its sources pass the linters."""
    run(tree, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_house.py")
    assert "no cell is missing" in run(tree, sys.executable, "-m", "tools.report.matrix")
    make(tree, "kernels")
    run(tree, "env", "PYTHONPATH=.:csrc/ffi:build/ffi", sys.executable, "-m", "tools.report")
    assert "The largest number" in (tree / "build/report/index.html").read_text()
    run(tree, sys.executable, "-m", "ruff", "check", "--no-cache", *(n for n in cells() if n.endswith(".py")))
    formatter = str(Path(sys.executable).with_name("clang-format"))
    run(tree, formatter, "--dry-run", "-Werror", *(n for n in cells() if n.endswith((".c", ".h", ".cc", ".def"))))


@pytest.mark.parametrize("cell", ["spec/toy", "proofs/toy", "csrc/toy", "tests/toy", "bench/toy"])
def test_a_missing_cell_is_found(tree: Path, tmp_path: Path, cell: str) -> None:
    """Without one of the stem's folders the check of the matrix fails, and names the stem and the layer."""
    (tree / cell).rename(tmp_path / "away")
    try:
        with pytest.raises(AssertionError, match=r"toy: no \w+ \(" + cell):
            run(tree, sys.executable, "-m", "tools.report.matrix")
    finally:
        (tmp_path / "away").rename(tree / cell)
