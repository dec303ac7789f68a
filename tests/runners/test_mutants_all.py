# SPDX-License-Identifier: PostgreSQL
"""The changes that a machine makes: which are tried, which are dropped, and the list of those that may survive."""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.runners import changes, mutants, mutants_all, nodes
from tests.runners.changes import Change
from tests.runners.mutants import Compiler
from tools.common import matrix

TOP = Path(__file__).resolve().parents[2]
COMPILER = Compiler(["-O2", "-Wall", "-Wextra", "-Werror", "-Icsrc"], {})
SCALAR = "int f(int x);\nint f(int x)\n{\n    return x + 0;\n}\n"
ORACLE = '''"""f."""


def f(x: int) -> int:
    """1 less."""
    return x - 1


def g() -> None:
    x: int = 1


class File(Protocol):
    def read(self) -> bytes: ...
'''


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with one small stem, which is the current folder."""
    for folder in ("csrc/small", "ref", "tests/small"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "csrc/small/scalar.c").write_text(SCALAR)
    (tmp_path / "tests/small/mutants.toml").write_text("")
    (tmp_path / "csrc/small/small.h").write_text("int f(int x);\n")
    (tmp_path / "ref/small.py").write_text(ORACLE)
    monkeypatch.chdir(tmp_path)
    changes.of_file.cache_clear()
    return tmp_path


LINKS = mutants_all.Row.links


@pytest.fixture(autouse=True)
def links(monkeypatch: pytest.MonkeyPatch) -> None:
    # There is no binding in this tree.
    monkeypatch.setattr(mutants_all.Row, "links", lambda self, built: True)
    monkeypatch.setattr(mutants_all.Row, "sanitized", lambda self, built: "")


def small() -> mutants_all.Row:
    return mutants_all.Row("small", COMPILER, COMPILER, COMPILER)


def change(file: str, line: int, new: str) -> Change:
    return Change(file, line, 1, Path(file).read_text().splitlines(keepends=True)[line - 1], new)


@pytest.mark.parametrize("stem", changes.changed(""))
def test_every_list_fits_the_sources(stem: str) -> None:
    changes.of_file.cache_clear()
    for reason in changes.survivors(stem).values():
        assert len(reason.split()) >= 4, reason


@pytest.mark.parametrize("stem", changes.changed(""))
def test_no_change_comes_twice(stem: str) -> None:
    """Each is built in a folder that its key names."""
    keys = [change.key for change in changes.of_row(stem)]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("file", "line", "new", "fate"),
    [
        ("csrc/small/scalar.c", 4, "    return x - 0;\n", "equivalent"),
        ("csrc/small/scalar.c", 4, "    return y + 0;\n", "refused"),
        ("csrc/small/scalar.c", 4, "    return 0;\n", "refused"),  # x is unused: the build has warnings as errors
        ("ref/small.py", 5, '    ""\n', "equivalent"),
        ("ref/small.py", 4, "def f(x: str) -> None:\n", "equivalent"),
        ("ref/small.py", 6, "    return x -\n", "refused"),
        ("ref/small.py", 10, "    x: str = 1\n", "equivalent"),
        ("ref/small.py", 14, "    pass\n", "equivalent"),
    ],
)
def test_what_is_dropped(tree: Path, file: str, line: int, new: str, fate: str) -> None:
    assert small().build(change(file, line, new)) == fate


def test_a_change_that_takes_a_function_away_is_refused(tmp_path: Path) -> None:
    """A binding without it is made all the same, and fails when it is loaded."""
    if not mutants.OBJECTS.exists():
        pytest.skip("no kernels are compiled: make kernels")
    (tmp_path / "empty.c").write_text("static int nothing;\nint *pgq_nothing(void)\n{\n    return &nothing;\n}\n")
    empty = tmp_path / "empty.o"
    subprocess.run(["gcc", "-fPIC", "-c", str(tmp_path / "empty.c"), "-o", str(empty)], check=True)
    built = mutants_all.Built(Change("csrc/common/cpu.c", 1, 1, "", ""), tmp_path, {"common/cpu.c": empty})
    assert not LINKS(small(), built)
    assert LINKS(small(), mutants_all.Built(built.change, tmp_path, {}))


@pytest.mark.parametrize(
    ("file", "line", "new"),
    [("csrc/small/scalar.c", 4, "    return x + 1;\n"), ("ref/small.py", 6, "    return x - 2\n")],
)
def test_what_is_tried(tree: Path, file: str, line: int, new: str) -> None:
    built = small().build(change(file, line, new))
    assert isinstance(built, mutants_all.Built)
    assert new in (built.folder / file).read_text()


def test_the_public_header_is_not_changed_and_all_else_is(tree: Path) -> None:
    assert {c.file for c in changes.of_row("small")} == {"csrc/small/scalar.c", "ref/small.py"}


def test_the_ground_under_the_stems_has_changes_of_its_oracles_alone() -> None:
    assert [*matrix.GROUND, *matrix.stems()] == sorted(changes.changed(""), key=lambda name: name not in matrix.GROUND)
    assert changes.changed("xid") == ["xid"]
    row = mutants_all.Row("xid", COMPILER, COMPILER, COMPILER)
    assert list(row.dropped) == ["oracle"]
    assert row.near == {"ref/xid.py": ["tests/xid/test_oracle.py"]}


def test_an_edit_elsewhere_leaves_the_order_of_the_others(tree: Path) -> None:
    before = [c.key for c in changes.of_row("small")]
    (tree / "csrc/small/scalar.c").write_text("/* Of one number. */\n\n" + SCALAR)
    changes.of_file.cache_clear()
    assert [c.key for c in changes.of_row("small")] == before


def test_a_sample_holds_the_smaller_ones(tree: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        few = [built.change for built in small().sample(3, pool)]
        more = [built.change for built in small().sample(6, pool)]
    assert len(few) == 3
    assert more[:3] == few


def entry(file: str, old: str, new: str) -> str:
    return f"[[survivor]]\nfile = '{file}'\nold = '{old}'\nnew = '{new}'\nreason = 'adds nothing'\n"


def test_a_listed_change_has_its_reason(tree: Path) -> None:
    (tree / "tests/small/survivors.toml").write_text(entry("csrc/small/scalar.c", "return x + 0;", "return x - 0;"))
    assert list(changes.survivors("small").values()) == ["adds nothing"]


@pytest.mark.parametrize(
    ("listed", "advice"),
    [
        (entry("csrc/small/scalar.c", "return x + 2;", "return x - 2;"), "remove the entry if it is gone"),
        (entry("csrc/small/gone.c", "return x + 0;", "return x - 0;"), "remove the entry"),
    ],
)
def test_a_listed_change_that_is_gone_is_an_error_that_says_what_to_do(tree: Path, listed: str, advice: str) -> None:
    (tree / "tests/small/survivors.toml").write_text(listed)
    with pytest.raises(changes.ListError, match=advice):
        changes.survivors("small")


@pytest.mark.parametrize(
    ("listed", "killer", "lacks", "verdict"),
    [
        (False, "tests/small/test_kernels.py::test_f", "", "killed"),
        (True, "tests/small/test_kernels.py::test_f", "", "stale"),
        (False, "", "", "survived"),
        (False, "", "this kernel has no io_uring", "skipped"),
        (True, "", "", "reason"),
    ],
)
def test_verdicts(
    tree: Path, monkeypatch: pytest.MonkeyPatch, listed: bool, killer: str, lacks: str, verdict: str
) -> None:
    ended = nodes.Ended(0, {}, lacks, 1.0, {}, "")
    monkeypatch.setattr(mutants_all.Row, "tests", lambda self, built: killer)
    monkeypatch.setattr(mutants_all.Row, "control", lambda self, chosen: ended)
    built = small().build(change("csrc/small/scalar.c", 4, "    return x + 1;\n"))
    assert isinstance(built, mutants_all.Built)
    item = small().judge({built.change.key: "no test has to"} if listed else {}, False, built)
    assert item["verdict"] == verdict
    assert (item["status"] == "failed") == (verdict in ("stale", "survived"))


@pytest.mark.parametrize(
    ("command", "words", "numbers"),
    [
        ("mutants-all", [], ["150"]),
        ("mutants-all", ["NUMBER=7"], ["7"]),
        ("model-mutants", [], []),
        ("model-mutants", ["NUMBER=7"], ["7"]),
        ("prove-changes", [], []),
        ("prove-changes", ["NUMBER=7"], ["7"]),
    ],
)
def test_the_number_of_one_layer_is_not_that_of_another(command: str, words: list[str], numbers: list[str]) -> None:
    """Models and definitions say in survivors.toml how many are tried; the default of the kernels is not theirs."""
    alone = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "NUMBER"}}
    would = subprocess.run(
        ["make", "-n", command, *words], cwd=TOP, env=alone, capture_output=True, text=True, check=True
    )
    assert re.findall(r"--number (\d+)", would.stdout) == numbers
