# SPDX-License-Identifier: PostgreSQL
"""Proofs of C text, bounded or for every length: what is listed fits the sources, and how a run is judged."""

import zlib
from pathlib import Path

import pytest

from proofs.bounded.__main__ import Bounded
from proofs.contracts.__main__ import Contracts
from proofs.ctext import runner
from proofs.ctext.listing import Listed, load
from proofs.ctext.outcome import Checked, ToolBrokenError, ToolMissingError, UndecidedError
from proofs.ctext.runner import Attempt
from tools.common import results
from tools.common.matrix import with_cell
from tools.common.mutants import Mutant, MutantError

MUTANT = Mutant(name="m", file="f.c", old="a", new="b", killed_by="f_ensures")
PROOF = Listed(name="p", says="It holds.", mutant=[MUTANT])


@pytest.mark.parametrize(
    ("tool", "stem"), [(tool, stem) for tool in (Bounded(), Contracts()) for stem in with_cell(tool.listing)]
)
def test_each_change_fits_the_sources(tool: Bounded | Contracts, stem: str, tmp_path: Path) -> None:
    for proof in load(Path(tool.listing.format(stem=stem)), tool.kind):
        for mutant in (None, *proof.mutant):
            csrc = Attempt(stem, proof, mutant).sources(tmp_path)
            named = proof.model_dump()["source"]
            assert all((csrc / source).exists() for source in ([named] if isinstance(named, str) else named))


@pytest.mark.parametrize(
    ("mutant", "checked", "reason"),
    [
        (None, Checked(5, []), ""),
        (None, Checked(5, ["f_ensures"]), "not proved: f_ensures"),
        (None, Checked(5, [], "it claims nothing"), "it claims nothing"),
        (MUTANT, Checked(5, ["f_assigns", "f_ensures_count"]), ""),
        (MUTANT, Checked(5, []), "SURVIVES: all is proved"),
        (MUTANT, Checked(5, ["f_assigns"]), "stopped by f_assigns, not by 'f_ensures'"),
    ],
)
def test_judgement(mutant: Mutant | None, checked: Checked, reason: str) -> None:
    assert Attempt("s", PROOF, mutant).judge(checked) == reason


def test_names_occur_once(tmp_path: Path) -> None:
    (tmp_path / "list.toml").write_text(2 * '[[proof]]\nname = "p"\nsays = "It holds."\n')
    with pytest.raises(MutantError, match="occur twice: p"):
        load(tmp_path / "list.toml", Listed)


def test_a_sample_has_all_proofs_and_some_changes() -> None:
    changes = [MUTANT.model_copy(update={"name": f"change {n}"}) for n in range(100)]
    proof = PROOF.model_copy(update={"mutant": changes})
    names = [attempt.name for attempt in runner.attempts("s", [proof], only="", one_in=8)]
    assert names[0] == "p"
    assert names[1:] == [change.name for change in changes if zlib.crc32(change.name.encode()) % 8 == 0]
    assert 5 < len(names) < 30
    assert len(runner.attempts("s", [proof], only="", one_in=1)) == 101
    assert [attempt.name for attempt in runner.attempts("s", [proof], only="change 42", one_in=1)] == ["change 42"]


class Fake:
    """A tool that says what a test wants."""

    layer, kind, counts = "ctext", Listed, "goals"

    def __init__(self, listing: Path, of_proof: Checked | Exception, of_change: Checked | Exception) -> None:
        self.listing, self.of_proof, self.of_change = str(listing), of_proof, of_change

    def find(self) -> dict[str, str]:
        return {"fake": "1"}

    def check(self, stem: str, proof: Listed, csrc: Path, must_fail: str) -> Checked:
        assert must_fail in ("", MUTANT.killed_by)
        said = self.of_change if "kept_back" in (csrc / "pgquern.h").read_text() else self.of_proof
        if isinstance(said, Exception):
            raise said
        return said


GOOD, STOPPED = Checked(3, []), Checked(3, ["f_ensures"])
LIST = """
[[proof]]
name = "p"
says = "It holds."

[[proof.mutant]]
name = "m"
file = "pgquern.h"
old = "#ifndef PGQUERN_H"
new = "#ifndef kept_back"
killed_by = "f_ensures"
"""


@pytest.mark.parametrize(
    ("of_proof", "of_change", "status"),
    [
        (GOOD, STOPPED, ["passed", "passed"]),
        (STOPPED, STOPPED, ["failed", "passed"]),
        (GOOD, GOOD, ["passed", "failed"]),
        (ToolBrokenError("it is broken"), STOPPED, ["failed", "passed"]),
        (GOOD, UndecidedError("not decided"), ["passed", "skipped"]),
    ],
)
def test_a_run_ends_as_its_attempts_do(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    of_proof: Checked | Exception,
    of_change: Checked | Exception,
    status: list[str],
) -> None:
    (tmp_path / "list.toml").write_text(LIST)
    written: list[dict[str, object]] = []
    monkeypatch.setattr(results, "write", lambda layer, stem, items, **more: written.extend(items))
    tool = Fake(tmp_path / "list.toml", of_proof, of_change)
    assert runner.prove(tool, "s", only="", one_in=1, jobs=1) == ("failed" not in status)
    assert [item["status"] for item in written] == status


def test_without_the_tool_all_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "list.toml").write_text(LIST)
    written: list[dict[str, object]] = []
    monkeypatch.setattr(results, "write", lambda layer, stem, items, **more: written.extend(items))
    tool = Fake(tmp_path / "list.toml", GOOD, STOPPED)

    def missing() -> dict[str, str]:
        raise ToolMissingError("no tool: install it")

    monkeypatch.setattr(tool, "find", missing)
    assert runner.prove(tool, "s", only="", one_in=1, jobs=1)
    assert [(item["status"], item["reason"]) for item in written] == [("skipped", "no tool: install it")] * 2
