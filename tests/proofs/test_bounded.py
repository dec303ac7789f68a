# SPDX-License-Identifier: PostgreSQL
"""The bounded proofs of C: each claim has a change of C that breaks it, and what CBMC says is read right."""

import re
from pathlib import Path

import pytest

from proofs.bounded import cbmc
from proofs.bounded.__main__ import Bounded
from proofs.bounded.listing import Proof
from proofs.ctext.listing import load
from proofs.ctext.outcome import ToolBrokenError, ToolMissingError
from tools.common.matrix import with_cell

STEMS = with_cell(Bounded.listing)
CLAIM = re.compile(r'claim\((?:[^;]*?),\s*"([^"]+)"\s*\);', re.DOTALL)


def proofs(stem: str) -> list[Proof]:
    return load(Path(Bounded.listing.format(stem=stem)), Proof)


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


@pytest.mark.parametrize("stem", STEMS)
def test_what_only_arm_has_is_read_as_its_c(stem: str) -> None:
    for proof in proofs(stem):
        harness = Path("proofs", stem, "bounded", proof.harness).read_text()
        named = [harness, *proof.source, *map(str, proof.define.values())]
        assert (proof.machine == "arm64") == any(re.search(r"neon\.[ch]\"", text + '"') for text in named), proof.name


def script(folder: Path, text: str) -> str:
    path = folder / "cbmc"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("says", "error", "words"),
    [
        ("echo '5.12 (cbmc-5.12)'", ToolMissingError, "6 or newer is needed"),
        ("echo nothing", ToolBrokenError, "says 'nothing'"),
        (None, ToolBrokenError, "is no program"),
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
    with pytest.raises(ToolMissingError, match="no CBMC: put cbmc"):
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
    with pytest.raises(ToolBrokenError, match=words):
        cbmc.check([Path("h.c")], [], [], 1)
    cbmc.find.cache_clear()


def test_a_false_claim_is_refuted_by_the_tool_itself(tmp_path: Path) -> None:
    try:
        cbmc.find()
    except ToolMissingError as error:
        pytest.skip(str(error))
    (tmp_path / "h.c").write_text(
        '#include "bounded.h"\nvoid proof(void)\n{\n    uint32_t x = nondet_u32();\n\n'
        '    assume(x < 9);\n    claim(x < 9, "small");\n    claim(x < 8, "smaller");\n}\n'
    )
    found = cbmc.check([tmp_path / "h.c"], [Path("proofs/bounded")], [], 1)
    assert (found.failed, found.fault) == (["claim: smaller"], "")
    (tmp_path / "h.c").write_text("void proof(void)\n{\n}\n")
    assert cbmc.check([tmp_path / "h.c"], [], [], 1).fault == "it claims nothing"
