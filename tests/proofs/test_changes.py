# SPDX-License-Identifier: PostgreSQL
"""The changes that a machine makes of proved definitions: which there are, and who shows one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from proofs.changes import attempt, rules
from proofs.changes.attempt import Row
from proofs.changes.rules import Change, fields_of
from proofs.changes.source import blanked, definitions

pytestmark = pytest.mark.tools

DEFINED = """(* SPDX-License-Identifier: PostgreSQL *)
From Coq Require Import Bool Arith.
Record pair := Pair { low : nat; high : nat }.
Definition limit : nat := 3. (* limit := 4. is none *)
Definition step (p : pair) : pair := if low p <? limit then Pair (S (low p)) (high p) else p.
Definition within (p : pair) : Prop := low p <= 3 /\\ 0 <= high p.
Definition unused (n : nat) : nat := n + 1.
Definition spare (n : nat) : nat := match n with O => limit - 3 + n | S m => m end.
"""
PROVED = """(* SPDX-License-Identifier: PostgreSQL *)
From Coq Require Import Bool Arith Lia.
From Pgquern.small Require Import Defined.
(** A step stays within the bounds. *)
Theorem stays : forall p : pair, within p -> within (step p).
Proof.
  intros [l h] [L H]. unfold step, within, limit in *. cbn [low high] in *.
  destruct (Nat.ltb_spec l 3); cbn [low high]; lia.
Qed.
(** It is no more than the number itself. *)
Theorem spares : forall n : nat, spare n <= n.
Proof. unfold spare, limit. destruct n; simpl; lia. Qed.
"""
FILES = {"Defined": DEFINED, "Proved": PROVED}


def found(text: str, *, of: str = "") -> set[str]:
    """What there is to be changed in the definitions of a text: the new lines."""
    names = [definition.name for definition in definitions(blanked(text)) if of in ("", definition.name)]
    return {change.new for change in rules.find("small/Defined.v", text, names, fields_of(blanked(text)))}


@pytest.mark.parametrize(
    ("text", "some", "none"),
    [
        ("a <? b", ["a <=? b", "b <? a"], []),
        ("a && b || c", ["a || b || c", "true && b || c", "a && true || c", "a && b && c", "a && b || false"], []),
        ("a - f b * c", ["a + f b * c", "f b * c - a", "a - b * c", "a - f b + c"], ["f b - a * c"]),
        ("f (g a b) c", ["f c (g a b)", "f (g b a) c", "f (a) c", "(g a b)", "c"], ["f (g c) a b"]),
        ("if a then b else c", ["if true then b else c", "if negb (a) then b else c"], []),
        ("match a with O => b | S a => c end", ["match a with O => c | S a => b end"], []),
        ("forall x, P x -> Q x", ["exists x, P x -> Q x", "forall x, Q x"], ["forall P, x x -> Q x"]),
        ("fun x y => f x 10", ["fun x y => f x 11", "fun x y => f x 9"], ["fun y x => f x 10"]),
        ("a ++ b", ["nil ++ b", "a ++ nil", "b ++ a"], []),
        ("x ← f a b; g x", ["x ← f b a; g x", "x ← a; g x"], ["f ← x a b; g x"]),
        ("0x0f", ["0x10", "0xe"], []),
        ("negb a", ["id a", "a"], []),
    ],
)  # fmt: skip
def test_rules(text: str, some: list[str], none: list[str]) -> None:
    new = found(f"Definition d := {text}.\n")
    assert {f"Definition d := {one}." for one in some} <= new
    assert not {f"Definition d := {one}." for one in none} & new


def test_a_field_stays_as_it_was() -> None:
    text = "Record r := R { a : nat; b : nat }.\nDefinition d (s : r) := R (a s) 7.\n"
    assert "Definition d (s : r) := R (a s) (b s)." in found(text, of="d")


def test_comments_and_types_are_not_changed() -> None:
    assert all("4. is none" not in new for new in found(DEFINED))
    assert all("(p : pair) : pair :=" in new for new in found(DEFINED, of="step"))


def test_changes_are_the_same_wherever_a_definition_stands() -> None:
    moved = DEFINED.replace("Definition limit", "\n(* All moves. *)\nDefinition limit").replace("n + 1", "n + 2")
    here, there = (
        [change.name for change in rules.find("small/Defined.v", text, ["limit", "step", "within"], {})]
        for text in (DEFINED, moved)
    )
    assert here == there
    assert len(set(here)) == len(here)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Row, Path]:
    """A small stem, and where it is compiled."""
    if shutil.which("coqc") is None:
        pytest.skip("Coq is not installed: make setup")
    source, compiled = tmp_path_factory.mktemp("proofs"), tmp_path_factory.mktemp("compiled")
    for folder in (source, compiled):
        (folder / "small").mkdir()
        (folder / "common").mkdir()
        for name, text in FILES.items():
            (folder / "small" / f"{name}.v").write_text(text)
    (source / "_CoqProject").write_text("\n".join(f"small/{name}.v" for name in FILES) + "\n")
    (source / "required-theorems.txt").write_text("Pgquern.small.Proved.stays\nPgquern.small.Proved.spares\n")
    for name in FILES:
        command = ["coqc", "-q", "-noglob", "-Q", ".", "Pgquern", f"small/{name}.v"]
        subprocess.run(command, cwd=compiled, check=True)
    return attempt.load("small", source, compiled), compiled


def test_only_what_a_theorem_reaches_is_changed(small: tuple[Row, Path]) -> None:
    assert {change.definition for change in small[0].changes} == {"limit", "step", "within", "spare"}
    checksums = [change.checksum for change in small[0].changes]
    assert checksums == sorted(checksums)


@pytest.mark.parametrize(
    ("definition", "old", "new", "verdict", "by"),
    [
        ("limit", "nat := 3", "nat := 4", "killed", "Proved.v: stays"),
        ("limit", "nat := 3", "nat := 2", "killed", "Proved.v: stays"),  # the theorem is still true
        ("limit", "nat := 3", "nat := 2 + 1", "equivalent", ""),
        ("step", "low p <? limit", "p <? limit", "refused", ""),
        ("spare", "limit - 3 + n", "limit - 2 + n", "killed", "Proved.v: spares"),
        ("within", "0 <= high p", "1 <= high p", "survived", ""),
    ],
)
def test_verdicts(
    small: tuple[Row, Path], tmp_path: Path, definition: str, old: str, new: str, verdict: str, by: str
) -> None:
    row, compiled = small
    begin = DEFINED.index(old)
    change = Change("small/Defined.v", definition, old, new, ((begin, begin + len(old), new),))
    tried = attempt.attempt(row, change, compiled, tmp_path)
    assert (tried.verdict, tried.by) == (verdict, by)
