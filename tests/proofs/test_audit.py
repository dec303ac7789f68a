# SPDX-License-Identifier: PostgreSQL
"""The proof audit is itself tested: it accepts a sound little development and fails on each way to cheat.

What the text alone shows is looked for without Coq. All that Coq must show stands in one development, a copy of the
same small theory for each way to cheat, so that one audit judges them together.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from rich.console import Console

from proofs.audit import __main__ as audit
from proofs.audit import coq, printed
from proofs.audit.sources import (
    FORBIDDEN,
    REQUIRED,
    Audit,
    Theorem,
    check_sources,
    check_statements,
    listed_sources,
    pinned,
    required,
    strip_comments,
)
from tools.common import results

pytestmark = pytest.mark.tools

if shutil.which("coq_makefile") is None:
    pytest.skip("Coq is not installed: make setup", allow_module_level=True)

DEFINED = """(* SPDX-License-Identifier: PostgreSQL *)
Definition start := 0.
Definition at_most {bound : nat} (n : nat) := Nat.min bound n.
Definition limit := @at_most 3.
Inductive shade := light | dark (n : nat).
Definition base (s : shade) : nat := match s with light => start | dark n => start + limit n end.
"""
SMALL = """(* SPDX-License-Identifier: PostgreSQL *)
From Pgquern.small Require Import Defined.
(** Zero is neutral on the right. *)
Theorem neutral : forall n : nat, n + base light = n.
Proof. unfold base, start. induction n; simpl in *; congruence. Qed.
"""
BOUNDED = """(* SPDX-License-Identifier: PostgreSQL *)
From Pgquern.small Require Import Defined.
(** A positive number below one that the limit lets through is less than that. *)
Theorem bounded : forall n : nat, base light < n -> forall m : nat, n < m -> limit m = m -> n < limit m.
Proof. intros n _ m L E. now rewrite E. Qed.
(** What the limit lets through it lets through again. *)
Theorem let_through : forall n : nat, limit n = n -> limit (limit n) = n.
Proof. intros n E. now rewrite !E. Qed.
"""
WITNESS = """(* SPDX-License-Identifier: PostgreSQL *)
From Pgquern.small Require Import Defined.
Ltac see := repeat constructor.
(** There is a number to which the others apply. *)
Theorem some : exists n : nat, n = 3.
Proof. now exists 3. Qed.
Lemma bounded_witness : exists n : nat, base light < n /\\ exists m : nat, n < m /\\ limit m = m.
Proof. exists 1. split; [|exists 2; split]; see. Qed.
Lemma let_through_witness : exists n : nat, limit n = n.
Proof. now exists 2. Qed.
"""
SEE = "Ltac see := repeat constructor.\n"
FILES = {"Defined": DEFINED, "Neutral": SMALL, "Bounded": BOUNDED, "Witness": WITNESS}
PROJECT = "-Q . Pgquern\n" + "".join(f"small/{file}.v\n" for file in FILES)
REQUIRES = """# what must be proved
Pgquern.small.Neutral.neutral
Pgquern.small.Bounded.bounded
Pgquern.small.Bounded.let_through
Pgquern.small.Witness.some
"""


class Development:
    """A copy of the small development, and the audit of it."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "proofs"
        self.build = folder / "build"
        self.results = folder / "results"
        self.said = ""

    def write(self, file: str, text: str) -> None:
        path = self.source / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def audit(self, *, accept: bool = False, stem: str = "") -> bool:
        console = Console(record=True, quiet=False, width=400)
        ok = audit.run(self.source, self.build, self.results, stem=stem, jobs=1, accept=accept, console=console)
        self.said = console.export_text()
        return ok


def write_small(small: Development) -> Development:
    small.write("_CoqProject", PROJECT)
    small.write(REQUIRED, REQUIRES)
    for file, text in FILES.items():
        small.write(f"small/{file}.v", text)
    return small


