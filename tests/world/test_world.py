# SPDX-License-Identifier: PostgreSQL
"""The world of faults itself: the examples pass, each thing that their author may forget is found, and the seed that is
printed finds it again. The lines that ask for I/O are named, with what happened to them."""

import atexit
import re
import shutil
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from tests.runners import calls, world

WORLD = Path(__file__).resolve().parent
FORGOTTEN = {
    "log": ["FORGETS_SYNC", "FORGETS_FAILED_WRITE", "SYNCS_TWICE", "TRUSTS_CACHE"],
    "queue": ["LOOKS_ONCE", "LETS_GO_BETWEEN", "WAKES_ONE", "WAKES_NOBODY"],
    "ring": ["FORGETS_ERRORS", "FORGETS_SHORT_READS", "SUBMITS_ONCE", "FREES_EARLY", "FORGETS_THE_RING"],
}
RUNS = 3000


FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-g", "-O1", "-fno-omit-frame-pointer", "-Wall", "-Wextra", "-Werror", "-pthread"]


@cache
def harness() -> list[str]:
    """The world's own objects, which each example is linked with."""
    folder = mkdtemp()
    atexit.register(shutil.rmtree, folder)
    sources = sorted(map(str, WORLD.glob("*.c")))
    subprocess.run(["gcc", *FLAGS, f"-I{WORLD.parents[1] / 'csrc'}", "-c", *sources], cwd=folder, check=True)
    return sorted(map(str, Path(folder).glob("*.o")))


def build(folder: Path, example: str, *forgotten: str) -> Path:
    if (
        example == "ring"
        and subprocess.run(["gcc", "-E", "-include", "liburing.h", "-"], capture_output=True, input=b"").returncode
    ):
        pytest.skip("no header of liburing here")
    source, program = WORLD / "examples" / f"{example}.c", folder / example
    words = [f"-I{WORLD.parents[1] / 'csrc'}", *(f"-D{name}" for name in forgotten)]
    subprocess.run(["gcc", *FLAGS, *words, source, *harness(), "-o", program], check=True)
    return program


def run(program: Path, first: int, n: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, str(first), str(n)], capture_output=True, text=True)


@pytest.mark.tools
@pytest.mark.parametrize("example", FORGOTTEN)
def test_what_forgets_nothing_passes(tmp_path: Path, example: str) -> None:
    done = run(build(tmp_path, example), 0, RUNS)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"tally:( \w+=[1-9]\d*)+\ndigest: [0-9a-f]{16}\n(call .*\n)*", done.stdout)


@pytest.mark.tools
@pytest.mark.parametrize(
    ("example", "forgotten"), [(example, name) for example, names in FORGOTTEN.items() for name in names]
)
def test_what_is_forgotten_is_found_and_found_again(tmp_path: Path, example: str, forgotten: str) -> None:
    program = build(tmp_path, example, forgotten)
    found = run(program, 0, RUNS)
    seed = re.search(r"violation with SEED=(\d+): (.*)", found.stderr)
    assert found.returncode == 1
    assert seed
    again = run(program, int(seed[1]), 1)
    assert again.stderr == found.stderr, "the same seed gives the same run"


def test_calls_are_counted_where_they_come_from(tmp_path: Path) -> None:
    program = build(tmp_path, "log")
    counted = calls.counted(run(program, 0, RUNS).stdout)
    where = {(chain.what, frame): chain for chain, _ in counted for frame in nearest(program, chain)}
    source = (WORLD / "examples/log.c").read_text().splitlines()
    assert {(what, "disk_" + what in source[frame.line - 1]) for what, frame in where} == {
        ("read", True),
        ("write", True),
        ("sync", True),
    }
    assert all(counted[chain, fault] for chain in where.values() for fault in ("failed", "cut") if chain.what != "read")
    assert sum(counted[chain, "interrupted"] for chain in where.values()) > 0
    assert not any(counted[chain, "interrupted"] for chain in where.values() if chain.what == "sync")


def nearest(program: Path, chain: calls.Chain) -> list[calls.Frame]:
    address = chain.addresses.split(",")[0]
    return calls.frames(program, [address])[address][:1]


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
