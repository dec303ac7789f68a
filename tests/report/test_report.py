# SPDX-License-Identifier: PostgreSQL
"""The report: its table of the changes made by a machine says what was not run, and it shows the findings."""

import re
from pathlib import Path
from typing import Any

import pytest

from tools.common import results
from tools.common.matrix import GROUND
from tools.common.results import Result
from tools.report import __main__ as report
from tools.report import changes, matrix
from tools.report.changes import Line


def item(verdict: str, status: str = "passed") -> dict[str, Any]:
    return {"name": f"{verdict} {status}", "status": status, "verdict": verdict, "change": "", "why": "", "by": ""}


def written(folder: Path) -> list[Result]:
    """Results of one stem in all three layers, and of another one in the models only."""
    counts = {"made": 9, "refused": 1, "skipped": 0, "share": 50.0}
    lines = [
        {"layer": "C", "killed": 4, "with_reason": 1, "survived": 3, "equivalent": 2} | counts,
        {"layer": "oracle", "killed": 5, "with_reason": 0, "survived": 0, "equivalent": 1} | counts,
    ]
    model = [item("killed"), item("killed"), item("counts only"), item("survived"), item("counts only", "failed")]
    proof = [item("killed"), item("killed"), item("equivalent"), item("survived"), item("survived", "failed")]
    for layer, stem, items, more in (
        ("mutants-all", "one", [], {"table": lines}),
        ("model-mutants", "one", model, {}),
        ("model-mutants", "two", [item("killed"), item("killed", "failed")], {}),
        ("proof-changes", "one", proof, {"refuted": 1}),
    ):
        results.write(layer, stem, items, says="", tools={}, folder=folder, **more)
    return results.load(folder)


def test_each_layer_is_counted(tmp_path: Path) -> None:
    table = changes.table(written(tmp_path), ["one", "two", "three"])
    model = Line("model", killed=2, counts_only=1, reason=1, without=1)
    assert table["one"] == [
        Line("C", killed=4, reason=1, without=3, equivalent=2),
        Line("oracle", killed=5, equivalent=1),
        model,
        Line("Coq definitions", killed=2, refuted=1, reason=1, without=1, equivalent=1),
    ]
    assert (model.tried, model.share) == (5, 40.0)


def test_a_change_that_is_listed_and_killed_is_killed(tmp_path: Path) -> None:
    assert changes.table(written(tmp_path), ["two"])["two"][2] == Line("model", killed=2)


def test_a_survivor_that_is_listed_after_the_run_has_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry is of the same place: of equal lines of a file, the nth."""
    for folder in ("ref", "tests/one"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "ref/one.py").write_text("a = 1\n\nif a:\n    a = 1\n")
    listed = "file = 'ref/one.py'\nold = 'a = 1'\nnew = 'a = 2'\nnth = 2\nreason = 'nobody reads it'\n"
    (tmp_path / "tests/one/survivors.toml").write_text(f"[[survivor]]\n{listed}")
    monkeypatch.chdir(tmp_path)
    items = [
        {"name": f"ref/one.py:{line}: a = 1  ->  a = 2", "status": "failed", "reason": "no test fails",
         "layer": "oracle", "verdict": "survived"}
        for line in (1, 4)
    ]  # fmt: skip
    counted = {"layer": "oracle", "killed": 3, "with_reason": 0, "survived": 2, "equivalent": 0}
    lines = [counted, counted | {"layer": "C"}]
    results.write("mutants-all", "one", items, says="", tools={}, folder=tmp_path, table=lines)
    (run,) = results.load(tmp_path)
    assert changes.of_tests("oracle", run) == Line("oracle", killed=3, reason=1, without=1)
    assert changes.of_tests("C", run) == Line("C", killed=3, without=2)


def test_what_was_not_run_has_no_line_and_does_not_count(tmp_path: Path) -> None:
    table = changes.table(written(tmp_path), ["one", "two", "three"])
    assert table["two"][:2] == [None, None]
    assert table["three"] == [None] * 4
    assert table["all"][2] == Line("model", killed=4, counts_only=1, reason=1, without=1)
    assert changes.table([], ["one"])["all"] == [None] * 4


def test_a_stem_without_c_has_no_line_of_it(tmp_path: Path) -> None:
    counts = {"killed": 4, "with_reason": 1, "survived": 0, "equivalent": 2}
    results.write("mutants-all", "xid", [], says="", tools={}, folder=tmp_path, table=[{"layer": "oracle"} | counts])
    lines = changes.lines(results.load(tmp_path), "xid")
    assert lines == {"oracle": Line("oracle", killed=4, reason=1, equivalent=2)}


@pytest.mark.tools
def test_the_page_has_the_table(tmp_path: Path) -> None:
    page = report.page([])
    lines = re.findall(r"<tr>.*?</tr>", page[page.index('<table id="changes">') :].split("</table>")[0], re.S)
    assert len(lines) == 1 + 4 * (len(matrix.rows()) + len(GROUND) + 1)
    assert all("never run" in line for line in lines[1:])
    stem = matrix.rows()[0].stem
    found = [result.model_copy(update={"stem": stem}) for result in written(tmp_path) if result.stem == "one"]
    lines = report.page(found).split('<table id="changes">')[1].split("</table>")[0].split("<tr>")[2:6]
    shown = [[cell.strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", line, re.S)] for line in lines]
    assert [cells[-8:] for cells in shown] == [
        ["8", "4", "", "", "1", "3", "2", "50.0"],
        ["5", "5", "", "", "0", "0", "1", "100.0"],
        ["5", "2", "", "1", "1", "1", "", "40.0"],
        ["4", "2", "1", "", "1", "1", "1", "50.0"],
    ]


def test_the_page_shows_each_finding_with_its_picture(tmp_path: Path) -> None:
    page = report.page(written(tmp_path))
    folders = sorted(path.parent for path in Path("tests/findings").glob("*/finding.toml"))
    assert folders
    assert page.index('id="findings"') < page.index('id="the-matrix"')
    for folder in folders:
        assert (folder / "picture.svg").read_text() in page
        assert str(folder) in page


def test_the_page_begins_with_the_findings_and_counts_come_after(tmp_path: Path) -> None:
    page = report.page(written(tmp_path))
    lead = page[page.index('<p class="lead">') :].partition("</p>")[0]
    assert "the file I/O under them" in lead
    assert f"{len(matrix.rows())} subjects" in lead
    found = page[page.index('<ul class="found">') :].partition("</ul>")[0]
    assert page.index(lead) < page.index(found) < page.index('<ul class="chips">')
    assert f"{len(theorems_required())} theorems are required" in found


def theorems_required() -> list[str]:
    lines = Path("proofs/required-theorems.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]