@pytest.fixture
def source(tmp_path: Path) -> Development:
    """The sources alone: nothing is compiled."""
    return write_small(Development(tmp_path))


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    small = write_small(Development(tmp_path_factory.mktemp("development")))
    assert small.audit(accept=True), small.said
    return small.source.parent


@pytest.fixture
def development(pristine: Path, tmp_path: Path) -> Development:
    shutil.copytree(pristine, tmp_path / "copy", copy_function=shutil.copy2)
    return Development(tmp_path / "copy")


def test_sound_development_passes(development: Development) -> None:
    assert development.audit(), development.said
    (result,) = results.load(development.results)
    assert (result.layer, result.stem, result.status) == ("proof", "small", "passed")
    item = result.items[0].model_dump()
    assert item["name"] == "Pgquern.small.Neutral.neutral"
    assert item["sentence"] == "Zero is neutral on the right."
    assert item["assumptions"] == "Closed under the global context"
    assert item["file"] == "proofs/small/Neutral.v"


def test_a_theorem_without_a_hash_is_not_accepted(development: Development) -> None:
    listed = development.source / REQUIRED
    before = listed.read_text()
    listed.write_text(before.replace(pinned(development.source)["Pgquern.small.Neutral.neutral"], ""))
    assert not development.audit()
    assert NOT_NEUTRAL in development.said
    assert development.audit(accept=True), development.said
    assert listed.read_text() == before


def test_a_definition_in_a_module_of_a_file_is_pinned(development: Development) -> None:
    """Also if the module has the name of one of Coq's."""
    inside = "Module List.\nDefinition three := 3.\nEnd List.\nDefinition limit := @at_most List.three."
    changed = DEFINED.replace("Definition limit := @at_most 3.", inside)
    development.write("small/Defined.v", changed)
    assert development.audit(accept=True), development.said
    development.write("small/Defined.v", changed.replace("three := 3", "three := 1 + 2"))
    assert not development.audit()
    assert NOT_BOUNDED in development.said


@pytest.mark.parametrize("stem", ["", "small"])
def test_what_is_printed_no_longer_must_leave_the_list(development: Development, stem: str) -> None:
    """Also where one stem alone is asked: no other stem may rest on its files."""
    listed = development.source / REQUIRED
    before = listed.read_text()
    listed.write_text(before + "small/Generated.v 0123\n")
    assert not development.audit(stem=stem)
    assert "lists small/Generated.v, which is claimed no longer" in development.said
    assert development.audit(stem=stem, accept=True), development.said
    assert listed.read_text() == before


def test_one_stem_is_accepted_alone(development: Development) -> None:
    """The hashes of others stay as they are."""
    listed = development.source / REQUIRED
    before = listed.read_text()
    development.write("small/Defined.v", DEFINED.replace("@at_most 3", "@at_most 3000"))
    assert development.audit(stem="absent", accept=True), development.said
    assert listed.read_text() == before
    assert development.audit(stem="small", accept=True), development.said
    assert listed.read_text() != before
    assert development.audit(), development.said


def test_a_folder_in_a_folder_is_asked_again_if_it_differs(development: Development) -> None:
    development.write("_CoqProject", (development.source / "_CoqProject").read_text() + "small/deep/More.v\n")
    development.write("small/deep/More.v", "Definition more := 1.\n")
    assert development.audit(), development.said
    before = (development.build / "audit" / "reach.json").read_text()
    development.write("small/deep/More.v", "Definition more := 2.\n")
    assert development.audit(), development.said
    assert (development.build / "audit" / "reach.json").read_text() != before


