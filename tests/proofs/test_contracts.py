# SPDX-License-Identifier: PostgreSQL
"""The contracts of C that WP proves: a change of C breaks each, and what Frama-C says is read right."""

import re
import subprocess
from pathlib import Path

import pytest

from proofs.contracts import wp
from proofs.contracts.__main__ import Contracts
from proofs.contracts.listing import Proof
from proofs.ctext.listing import load
from proofs.ctext.outcome import Checked, ToolBrokenError, ToolMissingError, UndecidedError
from tools.common.matrix import with_cell

STEMS = with_cell(Contracts.listing)
AXIOM = re.compile(r"axiom \w+: \\forall integer x; (\S+) <= x < (\S+) ==> \((\w+)\)x == x ([+-]) (\w+);")


def proofs(stem: str) -> list[Proof]:
    return load(Path(Contracts.listing.format(stem=stem)), Proof)


@pytest.mark.parametrize("stem", STEMS)
def test_each_contract_is_broken_by_a_change(stem: str) -> None:
    for proof in proofs(stem):
        for function in proof.functions:
            assert any(m.killed_by.startswith(function + "_") for m in proof.mutant), (proof.name, function)


@pytest.mark.parametrize("stem", STEMS)
def test_each_named_promise_is_broken_by_a_change(stem: str) -> None:
    listed = proofs(stem)
    broken = [mutant.killed_by for proof in listed for mutant in proof.mutant]
    for source in {proof.source for proof in listed}:
        for name in re.findall(r"^ *ensures (\w+):", Path("csrc", source).read_text(), re.MULTILINE):
            assert any(goal.endswith(f"ensures_{name}") for goal in broken), (source, name)


@pytest.mark.parametrize(
    ("count", "goals", "fault"),
    [
        (5, 5, ""),
        (4, 5, "it has 4 goals, not 5; correct `goals` if that is right"),
        (4, None, ""),
        (0, None, "it claims nothing"),
    ],
)
def test_another_version_may_count_in_another_way_and_must_count_something(
    count: int, goals: int | None, fault: str
) -> None:
    assert wp.fault(count, goals) == fault


def script(folder: Path, says: str) -> str:
    path = folder / "frama-c"
    path.write_text(f"#!/bin/sh\n{says}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("says", "kind", "words"),
    [
        ("echo '24.0 (Chromium)'", ToolMissingError, "no Frama-C: .* is 24.0, and 25 or newer is needed"),
        ("echo nothing", ToolBrokenError, "says 'nothing'"),
        (None, ToolBrokenError, "is no program"),
        ("echo '25.0 (Manganese)'", ToolMissingError, "no Frama-C that can prove: "),
    ],
)
def test_another_frama_c_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str | None, kind: type[Exception], words: str
) -> None:
    monkeypatch.setenv("FRAMA_C", script(tmp_path, says) if says else str(tmp_path / "none"))
    with pytest.raises(kind, match=words):
        wp.find(tmp_path)


def test_without_frama_c_all_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FRAMA_C", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissingError, match="no Frama-C: apt install frama-c-base"):
        wp.find(tmp_path)


HEAD = "echo '[wp] 2 goals scheduled'\n"
LEFT = "echo '[wp] [CVC4 1.8] Goal typed_f_ensures : {} (Qed:2ms)'\n"
TAIL = "echo '[wp] Proved goals:   {} / 2'"


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (HEAD + TAIL.format(2), Checked(2, [])),
        (HEAD + LEFT.format("Unknown") + TAIL.format(1), Checked(2, ["f_ensures"])),
        (HEAD + LEFT.format("Timeout") + TAIL.format(1), UndecidedError),
        (HEAD + TAIL.format(1), ToolBrokenError),
        (HEAD, ToolBrokenError),
        ("echo '[kernel] User Error: invalid user input'", ToolBrokenError),
    ],
)
def test_what_frama_c_says(tmp_path: Path, said: str, found: Checked | type[Exception]) -> None:
    tool = wp.Tool(script(tmp_path, said), 25, "Frama-C 25", str(tmp_path / "why3.conf"))
    if isinstance(found, Checked):
        assert wp.check(tool, Path("f.c"), Path("csrc"), ["f"], 1) == found
    else:
        with pytest.raises(found):
            wp.check(tool, Path("f.c"), Path("csrc"), ["f"], 1)


@pytest.mark.parametrize(
    ("goal", "name"),
    [
        ("f_purge_ensures_count", "count"),
        ("f_loop_invariant_bound_preserved", "bound"),
        ("f_assert_parted", "parted"),
        ("f_assert_rte_mem_access", ""),
        ("f_ensures", ""),
        ("f_call_g_requires", ""),
    ],
)
def test_of_a_change_the_goals_of_one_name_are_tried(tmp_path: Path, goal: str, name: str) -> None:
    said = tmp_path / "said"
    tool = wp.Tool(script(tmp_path, f'echo "$@" > {said}; exit 1'), 25, "Frama-C 25", str(tmp_path / "why3.conf"))
    with pytest.raises(ToolBrokenError):
        wp.check(tool, Path("f.c"), Path("csrc"), ["f"], 1, goal=goal)
    assert re.findall(r"-wp-prop (\w+)", said.read_text()) == ([name] if name else [])


def test_the_axioms_of_conversions_hold_of_this_compiler(tmp_path: Path) -> None:
    """At each end of each range, and at steps of a prime between."""
    axioms = AXIOM.findall(wp.CONVERSIONS.read_text())
    assert len(axioms) == wp.CONVERSIONS.read_text().count("axiom ")
    lines = ["#include <stdint.h>", "int main(void)", "{", "    int64_t x, wrong = 0;"]
    for low, high, kind, sign, turn in ([part.replace("0x", "(int64_t)0x") for part in axiom] for axiom in axioms):
        for step in (f"x = {low}; x < {high}; x += 1000003", f"x = {high} - 1; x > {high} - 9; x--"):
            lines.append(f"    for ({step})")
            lines.append(f"        wrong += ({kind})x != x {sign} {turn};")
    source = tmp_path / "axioms.c"
    source.write_text("\n".join([*lines, "    return wrong != 0;", "}"]) + "\n")
    subprocess.run(["gcc", "-O1", "-o", str(tmp_path / "axioms"), str(source)], check=True)
    assert subprocess.run([str(tmp_path / "axioms")], check=False).returncode == 0


def test_a_false_contract_is_not_proved(tmp_path: Path) -> None:
    try:
        tool = wp.find(tmp_path)
    except ToolMissingError as error:
        pytest.skip(str(error))
    source = tmp_path / "f.c"
    source.write_text("/*@ ensures \\result < 4294967295; */\nuint32_t f(uint32_t x)\n{\n    return x + 1;\n}\n")
    found = wp.check(tool, source, tmp_path, ["f"], 100_000)
    assert (found.count > 0, found.failed) == (True, ["f_ensures"])
