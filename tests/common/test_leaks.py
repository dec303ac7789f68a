# SPDX-License-Identifier: PostgreSQL
"""The fuzzers' runner sees a leak, by a target that leaks on purpose, and says so where leaks cannot be looked for."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.common import leaks
from tests.common.leaks import NO_PTRACE, TRIES, UNABLE
from tests.runners import fuzz
from tools.common import results

TARGET = """
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static void *volatile kept;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kept = size ? malloc(data[0] + 1) : NULL;
    FREE;
    return 0;
}
__attribute__((destructor)) static void tell(void)
{
    fprintf(stderr, "tally: inputs=1\\n");
}
"""
# In the place of a target: as one ends whose threads LeakSanitizer may not stop; it runs without that look.
BLIND = f"""#!/bin/sh
case "$*" in *detect_leaks=1*) echo "==7=={UNABLE}" >&2; exit 1;; esac
echo "tally: inputs=1" >&2
echo "stat::number_of_executed_units: 1" >&2
"""


@pytest.mark.parametrize(("freed", "leaking"), [("free(kept)", False), ("(void)kept; kept = NULL", True)])
def test_a_target_that_leaks_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, freed: str, leaking: bool) -> None:
    monkeypatch.setattr(fuzz, "CRASHES", tmp_path)
    (tmp_path / "target.c").write_text(TARGET.replace("FREE", freed))
    build = ["clang", "-g", "-fsanitize=fuzzer,address", str(tmp_path / "target.c"), "-o", str(tmp_path / "target")]
    subprocess.run(build, check=True)
    done = fuzz.fuzz(300, tmp_path / "target")
    if UNABLE in done.stderr:
        pytest.skip(NO_PTRACE)
    assert (done.returncode != 0, fuzz.LEAK in done.stderr) == (leaking, leaking), done.stderr


def test_a_place_where_leaks_cannot_be_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The target counts, and the look for leaks is skipped by name."""
    monkeypatch.chdir(tmp_path)
    target = tmp_path / "build" / "fuzz" / "row"
    target.parent.mkdir(parents=True)
    target.write_text(BLIND)
    target.chmod(0o755)
    written: list[dict[str, object]] = []
    monkeypatch.setattr(results, "write", lambda layer, stem, items, **more: written.extend(items))
    assert fuzz.judge(1, "row")
    assert [(item["name"], item["status"]) for item in written] == [("fuzz row", "passed"), ("leaks row", "skipped")]
    assert f"SKIPPED leaks row: {NO_PTRACE}" in capsys.readouterr().out


@pytest.mark.parametrize("unable", [0, 1, TRIES - 1])
def test_a_look_that_ends_its_process_is_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unable: int
) -> None:
    times = tmp_path / "times"
    times.write_text("")

    def check() -> None:
        with times.open("a") as file:
            file.write("x")
        os.write(2, b"what it saw")
        if len(times.read_text()) <= unable:
            os._exit(1)

    monkeypatch.setattr(leaks, "CHECK", check)
    assert leaks.report() == "what it saw"
    assert len(times.read_text()) == unable + 1


def test_a_look_that_always_ends_its_process_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def check() -> None:
        os.write(2, UNABLE.encode())
        os._exit(1)

    monkeypatch.setattr(leaks, "CHECK", check)
    with pytest.raises(leaks.UnableError, match=UNABLE):
        leaks.report()


@pytest.mark.parametrize(
    ("first", "code", "runs"), [(0, 0, [10, 80]), (1, 0, [10]), (0, 1, [10])], ids=["not reached", "reached", "crashed"]
)
def test_what_few_inputs_have_not_reached_is_sought_with_more_and_a_crash_is_not(
    monkeypatch: pytest.MonkeyPatch, first: int, code: int, runs: list[int]
) -> None:
    asked: list[int] = []

    def fuzzed(number: int, target: Path, *, leaks: bool) -> subprocess.CompletedProcess[str]:
        asked.append(number)
        counted = first if len(asked) == 1 else 5
        return subprocess.CompletedProcess([], code, "", f"tally: done=3 rare={counted}\n")

    monkeypatch.setattr(fuzz, "fuzz", fuzzed)
    done = fuzz.fuzz_deep(10, Path("target"))
    assert asked == runs
    assert done.returncode == code