def test_coqchk_is_asked_again_only_if_a_compiled_file_differs(
    development: Development, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    judge = coq.complaints_of

    def ask(said: str) -> list[str]:
        asked.append(said)
        return judge(said)

    monkeypatch.setattr(coq, "complaints_of", ask)
    assert development.audit(), development.said
    assert asked == []
    development.write("small/Neutral.v", SMALL + "Definition more := 1.\n")
    assert development.audit(), development.said
    assert len(asked) == 1


NOT_NEUTRAL = "Neutral.neutral is not what required-theorems.txt has"
NOT_BOUNDED = "Bounded.bounded is not what required-theorems.txt has"
SENTENCE = "(** Zero is neutral on the right. *)\n"
IN_NEUTRAL = "Zero is neutral on the right."
REALISES = """(* SPDX-License-Identifier: PostgreSQL *)
From Coq Require Import Extraction ZArith.
From Pgquern.small Require Import Defined.
Extract Constant Z.of_nat => "fun n -> n".
"""

# ---- what the text shows

TextCheat = Callable[[Development], None]


def neutral(old: str, new: str) -> TextCheat:
    """Neutral.v with other words."""
    return lambda d: d.write("small/Neutral.v", SMALL.replace(old, new, 1))


def more(words: str) -> TextCheat:
    """Neutral.v with words behind it."""
    return lambda d: d.write("small/Neutral.v", f"{SMALL}{words}\n")


def defined(old: str, new: str) -> TextCheat:
    return lambda d: d.write("small/Defined.v", DEFINED.replace(old, new, 1))


def theorem_in_a_comment(d: Development) -> None:
    d.write("small/Neutral.v", SMALL.replace("Theorem", "(* Theorem").replace("Qed.", "Qed. *)"))


def type_in_type(d: Development) -> None:
    project = (d.source / "_CoqProject").read_text()
    d.write("_CoqProject", project.replace("Pgquern\n", "Pgquern\n-arg -type-in-type\n"))


def realised(words: str) -> TextCheat:
    """A source that says what OCaml realises, with more in it."""

    def cheat(d: Development) -> None:
        d.write("_CoqProject", (d.source / "_CoqProject").read_text() + "oracle/ExtractSmall.v\n")
        d.write("oracle/ExtractSmall.v", REALISES + words)

    return cheat


def seen(d: Development) -> str:
    """What the audit says of the text, without Coq."""
    found = Audit()
    check_sources(d.source, found)
    check_statements(d.source, required(d.source), found)
    return "\n".join(text for _, text in found.problems)


@pytest.mark.parametrize(
    ("cheat", "says"),
    [
        (neutral("unfold base, start. induction n; simpl in *; congruence. Qed.", "Admitted."), "Admitted: prove it"),
        (more("Axiom cheat : False."), "Axiom: prove it"),
        (neutral("neutral :", "neutral_ :"), "required theorem neutral is missing"),
        (theorem_in_a_comment, "required theorem neutral is missing"),
        (neutral(SENTENCE, ""), "has no (** sentence *) directly over it"),
        (neutral(SENTENCE, "(** ** Zero on the right *)\n"), "has no (** sentence *) directly over it"),
        (neutral(SENTENCE, "(**  *)\n"), "has no (** sentence *) directly over it"),
        (neutral(IN_NEUTRAL, "Zero on the right"), "over neutral stands no sentence: Zero on the right"),
        (neutral(IN_NEUTRAL, "Neutral."), "Neutral.v: over neutral stands no sentence: Neutral."),
        (
            neutral(IN_NEUTRAL, "What the limit lets  through\n it lets through again."),
            "Bounded.v: let_through has the sentence of neutral",
        ),
        (lambda d: d.write("small/Other.v", SMALL), "small/Other.v is not in _CoqProject"),
        (
            lambda d: (d.source / "small/Neutral.v").unlink(),
            "small/Neutral.v is in _CoqProject but does not exist",
        ),
        (more("Unset Guard Checking."), "Neutral.v:6: Unset Guard Checking: prove it"),
        (more("Local Unset (* quietly *)\n  Guard Checking."), "Neutral.v:6: Unset Guard Checking: prove it"),
        (defined("Inductive", "CoInductive"), "Defined.v:5: CoInductive: prove it"),
        (defined("Definition limit", "Global Opaque start.\nDefinition limit"), "Defined.v:4: Opaque: prove it"),
        (
            lambda d: d.write(REQUIRED, "Pgquern.small.Neutral.neutral\n"),
            "small/Witness.v: no required theorem",
        ),
        (type_in_type, "_CoqProject: -arg -type-in-type"),
        (
            realised('Extract  Inlined Constant base => "fun _ -> 0".\n'),
            "Extract Constant base: OCaml may not realise it",
        ),
        (
            realised('Extract Inductive shade => "bool" ["true" "false"].\n'),
            "Extract Inductive shade: OCaml may not realise it",
        ),
        (
            more('Extract Constant Z.of_nat => "fun n -> n + 1".'),
            "small/Neutral.v: Extract Constant Z.of_nat: OCaml may not realise it",
        ),
    ],
)
def test_a_cheat_is_seen_in_the_text(source: Development, cheat: TextCheat, says: str) -> None:
    assert seen(source) == ""
    cheat(source)
    assert says in seen(source)


def test_what_the_text_shows_and_what_coq_rejects_fails_the_audit(development: Development) -> None:
    neutral("congruence. Qed.", "idtac. Qed. Axiom cheat : False.")(development)
    assert not development.audit()
    assert "Axiom: prove it" in development.said
    assert "Coq rejects the development" in development.said


# ---- what Coq shows

# Coq 8.20 warns of it, so that the build would stop before the audit.
VARIABLE = 'Set Warnings "-declaration-outside-section". Variable cheat : False.\n'
WITNESSED = "exists n : nat, base light < n /\\ exists m : nat, n < m /\\ limit m = m"
BY = "exists 1. split; [|exists 2; split]; see."
LEMMA = f"Lemma bounded_witness : {WITNESSED}.\nProof. {BY} Qed."
NOT_MET = "Witness.bounded_witness does not show that the premises of Pgquern.small.Bounded.bounded can be met together"
NO_WITNESS = NOT_MET.replace("does not show", "is not there to show")


def witness(statement: str, proof: str = BY) -> dict[str, str]:
    """Another witness of the first theorem of Bounded.v."""
    return {LEMMA: f"Lemma bounded_witness : {statement}.\nProof. {proof} Qed."}


APART = "(exists n : nat, base light < n) /\\ (exists n m : nat, n < m) /\\ (exists m : nat, limit m = m)"
CHEATS: dict[str, tuple[dict[str, str], str]] = {
    # A Variable outside a section is an axiom, but no word in the source shows it.
    "axiom": (
        {"(** Zero": f"{VARIABLE}(** Zero", "induction n;": "destruct cheat;"},
        "Neutral.neutral rests on assumptions",
    ),
    # No required theorem rests on it: only coqchk sees it.
    "unused": ({"(** Zero": f"{VARIABLE}(** Zero"}, "small.Neutral.cheat"),
    "assumed": ({"Lemma bounded": f"{VARIABLE}Lemma bounded", BY: "destruct cheat."}, "small.Witness.cheat"),
    "weaker": ({"n + base light = n.": "n + base light = n + 0."}, NOT_NEUTRAL),
    "sentence": ({"on the right": "on the left"}, NOT_NEUTRAL),
    # The statement reads as before, and the proof goes through.
    "definition": ({"light => start": "light => 0"}, NOT_NEUTRAL),
    "behind": ({"start := 0": "start := 1 - 1"}, NOT_NEUTRAL),
    "constructor": ({"dark (n : nat)": "dark (n : nat) | grey", " end": " | grey => 1 end"}, NOT_NEUTRAL),
    # The statement and each definition print as before: what differs is an argument that is never printed.
    "instance": ({"limit := @at_most 3": "limit := @at_most 3000"}, NOT_BOUNDED),
    "gone": ({"bounded_witness": "bounded_"}, NO_WITNESS),
    "comment": ({LEMMA: f"(* {LEMMA} *)"}, NO_WITNESS),
    "last": (witness(WITNESSED.removesuffix(" /\\ limit m = m"), "exists 1. split; [|exists 2]; see."), NOT_MET),
    "first": (witness("exists n m : nat, n < m /\\ limit m = m", "exists 1, 2. split; see."), NOT_MET),
    "another": (witness("exists n : nat, limit n = n", "now exists 2."), NOT_MET),
    "premise": (witness(WITNESSED.replace("base light < n", "base light <= n")), NOT_MET),
    # Each of them can be met; that says nothing of all together.
    "apart": (witness(APART, "split; [exists 1|split; [exists 1, 2|exists 2]]; see."), NOT_MET),
    "under": (witness(f"3 < 2 -> {WITNESSED}", f"intros _. {BY}"), NOT_MET),
}
OWN = r"\b(start|at_most|limit|shade|light|dark|grey|base|neutral|bounded|let_through|some|cheat)(?=_witness\b|_\b|\b)"


def of(name: str, text: str) -> str:
    """A text about the copy of this name: its own definitions and theorems, and sentences of its own."""
    return re.sub(r"\.( \*\))", rf" ({name}).\1", re.sub(OWN, rf"\1_{name}", text))


def write_copies(d: Development, changes: Mapping[str, Mapping[str, str]]) -> None:
    """The small theory once for each cheat, in the same four files. changes: by cheat, what its copy has instead."""
    for file, text in FILES.items():
        head, body = re.split(r"(?=\n(?:Definition|Ltac|\(\*\*))", text, maxsplit=1)
        body, ltac = body.replace(SEE, ""), SEE if SEE in body else ""
        written = [head, ltac]
        for name, changed in changes.items():
            copy = body
            for old, new in changed.items():
                copy = copy.replace(old, new)
            written.append(of(name, copy))
        d.write(f"small/{file}.v", "\n".join(written))


@pytest.fixture(scope="module")
def cheated(tmp_path_factory: pytest.TempPathFactory) -> Development:
    """The audit of a development that was accepted, and in which each copy then cheats in its own way."""
    d = Development(tmp_path_factory.mktemp("cheated"))
    d.write("_CoqProject", PROJECT + "oracle/ExtractSmall.v\n")
    d.write("oracle/ExtractSmall.v", REALISES)
    names = [name for name in REQUIRES.split() if name.startswith("Pgquern.")]
    d.write(REQUIRED, "\n".join(of(cheat, name) for cheat in CHEATS for name in names) + "\n")
    write_copies(d, {cheat: {} for cheat in CHEATS})
    assert d.audit(accept=True), d.said
    assert "OCaml realises 1 functions" in d.said
    write_copies(d, {name: changed for name, (changed, _) in CHEATS.items()})
    d.write("oracle/ExtractSmall.v", REALISES.replace("fun n -> n", "fun n -> n + 1"))
    assert not d.audit()
    return d


@pytest.mark.parametrize("cheat", CHEATS)
def test_coq_shows_a_cheat(cheated: Development, cheat: str) -> None:
    changed, says = CHEATS[cheat]
    assert all(any(old in text for text in FILES.values()) for old in changed)
    axioms = re.findall(r"coqchk: Axioms: (.*)", cheated.said)
    assert of(cheat, says) in (axioms[0] if says.endswith(".cheat") else cheated.said)


def test_a_number_that_is_realised_in_another_way_is_seen(cheated: Development) -> None:
    assert "oracle/ExtractSmall.v is not what required-theorems.txt has" in cheated.said


PRINTS = """(* SPDX-License-Identifier: PostgreSQL *)
From Coq Require Import String List.
Import ListNotations.
Local Open Scope string_scope.
Definition heading := "/* Printed from proofs/small/Generated.v by make. */ ".
Definition proved := heading ++ "int a;".
Definition unproved := heading ++ "int b;".
Definition printed : list (string * string) := [("csrc/small/a.h", proved); ("csrc/small/c.h", proved)].
(** What is printed of it is a declaration. *)
Theorem declares : proved = heading ++ "int a;".
Proof. reflexivity. Qed.
"""


PRINTED = printed.laid_out("a.h", "/* Printed from proofs/small/Generated.v by make. */ int a;")


def test_the_list_of_what_is_printed_is_pinned(development: Development) -> None:
    """Also where the C is what is printed then: another program, or a file less."""
    d = development
    d.write(REQUIRED, (d.source / REQUIRED).read_text() + "Pgquern.small.Generated.declares\n")
    d.write("_CoqProject", (d.source / "_CoqProject").read_text() + "small/Generated.v\n")
    for name in ("a.h", "c.h"):
        d.write(f"../csrc/small/{name}", PRINTED)
    d.write("small/Generated.v", PRINTS)
    assert d.audit(accept=True), d.said
    for old, new in (('; ("csrc/small/c.h", proved)', ""), ('a.h", proved)', 'a.h", unproved)')):
        assert PRINTS.count(old) == 1
        d.write("small/Generated.v", PRINTS.replace(old, new))
        d.write("../csrc/small/a.h", PRINTED.replace("a;", "b;") if "unproved" in new else PRINTED)
        assert not d.audit()
        assert "small/Generated.v is not what required-theorems.txt has" in d.said


def test_a_theorem_speaks_of_each_program_that_is_printed() -> None:
    """Directly or through a definition, of a value or of its type."""
    theorem = Theorem("Pgquern.S.Facts.right")
    listed = printed.list_of("S/Generated.v")
    terms = {
        theorem.qualified: "(eq Pgquern.S.Spec.meaning Pgquern.S.Spec.Made)",
        "Pgquern.S.Spec.meaning": "nat := (f Pgquern.S.Generated.proved)",
        "Pgquern.S.Spec.kind": "Set | Pgquern.S.Spec.Made : Pgquern.S.Spec.kind",
        "Pgquern.S.Generated.proved": "nat := 1",
        listed: "list := (cons Pgquern.S.Generated.proved nil)",
        "Pgquern.instructions.Print.text": "string",
    }
    found = Audit()
    printed.check_programs(terms, [theorem], [listed], found)
    assert not found.problems
    printed.check_programs(terms | {"Pgquern.S.Generated.unproved": "nat := 2"}, [theorem], [listed], found)
    assert [stem for stem, _ in found.problems] == ["S"]
    assert "Generated.printed prints of Pgquern.S.Generated.unproved, and no required theorem" in found.problems[0][1]


def test_a_file_that_says_that_it_is_printed_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could be changed by hand otherwise."""
    monkeypatch.setattr(printed, "printed", lambda build, file: {"csrc/S/a.h": "int a;\n"})
    (tmp_path / "csrc" / "S").mkdir(parents=True)
    (tmp_path / "csrc" / "S" / "a.h").write_text("int a;\n")
    (tmp_path / "csrc" / "S" / "c.h").write_text("/* Printed from proofs/S/Generated.v by `make generate`. */\n")
    found = Audit()
    printed.check_printed(tmp_path, tmp_path, ["S/Generated.v"], found, accept=False)
    assert [text for _, text in found.problems] == [
        "csrc/S/c.h says that proofs/S/Generated.v prints it, and that does not"
    ]


@pytest.mark.parametrize("later", [-1.0, 10.0], ids=["newer than its source", "from the future"])
def test_a_compiled_file_of_another_source_is_compiled_again(development: Development, later: float) -> None:
    """Whatever the clocks of the two files say: make compares these alone."""
    files = listed_sources(development.source)
    neutral("n + base light = n.", "n + base light = n + 0.")(development)
    shutil.copyfile(development.source / "small" / "Neutral.v", development.build / "small" / "Neutral.v")
    now = time.time()
    os.utime(development.build / "small" / "Neutral.v", (now - 20, now - 20))
    os.utime(development.build / "small" / "Neutral.vo", (now + later, now + later))
    assert not coq.is_compiled(development.source, development.build, files)
    assert not development.audit()
    assert NOT_NEUTRAL in development.said


# ---- witnesses of premises

PROVE = """Ltac prove := first
  [ solve [firstorder lia]
  | intros; try apply List.Forall_forall;
    repeat match goal with x : _ * _ |- _ => destruct x | b : bool |- _ => destruct b
                         | n : nat |- exists _ : nat, _ => exists (S n) end; firstorder lia ].
"""
# Of each the proof of its witness; "": it needs none.
MEANINGFUL = {
    "forall n : nat, 0 < n -> forall m : nat, n = m -> 0 < m": "exists 1. split; [see|]. now exists 1.",
    "forall n : nat, 0 < n -> ~ n < 0": "exists 1. see.",
    "forall n : nat, 0 < n -> n < 0 -> False": "exists 1. see.",
    "forall n (h : 0 < n) (k : h = h), n = n": "exists 1, (le_n 1). reflexivity.",
    "forall (t : Type) (x : t) (p : t -> Prop), p x -> p x": "now exists nat, 1, (fun _ => True).",
    "forall n : nat, let m := S n in m = 3 -> n = 2": "now exists 2.",
    "forall n : nat, 0 < n -> (n < 3 -> 0 < n) /\\ (5 < n -> 1 < n)": "split; [exists 1 | exists 6]; see.",
    "forall n : nat, exists m : nat, n <= m /\\ (m = n -> m <= n)": "exists 1, 1. see.",
    "forall l : list nat, List.Forall (fun n => 5 < n -> n <> 0) l": "exists (cons 6 nil), 6. split; [now left|see].",
    "forall b : bool, if b then b = true else b = false": "split; [now exists true | now exists false].",
    "forall n : nat, n < 0 <-> n = 5 /\\ n < 0": "now exists 0.",
    "forall (n : nat) (l : list nat) (f : nat -> bool), (n, l, f) = (n, l, f)": "",
    "forall o : option Empty_set, o = o": "",
    "1 = 1": "",
}
# Of each what the audit asks for, and nobody can show. A definition hides the premise, or a type has no value.
EMPTY = {
    "forall n : nat, n < 0 -> n = 7": "(exists n : nat, (n < 0)%nat)",
    "forall n : nat, low n": "(exists n : nat, (n < 0)%nat)",
    "forall n : Empty_set, n = n": "(exists _ : Empty_set, True)",
    "forall n : {n : nat | n < 0}, n = n": "(exists _ : {n : nat | (n < 0)%nat}, True)",
    "forall (n : nat) (h : n < 0), h = h": "(exists n : nat, (n < 0)%nat)",
    "forall n : nat, let m := n in m < 0 -> n = 7": "(exists n : nat, (n < 0)%nat)",
    "forall n : nat, n = n /\\ (n < 0 -> n = 7)": "(exists n : nat, (n < 0)%nat)",
    "forall n : nat, exists m : nat, n < m /\\ (n < 0 -> m = 7)": "(exists n H : nat, (n < H)%nat /\\ (n < 0)%nat)",
    "forall (b : bool) (n : nat), if b then n < 0 -> n = 7 else n = n": (
        "((exists (b : bool) (n : nat), b = true /\\ (n < 0)%nat) /\\ (exists (b : bool) (_ : nat), b = false))"
    ),
    "forall p : nat * nat, let (a, b) := p in a < 0 -> b = 7": "(exists p : nat * nat, (fst p < 0)%nat)",
    "List.Forall (fun n => n = 7) (@nil nat)": "(exists e : nat, In e nil)",
}


@pytest.fixture(scope="module")
def premises(tmp_path_factory: pytest.TempPathFactory) -> Development:
    """The audit of all these theorems together."""
    d = Development(tmp_path_factory.mktemp("premises"))
    statements = [*MEANINGFUL, *EMPTY]
    d.write(REQUIRED, REQUIRES + "".join(f"Pgquern.small.Bounded.more{n}\n" for n in range(len(statements))))
    d.write("_CoqProject", PROJECT.replace("small/Defined", "common/Premises.v\ncommon/Parts.v\nsmall/Defined"))
    for file, text in FILES.items():
        d.write(f"small/{file}.v", text)
    theorems = [
        f"(** One more theorem is here, number {n}. *)\nTheorem more{n} : {statement}.\nProof. prove. Qed.\n"
        for n, statement in enumerate(statements)
    ]
    low = "From Coq Require Import Lia.\nDefinition low (n : nat) := n < 0 -> n = 5.\n"
    d.write("small/Bounded.v", BOUNDED + low + PROVE + "".join(theorems))
    d.write("common/Premises.v", coq.PREMISES.read_text())
    d.write("common/Parts.v", coq.PARTS.read_text())
    imports = "From Pgquern.common Require Import Parts.\nFrom Pgquern.small Require Import Bounded.\n"
    witnesses = [
        f"Lemma more{n}_witness : inner_premises_of more{n}.\nProof. {proof} Qed.\n"
        for n, proof in enumerate(MEANINGFUL.values())
        if proof
    ]
    d.write("small/Witness.v", WITNESS.replace("(** There", imports + "(** There") + "".join(witnesses))
    assert not d.audit(accept=True)
    return d


def test_premises_of_is_what_the_audit_asks_for(premises: Development) -> None:
    """And what has values needs no witness."""
    asked = {int(n) for n in re.findall(r"Bounded\.more(\d+) can be met together", premises.said)}
    assert asked == set(range(len(MEANINGFUL), len(MEANINGFUL) + len(EMPTY)))
    assert premises.said.count("PROBLEM") == len(EMPTY)


@pytest.mark.parametrize("statement", EMPTY)
def test_a_theorem_that_says_nothing_has_no_witness(premises: Development, statement: str) -> None:
    number = len(MEANINGFUL) + list(EMPTY).index(statement)
    assert f"Pgquern.small.Bounded.more{number} can be met together:\n{EMPTY[statement]}" in premises.said


# ---- the text


@pytest.mark.parametrize(
    "cheat",
    [
        "Unset Guard Checking.",
        "Unset\nGuard\n  Checking.",
        "Global Unset Positivity (* no *) Checking.",
        "Export\nUnset Universe Checking.",
        "#[local] Set Guard Checking.",
        "#[bypass_check(guard)] Fixpoint f (n : nat) := f n.",
        "#[ bypass_check ( guard = yes ) ]\nFixpoint f (n : nat) := f n.",
        "#[bypass_check(universes, positivity)] Inductive t := .",
        "Admit\nObligations.",
        "Next Obligation. Admitted.",
        "Proof. admit. Defined.",
        'Load "elsewhere".',
        'Declare ML\nModule "plugin".',
        "Goal True. native_compute. Abort.",
    ],
)
def test_cheats_are_seen_however_they_are_laid_out(cheat: str) -> None:
    assert FORBIDDEN.search(strip_comments(f"Definition x := 1.\n{cheat}\n")), cheat


@pytest.mark.parametrize(
    "honest",
    [
        "(* Unset Guard Checking. *) Definition x := 1.",
        '(* a string "*)" in a comment: Admitted. *) Definition x := 1.',
        'Definition x := "Admitted"%string.',
        "Definition loaded := load.",
        "Set Implicit Arguments.",
        "Definition administer := 1.",
    ],
)
def test_honest_sources_are_let_through(honest: str) -> None:
    assert FORBIDDEN.search(strip_comments(honest)) is None


def test_a_printed_file_that_was_changed_by_hand_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printed, "printed", lambda build, file: {"a.h": "int a;\n"})
    for before in (None, "int a; \n"):
        if before is not None:
            (tmp_path / "a.h").write_text(before)
        found = Audit()
        printed.check_printed(tmp_path, tmp_path, ["S/Generated.v", "S/Spec.v"], found, accept=False)
        assert [stem for stem, _ in found.problems] == ["S"]
        assert "a.h is not what proofs/S/Generated.v prints" in found.problems[0][1]
    printed.check_printed(tmp_path, tmp_path, ["S/Generated.v"], Audit(), accept=True)
    found = Audit()
    printed.check_printed(tmp_path, tmp_path, ["S/Generated.v"], found, accept=False)
    assert not found.problems
