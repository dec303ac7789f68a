# SPDX-License-Identifier: PostgreSQL
"""The runner of the worlds: which seeds it takes, when it ends, and which lines that ask for I/O it names."""

from collections import Counter
from pathlib import Path

import pytest

from tests.runners import calls, world


def test_a_line_that_never_asked_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "csrc/row").mkdir(parents=True)
    source = "bool read_all(void)\n{\n    return read_all() ||\n        read_all();\n    /* read_all() */\n}\n"
    (tmp_path / "csrc/row/files.c").write_text(source)
    monkeypatch.chdir(tmp_path)
    missing = list(calls.never_made("row", {"read_all"}, {"csrc/row/files.c:3"}))
    assert [line.line for line in missing] == ["csrc/row/files.c:4"]
    assert missing[0].lacks(calls.FAULTS) == list(calls.FAULTS)


def test_a_fault_that_a_row_does_not_have_is_not_missed() -> None:
    lines = [calls.Line("a", "sync", made=2, failed=1, interrupted=None), calls.Line("b", "sync", made=2)]
    assert calls.applying(lines) == ["failed"]
    assert [line.lacks(["failed", "interrupted"]) for line in lines] == [[], ["failed", "interrupted"]]


def test_seeds_follow_without_a_gap(tmp_path: Path) -> None:
    source = tmp_path / "world.c"
    source.write_text("const unsigned world_weight = 4;\n")
    (tmp_path / "seeds.txt").write_text("7  # found once\n")
    more = world.waves(source, world.Aim(runs=1000))
    first, second = next(more), next(more)
    assert [seed for part in first for seed in part] == [*range(250), 7]
    assert [seed for part in second for seed in part] == list(range(250, 250 + world.WAVE * world.PART))
    assert next(more)[0].start == second[-1].stop


@pytest.mark.parametrize(
    ("states", "seconds", "reached"), [(100, 60, True), (99, 60, False), (100, 59, False), (200, 600, True)]
)
def test_a_world_ends_when_all_of_its_aim_is_reached(states: int, seconds: float, reached: bool) -> None:
    assert world.Aim(runs=1, states=100, minutes=1).reached(states, seconds) == reached


def test_runs_go_on_to_the_first_violation_or_the_aim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, judged = tmp_path / "world.c", 0
    source.touch()

    def run(name: str, part: range) -> tuple[Counter[str], Counter[tuple[calls.Chain, str]], str]:
        nonlocal judged
        judged += len(part)
        found = "step 3\nviolation with SEED=1000: late\n\nexit code 1" if 1000 in part else ""
        return Counter(states=2 * len(part)), Counter(), found

    monkeypatch.setattr(world, "run", run)
    monkeypatch.setattr(calls, "lines_of", lambda *_: [])
    item, says = world.judge(source, world.waves(source, world.Aim(10, states=1500)), world.Aim(10, states=1500))
    assert (item["status"], judged) == ("passed", 10 + world.WAVE * world.PART)
    assert says.startswith("810 runs: 1,620 states")
    item, says = world.judge(source, world.waves(source, world.Aim(10, states=10**6)), world.Aim(10, states=10**6))
    assert item["status"] == "failed"
    assert item["reason"].startswith("violation with SEED=1000: late; ")
