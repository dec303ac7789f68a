# SPDX-License-Identifier: PostgreSQL
"""The paper is set from the recorded results: its numbers are theirs, and what is missing there it calls missing."""

import json
import re
import shutil
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
import typst
from click.testing import CliRunner

from tools.common import matrix
from tools.paper import __main__ as program
from tools.paper import data, figures, texts
from tools.report import growth

SECTIONS = ["The problem", "The subjects", "The method", "What was found in upstream", "Figures", "What is not proved",
            "Related work", "How to reproduce", "Bibliography"]  # fmt: skip
PAGES = 6
"""No more, with the bibliography: what a new result needs is cut elsewhere."""
SMALLEST = 7.5
"""In points: smaller text of a table or a figure is hard to read."""
JSON = Path("bench/figures")
Change = Callable[[Any], None]


pytestmark = pytest.mark.tools


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The data of the recorded figures."""
    return data.collect()


def most_results(folder: Path) -> Path:
    """The file of the machine that the paper names first."""

    def results_of(path: Path) -> int:
        content = json.loads(path.read_text())
        return len(content) if isinstance(content, list) else 0

    return max(sorted(folder.glob("*.json")), key=results_of)


def copied(folder: Path, change: Change | None = None) -> Path:
    """A copy of the recorded figures; `change` changes the content of the file with most results."""
    for path in JSON.glob("*.json"):
        shutil.copy(path, folder)
    if change:
        chosen = most_results(folder)
        content = json.loads(chosen.read_text())
        change(content)
        chosen.write_text(json.dumps(content))
    return folder


def recorded() -> list[Any]:
    """The file with most results, as it is."""
    content: list[Any] = json.loads(most_results(JSON).read_text())
    return content


def values(found: Any) -> list[Any]:
    """All that is in the data, one after the other."""
    if isinstance(found, dict | list):
        return [inner for one in (found.values() if isinstance(found, dict) else found) for inner in values(one)]
    return [found]


def asked(found: dict[str, Any], selector: str) -> list[Any]:
    """What Typst says of the set paper."""
    answer: list[Any] = json.loads(typst.query(str(program.TEXT), selector, **program.set_up(found)))
    return answer


def plain(content: Any) -> str:
    """The text of an element that Typst tells."""
    if isinstance(content, dict):
        return content.get("text", "") if content.get("func") in ("text", "raw") else plain(list(content.values()))
    return "".join(plain(one) for one in content) if isinstance(content, list) else ""


def test_it_is_set_from_the_recorded_figures(tmp_path: Path, found: dict[str, Any]) -> None:
    run = CliRunner().invoke(program.main, ["--into", str(tmp_path), "--png"])
    assert run.exit_code == 0, run.output
    assert (tmp_path / "pgquern.pdf").read_bytes().startswith(b"%PDF-")
    pages = sorted(tmp_path.glob("page-*.png"))
    assert PAGES - 1 <= len(pages) <= PAGES
    *whole, last = (path.stat().st_size for path in pages)  # an empty page has some 10,000
    assert min(whole) > 50_000
    assert last > 15_000
    kept = json.loads((tmp_path / "data.json").read_text())
    assert kept["subjects"] == json.loads(json.dumps(found["subjects"]))


def test_no_text_is_too_small() -> None:
    """Each size that is set, and code in a text, whose size is a share of that of the words around it."""
    text = program.TEXT.with_name("look.typ").read_text() + program.TEXT.read_text()
    sizes = [float(size) for size in re.findall(r"size: ([\d.]+)pt|serif\(([\d.]+)pt\)", text) for size in size if size]
    (words,) = re.findall(r"Serif\", size: ([\d.]+)pt", text)
    (code,) = re.findall(r"size: ([\d.]+)em", text)
    assert len(sizes) > 5
    assert min([*sizes, float(words) * float(code)]) >= SMALLEST


def test_each_section_is_there_and_each_row_has_its_own(found: dict[str, Any]) -> None:
    headings = [(one["level"], plain(one["body"])) for one in asked(found, "heading")]
    assert [text for level, text in headings if level == 1] == SECTIONS
    for stem in matrix.stems():
        assert [text for level, text in headings if level == 2 and text.endswith(stem)] != []
    titles = ["".join(piece["text"] for piece in one["title"]) for one in found["findings"]]
    assert [text for level, text in headings if text in titles] == titles


def test_every_theorem_that_is_required_is_counted(found: dict[str, Any]) -> None:
    """Those of the ground and of what is no stem, too; abstract, report and README tell the same sum."""
    lines = Path("proofs/required-theorems.txt").read_text().splitlines()
    required = [line for line in lines if line and not line.startswith("#")]
    *each, together = found["counts"]
    assert together["theorems"] == sum(line["theorems"] for line in each) == len(required)
    (abstract,) = (plain(one) for one in asked(found, "<abstract>"))
    assert f"({len(required)}theoremswithoutaxioms)" in abstract.replace(" ", "")  # plain() drops some spaces
    assert f"{len(required)} required theorems" in " ".join(Path("README.md").read_text().split())


def test_a_subject_is_a_stem_and_no_row() -> None:
    """As in README. A row is one of a table of PostgreSQL's: those that upstream loses."""
    words = re.sub(r"\w*\.rows?\b|\brows?(\.| =>)", "", program.TEXT.read_text())
    assert re.findall(r"\S+ rows?\b|\[rows?\]", words) == ["loses rows"]


