# SPDX-License-Identifier: PostgreSQL
"""The bounded proofs of C: what CBMC says is read right, and each proof's broken line is in the C text."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from proofs.bounded import __main__ as bounded
from tools.common import results
from tools.common.matrix import with_cell

STEMS = with_cell(bounded.LISTING)


@pytest.mark.parametrize("stem", STEMS)
def test_each_proof_and_each_harness_has_its_other(stem: str) -> None:
    proofs = bounded.listed(stem)
    assert len({proof.name for proof in proofs}) == len(proofs)
    assert {proof.harness for proof in proofs} == {path.name for path in Path("proofs", stem, "bounded").glob("*.c")}
    for proof in proofs:
        assert Path("csrc", proof.broken.file).read_text().count(proof.broken.old) == 1, proof.name


def answers(folder: Path, monkeypatch: pytest.MonkeyPatch, version: str, run: str = "") -> None:
    """A CBMC of a test's: what it does when it is asked for its version, and to prove."""
    path = folder / "cbmc"
    path.write_text(f"#!/bin/sh\ncase $1 in --version) {version} ;; *) {run} ;; esac\n")
    path.chmod(0o755)
    monkeypatch.setenv("CBMC", str(path))


@pytest.mark.parametrize(
    ("version", "error", "words"),
    [
        ("echo '5.12 (cbmc-5.12)'", bounded.ToolMissingError, "6 or newer is needed"),
        ("echo nothing", bounded.ToolBrokenError, "says 'nothing'"),
    ],
)
def test_a_tool_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, error: type[Exception], words: str
) -> None:
    answers(tmp_path, monkeypatch, version)
    with pytest.raises(error, match=words):
        bounded.find()
    monkeypatch.setenv("CBMC", str(tmp_path / "none"))
    with pytest.raises(bounded.ToolBrokenError, match="is no program"):
        bounded.find()


def test_without_cbmc_all_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CBMC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    written: list[dict[str, object]] = []
    monkeypatch.setattr(results, "write", lambda layer, stem, items, **more: written.extend(items))
    run = CliRunner().invoke(bounded.main)
    assert run.exit_code == 0
    assert {item["status"] for item in written} == {"skipped"}
    assert all(str(item["reason"]).startswith("no CBMC: put cbmc") for item in written)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("echo no json; exit 6", "ended with 6: no json"),
        ("""echo '[{"messageType": "ERROR", "messageText": "PARSING ERROR"}]'; exit 6""", "with 6: PARSING ERROR"),
        ("while :; do :; done", "came to no end in 1 s of CPU; lower the bound"),
    ],
)
def test_a_run_without_a_verdict_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: str, words: str) -> None:
    answers(tmp_path, monkeypatch, "echo 6.6.0", run)
    monkeypatch.setattr(bounded, "CPU_SECONDS", 1)
    with pytest.raises(bounded.ToolBrokenError, match=words):
        bounded.check(bounded.find()[0], [Path("h.c")], [])
    monkeypatch.setattr(bounded, "WORK", tmp_path)
    item = bounded.prove(bounded.find()[0], STEMS[0], bounded.listed(STEMS[0])[0])
    assert item["status"] == "failed"
    assert words in str(item["reason"])


@pytest.mark.parametrize("broken_too", [False, True])
def test_a_proof_that_holds_of_a_broken_line_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken_too: bool
) -> None:
    monkeypatch.setattr(bounded, "WORK", tmp_path)
    says = """echo '[{"result": [{"description": "claim: it", "status": "%s"}]}]'"""
    of_broken = says % ("SUCCESS" if broken_too else "FAILURE")
    answers(
        tmp_path, monkeypatch, "echo 6.6.0", f'case "$*" in */broken*) {of_broken} ;; *) {says % "SUCCESS"} ;; esac'
    )
    item = bounded.prove(bounded.find()[0], STEMS[0], bounded.listed(STEMS[0])[0])
    assert item["status"] == ("failed" if broken_too else "passed"), item


def test_a_false_claim_is_refuted_by_the_tool_itself(tmp_path: Path) -> None:
    try:
        cbmc, _ = bounded.find()
    except bounded.ToolMissingError as error:
        pytest.skip(str(error))
    (tmp_path / "h.c").write_text(
        '#include "bounded.h"\nvoid proof(void)\n{\n    uint32_t x = nondet_u32();\n\n'
        '    assume(x < 9);\n    claim(x < 9, "small");\n    claim(x < 8, "smaller");\n}\n'
    )
    assert bounded.check(cbmc, [tmp_path / "h.c"], ["-Iproofs/bounded"])[1] == ["claim: smaller"]
    (tmp_path / "h.c").write_text("void proof(void)\n{\n}\n")
    assert bounded.check(cbmc, [tmp_path / "h.c"], [])[1] == ["it claims nothing"]
