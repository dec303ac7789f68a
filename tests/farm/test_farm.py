# SPDX-License-Identifier: PostgreSQL
"""The farm: its list of jobs is whole, and a merge joins shards and refuses what makes no whole."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spec.tools import models
from tests.judge.test_judge import CANDIDATES
from tests.runners import calls, candidates, world
from tools.common import results, shards
from tools.common.matrix import stems
from tools.common.shards import Shard
from tools.farm import job, merge, work
from tools.farm.work import Kind, Work

KIND = Kind(target="layer", layer="layer", mb=1, minutes=1)
ROW = stems()[0]
"""Any stem that has all that these tests list."""


def result(*names: str, status: str = "passed", **more: Any) -> dict[str, Any]:
    items = [{"name": name, "status": status, "reason": "broken" if status == "failed" else ""} for name in names]
    told = {"layer": "layer", "stem": "one", "says": "", "finished": "2026-01-02T00:00:00Z", "seconds": 1.0}
    facts = {"commit": "abc", "cpu": "a CPU", "cpu_level": "all", "tools": {"gcc": "12"}}
    return told | facts | {"items": items, "tree": "now"} | more


def works(*names: str) -> list[Work]:
    return [Work(what="layers", kind=KIND, shard=Shard(stem="one", name=name, words={"ONLY": name})) for name in names]


@pytest.fixture
def farm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A farm of its own, and the tree's results in it."""
    for module in (job, merge, work):
        monkeypatch.setattr(module, "FARM", tmp_path / "farm")
    return tmp_path


def there(one: Work, found: dict[str, Any], *, failed: bool = False) -> None:
    """A shard's result, where its job leaves it."""
    path = job.bad(one) if failed else job.good(one)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found))


def merged(listed: list[Work], folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[results.Result], Any]:
    whole = merge.join
    monkeypatch.setattr(merge, "join", lambda works, shards: whole(works, shards, folder / "results"))
    return merge.merge(listed, "now")


