# SPDX-License-Identifier: PostgreSQL
"""The report shows what ran, what failed and why, and the findings; README.md's table and quotations are today's."""

import re
import tomllib
from pathlib import Path

import click
import pytest
from cogapp import Cog

from tools.common import matrix, results
from tools.report import __main__ as report
from tools.report import matrix as cells
from tools.report import texts


@pytest.mark.tools
def test_the_page_shows_what_ran_and_the_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tomllib.loads(min(Path("tests/findings").glob("*/finding.toml")).read_text())["model"]
    monkeypatch.setattr(texts, "SHOWN", tmp_path)
    (tmp_path / "stem").mkdir()
    (tmp_path / "stem" / f"{first}.html").write_text("<p>drawn</p>")
    stem = matrix.stems()[0]
    proved = {"name": f"Pgquern.{stem}.It.stays_in_bounds", "status": "passed", "sentence": "It keeps [n] in bounds."}
    failed = {"name": "it", "status": "failed", "reason": "no end"}
    skipped = {"name": "wide", "status": "skipped", "reason": "this CPU lacks it"}
    results.write("proof", stem, [proved], says="all", tools={}, folder=tmp_path)
    results.write("test", stem, [failed, skipped], says="some", tools={"a tool": "1.2"}, folder=tmp_path)
    page = report.page(results.load(tmp_path))
    for words in ("It keeps <code>n</code> in bounds.", "it: no end", "SKIPPED 1: this CPU lacks it", "a tool"):
        assert words in page
    lead, found, ran = (page.index(f'id="{name}"') for name in ("in-short", "findings", "ran-here"))
    assert lead < found < ran
    for folder in (path.parent for path in Path("tests/findings").glob("*/finding.toml")):
        assert str(folder) in page
    assert page.count('srcdoc="&lt;p&gt;drawn&lt;/p&gt;"') == 1
    assert f"show --run {first}</code> draws it" not in page
    assert all(f'id="{one}"' in page for one in matrix.stems())


def test_a_cell_that_is_missing_is_named(tmp_path: Path) -> None:
    assert cells.missing() == []
    for name in ("ref/a.py", "spec/a/a.tla", "proofs/a/b/a.v", "csrc/a/a.c", "tests/a/test_a.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert cells.missing(tmp_path) == ["a: no bench (bench/a/*.cc)"]


def test_markdown_in_a_line_becomes_html() -> None:
    said = texts.marked("a `b_c` and **d**, *e* of [`f`](g) in 2*3*4 < 5")
    assert said == "a <code>b_c</code> and <strong>d</strong>, <em>e</em> of f in 2*3*4 &lt; 5"


def test_a_finding_that_lacks_a_paragraph_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# It\n\n**What happens.** It.\n")
    (tmp_path / "finding.toml").write_text("")
    with pytest.raises(click.ClickException, match=r"has no paragraph '\*\*What is lost"):
        texts.finding(tmp_path)


def test_the_readmes_table_is_that_of_the_recorded_figures() -> None:
    assert Cog().main(["cog", "--check", "-P", "README.md"]) == 0, "build/venv/bin/cog -r -P README.md writes it"


def test_what_the_readme_quotes_stands_in_the_file_that_it_names() -> None:
    """Line by line, but for blanks before it: the C of a kernel, and the theorem about it."""
    parts = re.split(r"^```(\w*)\n", Path("README.md").read_text(), flags=re.MULTILINE)
    quoted = dict[str, list[str]]()
    for before, language, after in zip(parts[::2], parts[1::2], parts[2::2], strict=False):
        suffix = {"c": "c", "coq": "v"}.get(language, "none")
        if named := re.findall(rf"\]\((\S+\.{suffix})\)", before):
            quoted[named[-1]] = after.splitlines()
    assert len(quoted) == 2
    for name, lines in quoted.items():
        file = {line.strip() for line in Path(name).read_text().splitlines()}
        assert [line for line in lines if line.strip() not in file] == []
