# SPDX-License-Identifier: PostgreSQL
"""The report and the judge's page in a real browser (`make test ONLY=browser`).

No error in the console, every link and picture there, both colour schemes, a narrow window, texts that can be read. For
each of these there is a broken page, which must be told.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bench.figures import expanded
from bench.goals import Ratio
from tests.report import browser
from tools.common import matrix
from tools.common.results import Result
from tools.judge import page as judge_page
from tools.judge.build import Candidate
from tools.judge.kinds import kinds
from tools.judge.last import Told
from tools.judge.speed import Place
from tools.judge.trial import Step, Trial
from tools.judge.verdict import Verdict
from tools.report import __main__ as report

pytestmark = pytest.mark.browser
FIGURES = Path("bench/figures")
WHOLE = {"mode": "full", "pinned_to_cpu": 1}


@pytest.fixture(scope="module")
def started() -> Iterator[Any]:
    if not browser.chromium():
        pytest.skip("no Chromium here")
    pytest.importorskip("playwright", reason="no playwright here: make test ONLY=browser installs it")
    with browser.browser() as found:
        yield found


def recorded() -> list[Result]:
    """The recorded benchmarks of the machine with most of them, as results of a run."""
    tables = max((json.loads(path.read_text()) for path in FIGURES.glob("*.json")), key=len)
    found = [expanded(table) for table in tables if table["layer"] == "bench"]
    for item in (item for result in found for item in result.items):
        if speedup := (item.model_extra or {}).get("speedup"):
            speedup |= {"low": None, "high": None} | speedup
    return found


def made(layer: str, stem: str, *items: dict[str, Any], **more: Any) -> Result:
    """A result that no run has given."""
    about = {"layer": layer, "stem": stem, "says": "said", "finished": datetime.now(UTC), "seconds": 1, "commit": "0"}
    about |= {"cpu": "a CPU", "cpu_level": "all", "tools": {"tool": "1"}}
    return Result.model_validate(about | {"items": items} | more)


def other_layers(stem: str) -> list[Result]:
    """A little of each layer of the page: what passed, what failed, and what was skipped."""
    long = "a_name_without_a_space_" * 6
    statuses: list[dict[str, Any]] = [
        {"name": long, "status": "passed"},
        {"name": "broken", "status": "failed", "reason": long},
        {"name": "not here", "status": "skipped", "reason": "this CPU lacks it"},
    ]
    models = [one | {"says": "it holds", "must_fail": True, "property": long, "distinct": 10} for one in statuses]
    theorems = [one | {"sentence": "it holds.", "statement": long, "assumptions": "Closed"} for one in statuses]
    changed = [one | {"layer": "C", "verdict": "survived", "change": long, "why": "because"} for one in statuses]
    told = [one | {"files": [long], "corners": 1, "random": 2, "on": "x86-64"} for one in statuses]
    grown = {"name": "grown", "status": "passed", "what": "grown", "unit": "bytes", "sizes": [1, 2, 4], "says": "1.00",
             "instructions": [1, 2, 4], "wanted": 1, "slope": 1.0, "at_one": 1.0, "last": 1.0, "above": "",
             "narrow": ""}  # fmt: skip
    return [
        made("model", stem, *models),
        made("proof", stem, *theorems),
        made("test", stem, *statuses),
        made("changes", stem, *changed),
        made("instructions", "house", *told),
        made("growth", stem, grown),
    ]


def test_the_report_of_what_is_recorded(started: Any, tmp_path: Path) -> None:
    """Where nothing was run: the recorded figures alone."""
    report.write(report.page([]), tmp_path / "index.html")
    assert browser.wrong(started, tmp_path / "index.html") == []


def test_the_report_with_results_of_each_layer(started: Any, tmp_path: Path) -> None:
    found = [*recorded(), *other_layers(matrix.stems()[0])]
    assert len(found) > 12
    report.write(report.page(found), tmp_path / "index.html")
    assert browser.wrong(started, tmp_path / "index.html") == []


def trial(name: str) -> Trial:
    """Of a file that does nothing; so many places that each colour of the map is there."""
    steps = [
        Step("plain", "it answers", "PASS", 1.0, {"tests/a_test_of_it.py::" + "long" * 30: 1000}),
        Step("sanitized", "it stays within its buffers", "FAIL", 2.0),
        Step("speed", "it is no slower", "UNDECIDED", 3.0),
    ]
    source = Path(__file__)
    ratios = [2.0**exponent for exponent in range(-6, 7)]
    places = [
        Place({"n": str(n), "order": order}, "scalar", 100.0, even(ratio), "avx2", even(1 / ratio), even(1.0))
        for n, ratio in enumerate(ratios)
        for order in ("sorted", "random")
    ]
    return Trial(Candidate(kinds()[name], source, source.parent), 1, [], [], lambda step: None, steps=steps,
                 warnings="a warning: " + "long" * 60, imports=["memcpy"], places=places)  # fmt: skip


def even(ratio: float) -> Ratio:
    return Ratio(median=ratio, low=ratio * 0.9, high=ratio * 1.1, coverage=0.95, samples=7)


@pytest.mark.parametrize("word", ["PASS", "FAIL", "SLOWER", "UNDECIDED"])
def test_the_judges_page(started: Any, tmp_path: Path, word: str) -> None:
    name, kind = sorted(kinds().items())[0]
    told = Told("n = 3\n" + "long" * 60, " ".join(kind.contract.split()[:4]), "<p>a picture</p>", "def test(): ...")
    shown = told if word == "FAIL" else None
    tried = replace(trial(name), places=[] if word == "UNDECIDED" else trial(name).places)
    verdict = Verdict(word, "as the steps say", "tests/test_it.py::test_it", "n=3" if word != "PASS" else "")
    path = tmp_path / "judged.html"
    command = "pgquern judge " + "long" * 40
    path.write_text(judge_page.page(tried, verdict, shown, command, "pytest " + "long" * 40, {"seed": "1"}))
    assert browser.wrong(started, path) == []


SOUND = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<style>:root { color-scheme: light dark } body { margin: 1rem; color: #222; background: #fff } a { color: inherit }
@media (prefers-color-scheme: dark) { body { color: #eee; background: #111 } }</style></head>
<body><h1 id="top">sound</h1><p>A text, and <a href="#top">a link</a>.</p>PLACE</body></html>"""
FAINT = "<p style='color: #999'>faint</p>"
DRAWN = """<svg width="90" height="30"><rect width="90" height="30" fill="#2166c4"/>
<text y="20" fill="#1d2330">faint</text></svg>"""
BROKEN = {
    "a script that fails": ("<script>throw new Error('broken')</script>", "light: broken"),
    "what it writes to the console": ("<script>console.error('told')</script>", "light: told"),
    "a picture": ('<img src="missing.png" alt="">', "picture missing.png is not there"),
    "a link to a file": ('<a href="missing.svg">it</a>', "link to missing.svg: there is no such file"),
    "a link to a place": ('<a href="#missing">it</a>', "link to #missing: there is no such place"),
    "one name twice": ('<p id="top">again</p>', "two places are called top"),
    "too wide": ('<div style="width: 700px">wide</div>', "light: a window of 360 pixels is too narrow: 716 of 360"),
    "faint on a light ground": (FAINT, "light: 'faint' has a contrast of 2.8"),
    "faint on a dark ground": (FAINT.replace("#999", "#555"), "dark: 'faint' has a contrast of 2.5"),
    "faint in a picture": (DRAWN, "light: 'faint' has a contrast of 2.8"),
    "faint in what is closed": (f"<details><summary>more</summary>{FAINT}</details>", "light: 'faint'"),
    "from elsewhere": ('<img src="http://127.0.0.1:9/a.png" alt="">', "light: fetched: http://127.0.0.1:9/a.png"),
}


def test_a_sound_page_is_sound(started: Any, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(SOUND.replace("PLACE", ""))
    assert browser.wrong(started, tmp_path / "a.html") == []


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_page_is_told(started: Any, tmp_path: Path, broken: str) -> None:
    html, expected = BROKEN[broken]
    (tmp_path / "a.html").write_text(SOUND.replace("PLACE", html))
    assert any(line.startswith(expected) for line in browser.wrong(started, tmp_path / "a.html"))