def test_no_section_is_empty(found: dict[str, Any]) -> None:
    """Between one heading and the next stands text: a paragraph, a table or a block."""
    text = program.TEXT.read_text()
    starts = [match.start() for match in re.finditer(r"^= ", text, re.MULTILINE)]
    lengths = [end - start for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    assert len(starts) == len(SECTIONS) - 1
    assert min(lengths) > 500


def test_the_words_hold_no_number_of_a_result(found: dict[str, Any]) -> None:
    """A number in paper.typ that a result holds could not follow the result."""
    numbers = {f"{value:,}" for value in values(found["counts"]) if isinstance(value, int) and value > 40}
    for subject in found["subjects"]:
        for cell in (cell for line in subject["figures"] for cell in line["cells"] if cell):
            numbers.add(f"{cell['worst']['median']:.2f}")
    for server in found["servers"]:
        numbers |= {f"{row['ratio'][key]:.2f}" for row in server["rows"] for key in ("median", "low", "high")}
    text = re.sub(r"\d[\d.]*(pt|em|cm|fr|%)", "", program.TEXT.read_text())  # without sizes of the page
    assert {number for number in numbers if re.search(rf"(?<![-\w.,]){re.escape(number)}(?![\d.,]*\d)", text)} == set()


def test_chosen_figures_are_those_recorded(found: dict[str, Any]) -> None:
    seen = 0
    for subject in found["subjects"]:
        benches = [one for one in recorded() if (one["layer"], one["stem"]) == ("bench", subject["stem"])]
        goals = [goal for one in benches for goal in [*one["targets"], *one["floors"]]]
        for line in subject["figures"]:
            match = [goal for goal in goals if (goal["title"], goal["variant"]) == (line["what"], line["variant"])]
            if match:
                cell, seen = line["cells"][0], seen + 1
                assert cell["worst"] == {key: match[0]["worst"][key] for key in ("median", "low", "high")}
                assert (cell["holds"], cell["of"]) == (match[0]["holds"], match[0]["of"])
    assert seen >= 2 * len(matrix.stems())


def test_a_figure_for_which_the_paper_has_no_room_is_not_in_it(found: dict[str, Any]) -> None:
    (table,) = (re.sub(r"\s|\u200b", "", plain(one)) for one in asked(found, "<figures>"))
    lines = [line for subject in found["subjects"] for line in subject["figures"]]
    for line in lines:
        name = ":".join(re.sub(r"\s", "", line[key]) for key in ("what", "variant") if line[key])
        assert (name in table) == line["in_paper"], name
    assert {line["in_paper"] for line in lines} == {True, False}


def test_each_row_shows_what_holds_it_and_what_was_measured(found: dict[str, Any]) -> None:
    assert [subject["stem"] for subject in found["subjects"]] == matrix.stems()
    for subject in found["subjects"]:
        assert all(theorem["says"] for theorem in subject["theorems"])
        assert any(cell for line in subject["figures"] for cell in line["cells"])


def test_whole_servers_are_those_recorded(found: dict[str, Any]) -> None:
    for server, path in zip(found["servers"], sorted(JSON.glob("servers-*.json")), strict=True):
        rounds = json.loads(path.read_text())["figures"]
        for row, pair in zip(server["rows"], rounds.values(), strict=True):
            higher = row["unit"] == "transactions/s"
            ratios = [b / a if higher else a / b for a, b in zip(pair["control"], pair["ours"], strict=True)]
            assert row["ratio"] == {"median": statistics.median(ratios), "low": min(ratios), "high": max(ratios)}
            assert row["unchanged"] == statistics.median(pair["control"])


def test_a_changed_number_changes_the_paper(tmp_path: Path, found: dict[str, Any]) -> None:
    def worse(content: Any) -> None:
        for one in content:
            for goal in [*one.get("targets", ()), *one.get("floors", ())]:
                goal["worst"]["median"] = 0.123

    def faster(content: Any) -> None:
        variant, ratio = (content[0]["columns"].index(name) for name in ("variant", "speedup.median"))
        row = next(row for row in content[0]["rows"] if row[variant] == content[0]["floors"][0]["variant"])
        row[ratio] = 77777.0

    changed = data.collect(copied(tmp_path, worse))
    first = [line["cells"][0] for subject in changed["subjects"] for line in subject["figures"] if line["cells"][0]]
    assert sum(cell["worst"]["median"] == 0.123 for cell in first) >= 2 * len(matrix.stems())
    assert changed["servers"] == found["servers"]
    again = data.collect(copied(tmp_path, faster))
    assert 77777.0 in values([subject["spread"] for subject in again["subjects"]])
    assert 77777.0 not in values(found)


def test_what_was_not_measured_is_missing(tmp_path: Path, found: dict[str, Any]) -> None:
    """Then the cells are empty, and the paper can still be set: it says so in each."""
    gone = matrix.stems()[0]
    changed = data.collect(copied(tmp_path, lambda content: content.__delitem__(slice(0, 1))))
    subject = next(one for one in changed["subjects"] if one["stem"] == gone)
    before = next(one for one in found["subjects"] if one["stem"] == gone)
    empty, was = ([cell for line in one["figures"] for cell in line["cells"] if not cell] for one in (subject, before))
    had = [line["cells"][0] for line in before["figures"] if line["cells"][0]]
    assert len(empty) - len(was) == len(had) > 0
    for path in tmp_path.glob("servers-*.json"):
        path.unlink()
    run = CliRunner().invoke(program.main, ["--into", str(tmp_path / "out"), "--figures", str(tmp_path)])
    assert run.exit_code == 0, run.output


def test_figures_of_more_machines_need_no_more_pages(tmp_path: Path, found: dict[str, Any]) -> None:
    copied(tmp_path)
    further = most_results(tmp_path)
    for number in (1, 2):
        content = [one | {"cpu": f"another CPU {number}"} for one in json.loads(further.read_text())[:-number]]
        (tmp_path / f"another-{number}.json").write_text(json.dumps(content))
    run = CliRunner().invoke(program.main, ["--into", str(tmp_path), "--figures", str(tmp_path), "--png"])
    assert run.exit_code == 0, run.output
    assert len(list(tmp_path.glob("page-*.png"))) <= PAGES
    kept = json.loads((tmp_path / "data.json").read_text())
    assert len(kept["machines"]) == data.MACHINES
    assert kept["further_machines"] == found["further_machines"] + 2


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "does not hold figures"),
        ('{"columns": []}', "does not hold figures"),
        ('[{"layer": "bench"}]', "does not hold figures"),
        ("7", "does not hold figures"),
        (None, "holds no figures: run `make bench`"),
    ],
)
def test_figures_that_are_none_are_a_clear_error(tmp_path: Path, content: str | None, says: str) -> None:
    if content is not None:
        (tmp_path / "cpu.json").write_text(content)
    run = CliRunner().invoke(program.main, ["--into", str(tmp_path / "out"), "--figures", str(tmp_path)])
    assert run.exit_code == 1
    assert says in run.output
    assert "make figures" in run.output
    assert "Traceback" not in run.output


