# SPDX-License-Identifier: PostgreSQL
"""tests/defects.toml holds: what it names exists, and must fail."""

import ast
import tomllib
from pathlib import Path

import pytest

from spec.tools import models
from tests.changes import hand
from tools.common import defects, matrix
from tools.common.defects import Defect

pytestmark = pytest.mark.claim11

TOP = Path(__file__).resolve().parent.parent
DEFECTS = defects.load(TOP / defects.LIST)
TOLD = [defect for defect in DEFECTS if not defect.none]

IN_MINORS = [defect for defect in DEFECTS if defect.told_apart]

# The goals, and how many stand there: the list may only get longer, and what is told apart may only get more.
LEAST, LISTED, KILLED = 25, 62, 50
LEAST_IN_MINORS, TOLD_IN_MINORS = 5, 9


@pytest.mark.parametrize("defect", TOLD, ids=lambda defect: defect.title)
def test_what_is_named_exists_and_must_fail(defect: Defect) -> None:
    if defect.model:
        assert {"bug", "mutant"} & set(defect.model.split("_")), f"{defect.model} does not fail because it is broken"
        (must,) = [each.expected for each in models.find(TOP / "spec", defect.stem) if each.name == defect.model]
        assert isinstance(must, models.Violates)
    if defect.kernel:
        assert {entry.name: entry.killers for entry in hand.load(defect.stem).change}[defect.kernel]


def test_each_is_of_a_row_and_says_where_it_was_found() -> None:
    stems = matrix.stems(TOP)
    for defect in DEFECTS:
        assert defect.stem in stems, defect.title
        assert defect.commit or "https://" in defect.source, f"{defect.title}: no source"


def test_none_is_there_twice() -> None:
    commits = [commit for defect in DEFECTS for commit in defect.commit]
    assert len(set(commits)) == len(commits)
    assert len({defect.title for defect in DEFECTS}) == len(DEFECTS)


def test_a_run_named_for_a_commit_is_of_a_defect_in_the_list() -> None:
    """A run bug_COMMIT is listed under that commit."""
    commits = {commit[:8]: defect for defect in DEFECTS for commit in defect.commit}
    for run in models.find(TOP / "spec"):
        name = run.name.partition("_bug_")[2]
        if len(name) == 8 and all(c in "0123456789abcdef" for c in name):
            assert commits[name].model == run.name


def test_the_list_gets_no_shorter_and_no_less_is_killed() -> None:
    assert len(DEFECTS) >= LISTED >= LEAST
    assert len(TOLD) >= KILLED


def test_each_test_of_a_minor_is_that_of_one_defect() -> None:
    """It exists, names the commit, asks for the two minors that are listed, and both are pinned."""
    pinned = {row["name"] for row in tomllib.loads((TOP / "tests/postgres/minors.toml").read_text())["server"]}
    listed, asked = {}, set()
    for defect in IN_MINORS:
        assert defect.told_apart
        listed[defect.told_apart.test] = defect
        assert defect.told_apart.test.startswith(f"tests/{defect.stem}/"), defect.title
    found = set()
    for path in TOP.glob("tests/*/test_minors.py"):
        for test in ast.parse(path.read_text()).body:
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
                found.add(name := f"{path.relative_to(TOP)}::{test.name}")
                defect = listed[name]
                assert defect.told_apart
                assert defect.commit[0] in (ast.get_docstring(test) or ""), name
                names = {node.value for node in ast.walk(test) if isinstance(node, ast.Constant)}
                assert {defect.told_apart.old, defect.told_apart.new} <= names, name
                asked |= {defect.told_apart.old, defect.told_apart.new}
    assert found == set(listed)
    assert len(listed) == len(IN_MINORS) >= TOLD_IN_MINORS >= LEAST_IN_MINORS
    assert asked == pinned


@pytest.mark.parametrize("defect", IN_MINORS, ids=lambda defect: defect.title)
def test_the_minors_are_on_both_sides_of_the_mend(defect: Defect) -> None:
    """Of one major; where a release is listed for it, the older minor lies before it and the newer one does not."""
    assert defect.told_apart
    old, new = ([int(part) for part in name.split(".")] for name in (defect.told_apart.old, defect.told_apart.new))
    assert old[0] == new[0]
    assert old < new
    for fixed in ([int(part) for part in name.split(".")] for name in defect.fixed):
        if fixed[0] == old[0]:
            assert old < fixed <= new
