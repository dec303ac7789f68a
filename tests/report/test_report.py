# SPDX-License-Identifier: PostgreSQL
"""The report: its table of the changes made by a machine says what was not run, and it shows the findings."""

import re
from pathlib import Path
from typing import Any

import pytest

from tools.common import results
from tools.common.results import Result
from tools.report import __main__ as report
from tools.report import changes, matrix
from tools.report.changes import Line


def item(layer: str, verdict: str, status: str = "passed") -> dict[str, Any]:
    name = f"{layer} {verdict} {status}"
    return {"name": name, "layer": layer, "status": status, "verdict": verdict, "change": "", "why": "", "by": ""}


def written(folder: Path) -> list[Result]:
    """Results of one stem in two layers, and of another one in the models only."""
    model = [item("model", verdict) for verdict in ("killed", "killed", "counts only", "survived")]
    model.append(item("model", "counts only", "failed"))
    kernels = [item("C", verdict) for verdict in ("killed", "equivalent", "survived", "skipped")]
    kernels.append(item("C", "survived", "failed"))
    for stem, items in (
        ("one", [*kernels, *model]),
        ("two", [item("model", "killed"), item("model", "killed", "failed")]),
    ):
        results.write("changes", stem, items, says="", tools={}, folder=folder)
    return results.load(folder)


def test_each_layer_that_was_run_is_counted(tmp_path: Path) -> None:
    """A change that is listed and killed fails the run, and is killed."""
    table = changes.table(written(tmp_path), ["one", "two", "three"])
    model = Line("model", killed=2, counts_only=1, reason=1, without=1)
    kernels = Line("C", killed=1, reason=1, without=1, equivalent=1, skipped=1)
    assert table == {
        "one": [kernels, model],
        "two": [Line("model", killed=2)],
        "all": [kernels, Line("model", killed=4, counts_only=1, reason=1, without=1)],
    }
    assert (model.tried, model.share) == (5, 40.0)
    assert changes.table([], ["one"]) == {}


@pytest.mark.tools
def test_the_page_has_the_table(tmp_path: Path) -> None:
    assert '<table id="changes">' not in report.page([])
    stem = matrix.rows()[0].stem
    found = [result.model_copy(update={"stem": stem}) for result in written(tmp_path) if result.stem == "one"]
    page = report.page(found)
    lines = page[page.index('<table id="changes">') :].split("</table>")[0].split("<tr>")[2:4]
    shown = [[cell.strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", line, re.S)] for line in lines]
    assert [cells[-9:] for cells in shown] == [
        ["C", "3", "1", "0", "1", "1", "1", "1", "33.3"],
        ["model", "5", "2", "1", "1", "1", "0", "0", "40.0"],
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