def test_a_table_that_is_cut_short_is_a_clear_error(tmp_path: Path) -> None:
    """A row of the table that lacks a value must not shift the others."""

    def cut(content: Any) -> None:
        content[0]["rows"][3].pop()

    with pytest.raises(figures.FigureError, match="does not hold figures"):
        data.collect(copied(tmp_path, cut))


def test_rounds_of_servers_come_in_pairs() -> None:
    known = next(iter(figures.measures()))
    with pytest.raises(figures.FigureError, match="make bench-upstream"):
        figures.served(known, figures.Pair(control=[1.0, 2.0], ours=[1.0]), figures.measures())
    with pytest.raises(figures.FigureError, match="make bench-upstream"):
        figures.served("unknown", figures.Pair(control=[1.0], ours=[1.0]), figures.measures())


def test_a_row_cannot_ask_for_what_is_not_there(found: dict[str, Any]) -> None:
    machines, _ = figures.load()
    with pytest.raises(click.ClickException, match=r"correct `title`"):
        figures.goal(matrix.stems()[0], figures.Goal(title="no such title", variant="v"), machines)
    with pytest.raises(click.ClickException, match="has no theorem"):
        data.shown(matrix.stems()[0], {}, machines)
    with pytest.raises(click.ClickException, match=r"paper\.toml is missing"):
        data.subject("norow")


