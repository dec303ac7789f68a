# SPDX-License-Identifier: PostgreSQL
"""`pip install .` from a clone installs the binding, with all kernels, and the command `pgquern` with its man pages,
which brings no other name into site-packages.

These tests need no network: the environment of the tests has all that the build needs. Where there is another Python,
the sdist and the wheel are installed there, too, with pinned libraries from the network.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from email.parser import HeaderParser
from pathlib import Path

import pgquern
import pytest

from tests.pgquern.test_command import ALL, ON_FILES
from tests.pgquern.test_examples import check_example

pytestmark = pytest.mark.tools

ROOT = Path(__file__).parents[2]
CLONE = ("csrc", "ref", "tools", "bench/figures", "pyproject.toml", "README.md", "LICENSE")
HOUSE = {"ref", "tools"}
OPTIONS = ("--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check")


def run(*command: str | Path, cwd: Path, path: str = "") -> str:
    """Runs Python with PYTHONPATH=path, and returns what it prints."""
    environment = os.environ | {"PYTHONPATH": path, "PGQUERN_PROFILE": "quick"}
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
    """The site-packages of a new environment that pip installed the clone to. It has the libraries of this one."""
    target = tmp_path_factory.mktemp("installed")
    venv.create(target, symlinks=True)
    (packages,) = target.glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text("\n".join(path for path in sys.path if path.endswith("-packages")))
    run("-m", "pip", "--python", target / "bin/python", "install", *OPTIONS, ".", cwd=clone)
    return packages


def test_it_is_the_binding_and_the_house_of_the_command(installed: Path) -> None:
    top = sorted(path.name for path in installed.iterdir() if path.suffix != ".dist-info")
    assert top == ["_pgquern.abi3.so", "libraries.pth", "pgquern"]
    modules = {path.name for path in (ROOT / "csrc/ffi/pgquern").iterdir() if path.is_file()}
    assert {path.name for path in (installed / "pgquern").iterdir() if path.is_file()} == modules
    folders = {path.name for path in (installed / "pgquern").iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders == {"_house"}
    assert {path.name for path in (installed / "pgquern/_house").iterdir()} == {*HOUSE, "bench", "COMMIT"}


def test_what_is_built_lies_in_the_folder_for_it(clone: Path, installed: Path) -> None:
    """After an installation the clone is clean: build/ is ignored."""
    assert installed.is_dir()
    assert {path.name for path in clone.iterdir()} == {*(Path(name).parts[0] for name in CLONE), "build"}
    assert not [path for path in (clone / "csrc").rglob("*") if path.suffix in (".o", ".so", ".egg-info")]


def test_all_variants_are_there_and_run(installed: Path, tmp_path: Path) -> None:
    """The same rows as in the library that make builds; and the tests of the binding pass with the installed one."""
    use = "import json, pgquern; print(json.dumps([pgquern.__file__, pgquern.all_variants()]))"
    where, rows = json.loads(run("-c", use, cwd=tmp_path, path=str(installed)))
    assert Path(where) == installed / "pgquern/__init__.py"
    assert [tuple(row) for row in rows] == pgquern.all_variants()
    tests = (ROOT / "tests/test_binding.py", min(ROOT.glob("tests/*/test_kernels.py")))
    options = ("-q", "-p", "no:cacheprovider", "-o", f"pythonpath={ROOT} {installed}")
    report = run("-m", "pytest", *options, *tests, cwd=ROOT)
    assert " passed" in report.splitlines()[-1]


# ---- as files, for other Pythons ---------------------------------------------------------------------

LIBRARIES = {
    "annotated-types", "cffi", "click", "click-man", "hypothesis", "iniconfig", "markdown-it-py", "mdurl", "numpy",
    "packaging", "pluggy", "psycopg", "psycopg-binary", "pycparser", "pydantic", "pydantic-core", "pygments", "pytest",
    "rich", "setuptools", "sortedcontainers", "typing-extensions", "typing-inspection",
}  # fmt: skip
"""What the binding, its build and its tests import, and what these need."""


@pytest.fixture(scope="module")
def files(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sdist, and the wheel that is made of it."""
    target = tmp_path_factory.mktemp("files")
    run("-c", f"import backend; backend.build_sdist({str(target)!r})", cwd=clone, path="csrc/ffi")
    (sdist,) = target.iterdir()
    run("-m", "pip", "wheel", *OPTIONS, "--wheel-dir", target, sdist, cwd=target)
    (wheel,) = target.glob("*.whl")
    return {"sdist": sdist, "wheel": wheel}


