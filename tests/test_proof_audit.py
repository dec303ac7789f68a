# SPDX-License-Identifier: PostgreSQL
"""The proof audit is itself tested: it accepts a sound little development and fails on each way to cheat.

One development is built once and copied, so that each case recompiles one small file (about 1 s a case).
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from rich.console import Console

if shutil.which("coq_makefile") is None:
    pytest.skip("Coq is not installed: make setup", allow_module_level=True)

ROOT = Path(__file__).resolve().parent.parent

SMALL = """(* SPDX-License-Identifier: PostgreSQL *)
(** Zero is neutral on the right. *)
Theorem neutral : forall n : nat, n + 0 = n.
Proof. induction n; simpl; congruence. Qed.
"""


def load_audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("proof_audit", ROOT / "proofs" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


AUDIT = load_audit()


class Development:
    """A copy of the small development, and the audit of it."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "proofs"
        self.build = folder / "build"
        self.results = folder / "proof.json"
        self.said = ""

    def write(self, file: str, text: str) -> None:
        path = self.source / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def audit(self, *, accept: bool = False, stem: str = "") -> bool:
        console = Console(record=True, quiet=False, width=400)
        ok = AUDIT.run(self.source, self.build, self.results, stem=stem, jobs=1, accept=accept, console=console)
        self.said = console.export_text()
        return bool(ok)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("development")
    small = Development(folder)
    small.write("_CoqProject", "-Q . Pgquern\nsmall/Neutral.v\n")
    small.write("required-theorems.txt", "# what must be proved\nPgquern.small.Neutral.neutral\n")
    small.write("small/Neutral.v", SMALL)
    small.write("README.md", "# Proofs\n<!-- theorems -->\n<!-- /theorems -->\n")
    assert small.audit(accept=True), small.said
    return folder


@pytest.fixture
def development(pristine: Path, tmp_path: Path) -> Development:
    shutil.copytree(pristine, tmp_path / "copy", copy_function=shutil.copy2)
    return Development(tmp_path / "copy")


def test_sound_development_passes(development: Development) -> None:
    assert development.audit(), development.said
    result = json.loads(development.results.read_text())
    assert result["layer"] == "proof"
    assert result["stems"]["small"]["passed"] == 1
    (item,) = result["items"]
    assert item["status"] == "passed"
    assert item["sentence"] == "Zero is neutral on the right."
    assert item["assumptions"] == "Closed under the global context"
    assert item["file"] == "proofs/small/Neutral.v"


def admitted(d: Development) -> None:
    d.write("small/Neutral.v", SMALL.replace("induction n; simpl; congruence. Qed.", "Admitted."))


def axiom(d: Development) -> None:
    d.write("small/Neutral.v", SMALL + "Axiom cheat : False.\n")


def axiom_without_the_word(d: Development) -> None:
    """A Variable outside a section is an axiom; no word in the source tells."""
    cheat = "Variable cheat : False.\n"
    d.write("small/Neutral.v", SMALL.replace("(** Zero", cheat + "(** Zero").replace("induction n;", "destruct cheat;"))


def unused_axiom_without_the_word(d: Development) -> None:
    """No required theorem rests on it: only coqchk sees it."""
    d.write("small/Neutral.v", SMALL + "Variable cheat : False.\n")


def missing_theorem(d: Development) -> None:
    d.write("small/Neutral.v", SMALL.replace("neutral :", "neutral_ :"))


def theorem_in_a_comment(d: Development) -> None:
    d.write("small/Neutral.v", SMALL.replace("Theorem", "(* Theorem").replace("Qed.", "Qed. *)"))


def no_sentence(d: Development) -> None:
    d.write("small/Neutral.v", SMALL.replace("(** Zero is neutral on the right. *)\n", ""))


def weaker_statement(d: Development) -> None:
    d.write("small/Neutral.v", SMALL.replace("n + 0 = n.", "n + 0 = n + 0.").replace("induction", "now induction"))


def unlisted_file(d: Development) -> None:
    d.write("small/Other.v", SMALL)


def listed_file_is_gone(d: Development) -> None:
    (d.source / "small" / "Neutral.v").unlink()


def broken_proof(d: Development) -> None:
    d.write("small/Neutral.v", SMALL.replace("congruence", "idtac"))


def another_sentence(d: Development) -> None:
    d.write("small/Neutral.v", SMALL.replace("on the right", "on the left"))


def guard_checking_off(d: Development) -> None:
    d.write("small/Neutral.v", SMALL + "Unset Guard Checking.\n")


@pytest.mark.parametrize(
    ("cheat", "says"),
    [
        (admitted, "Admitted: prove it"),
        (axiom, "Axiom: prove it"),
        (axiom_without_the_word, "rests on assumptions"),
        (unused_axiom_without_the_word, "coqchk: Axioms"),
        (missing_theorem, "required theorem neutral is missing"),
        (theorem_in_a_comment, "required theorem neutral is missing"),
        (no_sentence, "has no (** sentence *) directly over it"),
        (weaker_statement, "differ from Assumptions.expected"),
        (unlisted_file, "small/Other.v is not in _CoqProject"),
        (listed_file_is_gone, "small/Neutral.v is in _CoqProject but does not exist"),
        (broken_proof, "Coq rejects the development"),
        (another_sentence, "README.md's table of theorems is not what the sources say"),
        (guard_checking_off, "Unset Guard Checking: prove it"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_cheat_is_caught(development: Development, cheat: Callable[[Development], None], says: str) -> None:
    cheat(development)
    assert not development.audit()
    assert says in development.said


def test_stem_narrows(development: Development) -> None:
    assert development.audit(stem="small"), development.said
    assert development.audit(stem="absent"), development.said
    assert "0/0 required theorems" in development.said