def test_a_document_that_lacks_its_table_is_a_clear_error() -> None:
    with pytest.raises(click.ClickException, match="put it back"):
        texts.table("## Heading\nwords\n", "## Heading", Path("DOCUMENT.md"))
    cells = texts.table("\n## Heading\n\n| a | b |\n|---|---|\n| `x\\|y` | z |\n", "## Heading", Path("D"))
    assert cells == [["`x|y`", "z"]]


def test_columns_of_a_table_are_taken_by_their_heads() -> None:
    """One more column in SOUNDNESS.md must not shift the paper's table; one that is gone is an error."""
    text = "\n## H\n\n| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n| 4 | 5 | 6 |\n"
    assert texts.table(text, "## H", Path("D"), ["c", "a"]) == [["3", "1"], ["6", "4"]]
    with pytest.raises(click.ClickException, match="has no column d, which the paper shows"):
        texts.table(text, "## H", Path("D"), ["a", "d"])


def test_the_tables_of_soundness_have_as_many_columns_as_the_paper_shows(found: dict[str, Any]) -> None:
    for name, columns in (("risks", 3), ("kernels", 4)):
        assert {len(row) for row in found[name]} == {columns}
        assert len(found[name]) > 5


def test_how_costs_grow_is_told_of_each_operation(found: dict[str, Any]) -> None:
    recorded = list(growth.recorded())
    assert sum(line["operations"] for line in found["growth"]) == len(recorded)
    for line in found["growth"]:
        slopes = [
            slope for _, series, fit in recorded if series.wanted == line["wanted"] for slope in (fit.slope, fit.last)
        ]
        assert line["steepest"] == max(slopes)


def test_markdown_in_a_line_becomes_pieces() -> None:
    told = texts.pieces("a `b_c` and **d**, *e* of [`f`](g) in 2*3*4")
    assert [(one["kind"], one["text"]) for one in told] == [
        ("text", "a "), ("code", "b_c"), ("text", " and "), ("strong", "d"), ("text", ", "), ("emph", "e"),
        ("text", " of "), ("text", "f"), ("text", " in 2*3*4"),
    ]  # fmt: skip