@pytest.fixture(scope="module")
def another_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter of another version, in an environment with the libraries that requirements.lock pins."""
    tells = "import sys, ensurepip, venv; print(sys.version_info[:2] >= (3, 11), *sys.version_info[:2])"
    ours, found = f"True {sys.version_info.major} {sys.version_info.minor}\n", ""
    named = [shutil.which(f"python3.{minor}") for minor in range(11, 20)] + [shutil.which("python3", path="/usr/bin")]
    for python in filter(None, [*named, *map(str, Path.home().glob(".pyenv/versions/3.*/bin/python3"))]):
        says = subprocess.run([python, "-c", tells], capture_output=True, text=True).stdout
        found = python if says.startswith("True") and says != ours else found
    if not found:
        pytest.skip("there is no other Python here, of 3.11 or later")
    target = tmp_path_factory.mktemp("another")
    subprocess.run([found, "-m", "venv", target], check=True)
    pins = re.split(r"^(?=\w)", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE)
    (target / "lock").write_text("".join(pin for pin in pins if pin.partition("==")[0] in LIBRARIES))
    pip: list[str | Path] = [
        target / "bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--require-hashes",
        "--only-binary",
        ":all:",
    ]
    done = subprocess.run([*pip, "-r", target / "lock"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"the libraries cannot be installed for {found}: {done.stderr[-300:]}")
    return target / "bin/python"


def test_the_wheel_is_for_each_python_from_the_oldest_on(files: dict[str, Path]) -> None:
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert f"-cp{oldest.removeprefix('>=').replace('.', '')}-abi3-linux" in files["wheel"].name


@pytest.mark.parametrize("kind", [pytest.param("sdist", marks=pytest.mark.whole), "wheel"])
def test_another_python_runs_the_tests_of_the_binding(files: dict[str, Path], another_python: Path, kind: str) -> None:
    environment = os.environ | {"PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1", "PGQUERN_PROFILE": "quick"}
    environment.pop("PGQUERN_RESULT", None)

    def there(*words: str | Path) -> str:
        done = subprocess.run([another_python, *words], cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return done.stdout

    there("-m", "pip", "install", *OPTIONS, "--force-reinstall", files[kind])
    assert "site-packages" in there("-P", "-c", "import _pgquern, pgquern; print(_pgquern.__file__, pgquern.__file__)")
    tests = ("-q", "-p", "no:cacheprovider", "-o", f"pythonpath={ROOT}", "-m", "not deep", "tests/test_binding.py")
    assert " passed" in there("-m", "pytest", *tests).splitlines()[-1]


# ---- the command -------------------------------------------------------------------------------------


def command(installed: Path, folder: Path, *words: str | Path, path: str = "") -> subprocess.CompletedProcess[str]:
    """Runs the installed `pgquern` in a folder, with PYTHONPATH=path."""
    environment = os.environ | {"PYTHONPATH": path, "XDG_CACHE_HOME": str(folder / "cache")}
    program = installed.parents[2] / "bin/pgquern"
    return subprocess.run([program, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def listed() -> dict[str, dict[str, object]]:
    files = ROOT.glob("tools/*/commands.toml")
    return {name: table for path in files for name, table in tomllib.loads(path.read_text()).items()}


def test_its_libraries_are_those_that_it_asks_for(installed: Path) -> None:
    """It needs what the binding and the programs import, no more."""
    (metadata,) = installed.glob("*.dist-info/METADATA")
    needs = HeaderParser().parsestr(metadata.read_text()).get_all("Requires-Dist", [])
    asked = {need.partition(";")[0].partition("[")[0].strip() for need in needs if "extra ==" not in need}
    found = set[str]()
    for source in (installed / "pgquern/_house").rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add((node.module or "").partition(".")[0])
    assert asked == (found | {"cffi"}) - set(sys.stdlib_module_names) - HOUSE - {"pgquern", "_pgquern"}


def test_each_program_is_loaded_from_the_package(installed: Path, tmp_path: Path) -> None:
    """Though other packages of these names lie on the path."""
    for name in HOUSE:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('a stranger was taken')\n")
    programs = [str(table["program"]) for table in listed().values() if not table.get("clone")]
    assert len(programs) > 4
    use = f"""import importlib, sys
