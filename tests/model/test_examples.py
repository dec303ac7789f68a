# SPDX-License-Identifier: PostgreSQL
"""The folder for the TLA+ community's examples is whole, and refused if a model does not end as it must."""

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from spec.tools import examples, models
from spec.tools.models import ModelError
from tools.common import matrix

TOP = Path(__file__).resolve().parents[2]
COUNTER = """
---- MODULE counter ----
EXTENDS Naturals, limits \\* and not EXTENDS nothing
CONSTANT Broken
VARIABLE n
(* nor INSTANCE comment *)
Init == n = 0
Next == IF n < Most THEN n' = n + 1 ELSE n' = IF Broken THEN n + 1 ELSE 0
Spec == Init /\\ [][Next]_n
Small == n <= Most
====
"""
MODELS = """
[base.counter]
specification = "Spec"
constants = { Broken = false }
invariants = ["Small"]

[run.counter_small]
says = "It never gets larger than the limit."
holds = { states = 4, depth = 4 }

[run.counter_mutant_grows]
says = "It forgets to begin again."
constants = { Broken = true }
violates = { invariant = "Small", trace = 5 }
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A small subject, and what it extends among what all share."""
    found = tmp_path / "spec"
    for folder in ("counter", "common"):
        (found / folder).mkdir(parents=True)
    (found / "counter/counter.tla").write_text(COUNTER)
    (found / "common/limits.tla").write_text("---- MODULE limits ----\nMost == 3\n====\n")
    (found / "counter/models.toml").write_text(textwrap.dedent(MODELS))
    return found


def export(spec: Path, tmp_path: Path) -> Path:
    ended: list[None] = []
    runs = models.find(spec, "counter")
    found = examples.export("counter", runs, spec, TOP / "build", tmp_path / "into", "", lambda: ended.append(None))
    assert len(ended) == len(runs)
    return found


def test_the_folder_has_what_a_stranger_needs(spec: Path, tmp_path: Path) -> None:
    folder = export(spec, tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md", "counter.tla", "counter_mutant_grows.cfg", "counter_small.cfg", "limits.tla", "manifest.json",
    ]  # fmt: skip
    told: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    assert set(told) == {"sources", "authors", "tags", "modules"}
    counter, limits = told["modules"]
    assert limits == {"path": "specifications/pgquern_counter/limits.tla", "features": [], "models": []}
    holds, fails = counter["models"]
    assert (holds["result"], holds["distinctStates"], holds["stateDepth"]) == ("success", 4, 4)
    assert fails["result"] == "safety failure"
    assert "distinctStates" not in fails
    assert all(re.fullmatch(r"\d\d:\d\d:\d\d", model["runtime"]) for model in counter["models"])
    assert "| `counter_mutant_grows` | safety failure of `Small` |" in (folder / "README.md").read_text()


def test_a_model_that_does_not_end_as_it_must_is_refused(spec: Path, tmp_path: Path) -> None:
    (spec / "common/limits.tla").write_text("---- MODULE limits ----\nMost == 3\n====\n")
    (spec / "counter/counter.tla").write_text(COUNTER.replace("IF Broken THEN n + 1 ELSE 0", "0"))
    with pytest.raises(ModelError, match="counter_mutant_grows ends with success, not safety failure"):
        export(spec, tmp_path)


def test_a_module_that_is_missing_is_told(spec: Path, tmp_path: Path) -> None:
    (spec / "common/limits.tla").unlink()
    with pytest.raises(ModelError, match="Cannot find source file for module limits"):
        export(spec, tmp_path)


@pytest.mark.parametrize("stem", matrix.stems())
def test_each_subject_has_models_to_offer(stem: str) -> None:
    offered = examples.offered(models.find(TOP / "spec", stem))
    assert {examples.expected(run) for run in offered} > {"success"}
    for run in offered:
        assert run.module in examples.modules(run.module, TOP / "spec")
