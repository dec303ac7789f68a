# SPDX-License-Identifier: PostgreSQL
"""The bounded proofs of C: what is listed fits the sources, and each claim has a change of C that breaks it."""

import re
from pathlib import Path

import pytest

from proofs.bounded import __main__ as bounded
from proofs.bounded import cbmc, listing
from proofs.bounded.cbmc import Checked
from proofs.bounded.listing import Proof
from tools.common.matrix import with_cell
from tools.common.mutants import Mutant, MutantError

STEMS = with_cell(bounded.LISTING)
CLAIM = re.compile(r'claim\((?:[^;]*?),\s*"([^"]+)"\s*\);', re.DOTALL)
MUTANT = Mutant(name="m", file="f.c", old="a", new="b", killed_by="claim: it holds")
PROOF = Proof(name="p", says="It holds.", harness="h.c", unwind=1)


def proofs(stem: str) -> list[Proof]:
    return listing.load(Path(bounded.LISTING.format(stem=stem)))


@pytest.mark.parametrize("stem", STEMS)
def test_each_change_fits_the_sources(stem: str) -> None:
    for proof in proofs(stem):
        for mutant in (None, *proof.mutant):
            csrc = bounded.sources(bounded.Attempt(stem, proof, mutant))
            assert all((csrc / source).exists() for source in proof.source)


@pytest.mark.parametrize("stem", STEMS)
def test_each_claim_of_a_harness_is_broken_by_a_change(stem: str) -> None:
    folder = Path("proofs", stem, "bounded")
    for harness in folder.glob("*.c"):
        claims = CLAIM.findall(harness.read_text())
        assert len(claims) == harness.read_text().count(" claim(")
        broken = [m.killed_by for p in proofs(stem) if p.harness == harness.name for m in p.mutant]
        for said in claims:
            assert any(b != cbmc.CLAIM and (cbmc.CLAIM + said).startswith(b) for b in broken), (harness, said)
    assert {p.harness for p in proofs(stem)} == {harness.name for harness in folder.glob("*.c")}


@pytest.mark.parametrize(
    ("mutant", "checked", "reason"),
    [
        (None, Checked(5, 1, []), ""),
        (None, Checked(5, 1, ["claim: it holds"]), "refuted: claim: it holds"),
        (None, Checked(5, 0, []), "it claims nothing"),
        (MUTANT, Checked(5, 1, ["claim: it holds always"]), ""),
        (MUTANT, Checked(5, 1, []), "SURVIVES: no check fails"),
        (MUTANT, Checked(5, 1, ["array bounds"]), "refuted by array bounds, not by 'claim: it holds'"),
    ],
)
def test_judgement(mutant: Mutant | None, checked: Checked, reason: str) -> None:
    assert bounded.judge(bounded.Attempt("s", PROOF, mutant), checked) == reason


def script(folder: Path, text: str) -> str:
    path = folder / "cbmc"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("says", "error", "words"),
    [
        ("echo '5.12 (cbmc-5.12)'", cbmc.ToolMissingError, "6 or newer is needed"),
        ("echo nothing", cbmc.ToolBrokenError, "says 'nothing'"),
        (None, cbmc.ToolBrokenError, "is no program"),
    ],
)
def test_a_tool_that_cannot_be_used_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str | None, error: type[Exception], words: str
) -> None:
    monkeypatch.setenv("CBMC", script(tmp_path, says) if says else str(tmp_path / "none"))
    cbmc.find.cache_clear()
    with pytest.raises(error, match=words):
        cbmc.find()
    cbmc.find.cache_clear()


def test_without_cbmc_all_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CBMC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    cbmc.find.cache_clear()
    with pytest.raises(cbmc.ToolMissingError, match="no CBMC: put cbmc"):
        cbmc.find()
    cbmc.find.cache_clear()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("echo no json; exit 6", "ended with 6: no json"),
        (
            """echo '[{"messageType": "ERROR", "messageText": "PARSING ERROR"}]'; exit 6""",
            "ended with 6: PARSING ERROR",
        ),
        ("while :; do :; done", "came to no end in 1 s of CPU; lower the bound"),
    ],
)
def test_a_run_without_a_verdict_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, words: str
) -> None:
    answer = f"case $1 in --version) echo 6.6.0 ;; *) {said} ;; esac"
    monkeypatch.setenv("CBMC", script(tmp_path, answer))
    monkeypatch.setattr(cbmc, "CPU_SECONDS", 1)
    cbmc.find.cache_clear()
    with pytest.raises(cbmc.ToolBrokenError, match=words):
        cbmc.check([Path("h.c")], [], [], 1)
    cbmc.find.cache_clear()


def test_a_name_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    entry = '[[proof]]\nname = "p"\nsays = "s"\nharness = "h.c"\nunwind = 1\n'
    (tmp_path / "bounded.toml").write_text(2 * entry)
    with pytest.raises(MutantError, match="occur twice: p"):
        listing.load(tmp_path / "bounded.toml")


def test_a_false_claim_is_refuted_by_the_tool_itself(tmp_path: Path) -> None:
    try:
        cbmc.find()
    except cbmc.ToolMissingError as error:
        pytest.skip(str(error))
    (tmp_path / "h.c").write_text(
        '#include "bounded.h"\nvoid proof(void)\n{\n    uint32_t x = nondet_u32();\n\n'
        '    assume(x < 9);\n    claim(x < 9, "small");\n    claim(x < 8, "smaller");\n}\n'
    )
    found = cbmc.check([tmp_path / "h.c"], [Path("proofs/bounded")], [], 1)
    assert (found.claims, found.failed) == (2, ["claim: smaller"])