import pgquern.__main__ as entry
sys.argv = ["pgquern", "--version"]
try:
    entry.main()
except SystemExit as end:
    assert end.code == 0, end.code
for name in {programs}:
    print(importlib.import_module(name).__file__)"""
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    python = installed.parents[2] / "bin/python"
    done = subprocess.run([python, "-c", use], cwd=tmp_path, env=environment, capture_output=True, text=True)
    version, *places = done.stdout.splitlines()
    assert version.startswith("pgquern "), done.stderr
    assert all(Path(place).is_relative_to(installed / "pgquern/_house") for place in places)
    assert len(places) == len(programs)


def test_it_looks_into_a_file(installed: Path, tmp_path: Path) -> None:
    """An empty table, which every version of the file format has; then a file that is none."""
    (tmp_path / "16384").touch()
    (tmp_path / "16385").write_text("nothing of the sort\n" * 1000)
    done = command(installed, tmp_path, "look", "16384", "--json")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert json.loads(done.stdout)["pages"] == 0
    done = command(installed, tmp_path, "look", "16385")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: 16385: no page says that it is one")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["16384", "16385"]


@pytest.mark.parametrize("name", [name for name in ON_FILES if not ALL[name].clone])
def test_each_command_on_files_of_ones_own_gives_its_example(installed: Path, name: str, tmp_path: Path) -> None:
    """Outside of the clone, with what pip installed alone."""
    check_example(name, tmp_path, installed.parents[2] / "bin")


def test_each_command_has_a_man_page(installed: Path, tmp_path: Path) -> None:
    """And the program one that lists them; each begins with the example, as it stands in --help."""
    pages = {path.name: path.read_text() for path in (installed.parents[2] / "share/man/man1").iterdir()}
    assert set(pages) == {"pgquern.1", *(f"pgquern-{name}.1" for name in ALL)}
    assert all(f"\\fB{name}\\fP" in pages["pgquern.1"] for name in ALL)
    for name, entry in ((name, entry) for name, entry in ALL.items() if entry.example):
        description = pages[f"pgquern-{name}.1"].partition(".SH DESCRIPTION\n.nf\n")[2].partition("\n.fi")[0]
        lines = [line.removeprefix("\\&").replace("\\e", "\\") for line in description.splitlines()]
        assert lines == entry.example.strip().splitlines()
        assert str(tmp_path.parent) not in pages[f"pgquern-{name}.1"]


def test_what_needs_the_clone_says_so(installed: Path, tmp_path: Path) -> None:
    name = next(name for name, table in listed().items() if table.get("clone"))
    done = command(installed, tmp_path, name, "any", "--words")
    assert (done.returncode, f"{name} needs a clone of pgquern" in done.stderr) == (2, True), done.stderr


def test_without_its_libraries_it_says_what_to_install(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise ModuleNotFoundError('gone', name='click')\n")
    done = command(installed, tmp_path, "--help", path=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pgquern needs click: install pgquern again, which brings it\n"