def test_a_merge_joins_shards_by_layer_and_stem(farm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = works("a", "b")
    there(a, result("first", cpu="one CPU"))
    there(b, result("second", cpu="another CPU", status="skipped"))
    found, wrong = merged([a, b], farm, monkeypatch)
    assert not wrong
    assert [item.name for item in found[0].items] == ["first", "second"]
    assert found[0].cpu == "one CPU; another CPU"
    assert found[0].seconds == 2.0
    assert results.load(farm / "results") == found


def test_a_failed_shard_is_part_of_the_whole_and_names_its_command(farm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = works("a", "b")
    there(a, result("first"))
    there(b, result("second", status="failed"), failed=True)
    found, wrong = merged([a, b], farm, monkeypatch)
    assert (found[0].status, dict(wrong)) == ("failed", {})
    assert merge.failures([a, b]) == {"layers/one/b": "make layer STEM=one ONLY=b"}


def test_a_missing_shard_is_an_error_with_the_command_to_repeat_it(farm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = works("a", "b")
    there(a, result("first"))
    found, wrong = merged([a, b], farm, monkeypatch)
    assert found == []
    assert list(wrong) == ["layers/one/b"]
    assert wrong["layers/one/b"].endswith("to repeat it: make layer STEM=one ONLY=b")
    assert not (farm / "results").exists()


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (result("first"), "in more than one shard of layer one: first"),
        (result("second", commit="def"), "several values of 'commit'"),
        (result("second", cpu_level="none"), "several values of 'cpu_level'"),
        (result("second", layer="other"), "several values of 'layer'"),
        (result("second", tree="before"), "of other sources"),
    ],
)
def test_a_merge_refuses_what_makes_no_whole(
    farm: Path, monkeypatch: pytest.MonkeyPatch, other: dict[str, Any], says: str
) -> None:
    a, b = works("a", "b")
    there(a, result("first"))
    there(b, other)
    found, wrong = merged([a, b], farm, monkeypatch)
    assert found == []
    assert says in next(iter(wrong.values()))


TARGET = """
layer:
\t@mkdir -p "$$PGQUERN_RESULTS/layer" && echo "$(ONLY) of $(STEM)$(JOBS)"
\t@! test -e $(ONLY) || cp $(ONLY) "$$PGQUERN_RESULTS/layer/one.json"
\t@! test -e $(ONLY).fails
"""


def test_a_job_keeps_what_passed_apart_from_what_failed(farm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(farm)
    monkeypatch.setenv("MAKEFLAGS", " -- JOBS=2 STEM=other")
    Path("Makefile").write_text(TARGET)
    (a,) = works("a")
    assert "it left 0 results, not one" in job.run(a, "now")
    assert job.log(a).read_text() == "a of one\n"
    Path("a").write_text(json.dumps(result("first", status="failed")))
    Path("a.fails").touch()
    assert job.run(a, "now") == "first: broken"
    assert (job.good(a).exists(), job.bad(a).exists()) == (False, True)
    Path("a").write_text(json.dumps(result("first")))
    assert "though nothing failed" in job.run(a, "now")
    assert (job.good(a).exists(), job.bad(a).exists()) == (False, False)
    Path("a.fails").unlink()
    assert job.run(a, "now") == ""
    assert (job.good(a).exists(), job.bad(a).exists()) == (True, False)
    Path("a").write_text(json.dumps(result("first", layer="other")))
    assert "a result of other one" in job.run(a, "now")


def asked(*command: str) -> list[Shard]:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
    return shards.heard(done.stdout)


def test_each_run_of_each_models_toml_is_one_job() -> None:
    listed = [asked("spec/run.py", "--only", size, "--list") for size in ("small", "large")]
    found = [(shard.stem, shard.name) for part in listed for shard in part]
    written = [
        (path.parent.name, name)
        for path in sorted(Path("spec").glob("*/models.toml"))
        for name, _, _ in models.load(path).entries()
    ]
    assert sorted(found) == sorted(written)
    assert all(shard.words == {"RUN": shard.name} for part in listed for shard in part)


def test_each_seed_of_each_world_is_in_one_job() -> None:
    listed = asked("-m", "tests.runners.world", "--runs", "250", "--list")
    sources = [source for stem in stems() for source in world.sources(stem)]
    assert sources
    for source in sources:
        mine = [shard.words for shard in listed if shard.words["WORLD"] == world.program(source)]
        seeds = [
            seed
            for words in mine
            if words["FROM"] != world.KEPT
            for seed in range(int(words["FROM"]), int(words["FROM"]) + int(words["WORLD_RUNS"]))
        ]
        assert seeds == list(range(-(-250 // world.weight(source))))
        assert [words["FROM"] for words in mine].count(world.KEPT) == bool(world.kept(source))


def test_each_candidate_is_in_one_job_and_those_that_share_a_folder_in_the_same() -> None:
    assert candidates.names() == sorted({Path(str(param.values[0])).stem for param in CANDIDATES})
    assert all(sum(f"/{name}." in str(param.id) for name in candidates.names()) == 1 for param in CANDIDATES)


def test_each_change_of_the_sample_is_in_one_job() -> None:
    listed = asked("-m", "tests.changes", "--layer", "C", "--number", "60", "--stem", ROW, "--list")
    assert [shard.words for shard in listed] == [{"LAYER": "C", "PART": f"{i}/3", "NUMBER": "60"} for i in range(3)]
    assert {shard.words["LAYER"] for shard in asked("-m", "tests.changes", "--stem", ROW, "--list")} > {"C", "hand"}


@pytest.fixture
def one_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stem of one world, in a tree of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    Path("tests/one").mkdir(parents=True)
    Path("tests/one/world.c").write_text("\nconst bool world_tries_all_lines = true;\n")
    return tmp_path


@pytest.mark.parametrize(
    ("b", "failed", "says"), [(4, 0, "no run has tried"), (0, 1, "no run has counted b"), (4, 1, "")]
)
def test_worlds_that_are_joined_must_have_counted_and_tried_all(
    one_world: Path, monkeypatch: pytest.MonkeyPatch, b: int, failed: int, says: str
) -> None:
    written: list[Any] = []
    monkeypatch.setattr(results, "write", lambda layer, stem, items, **more: written.extend(items))
    lines = [calls.Line("x.c:1", "write", 9, 0, 0, None), calls.Line("x.c:2", "write", 9, 1, 0, None)]
    for n, count, line in ((1, 0, lines[0]), (2, b, calls.Line("x.c:1", "write", 1, failed, 0, None))):
        item = {"name": f"world one {n}00", "status": "passed", "runs": 1000, "counts": {"a": 1, "b": count}}
        shard = result("gone") | {"items": [item | {"calls": [line.record(), lines[1].record()]}]}
        (one_world / f"{n}.json").write_text(json.dumps(shard))
    (one_world / "Makefile").touch()
    assert world.join("one", one_world, world.Aim(2000)) == (not says)
    assert says in written[0]["reason"]
    assert written[0]["counts"] == {"a": 2, "b": b}
    assert written[0]["runs"] == 2000


@pytest.mark.tools
def test_a_farm_runs_here_and_goes_on_where_it_stopped() -> None:
    """The models of the shared ground, in the checkout itself."""
    if not Path("build/farm-venv/bin/snakemake").exists():
        pytest.skip("Snakemake is not installed: `make farm` does that first")
    environment = {name: value for name, value in os.environ.items() if name != "PGQUERN_RESULT"}
    command = ["make", "-s", "farm", "WHAT=models", "STEM=xid", "JOBS=2"]
    first = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert first.returncode == 0, first.stdout + first.stderr
    again = subprocess.run(command, capture_output=True, text=True, env=environment)
    n = len(asked("spec/run.py", "--only", "small", "--stem", "xid", "--list"))
    assert f"farm: {n} jobs, {n} of them done before" in again.stdout
    assert again.stdout.splitlines()[-1] == first.stdout.splitlines()[-1]
