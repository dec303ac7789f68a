# SPDX-License-Identifier: PostgreSQL
"""Common to all tests: Hypothesis profiles, counts, and the results file that the report reads.

PGQUERN_PROFILE chooses the number of examples: `whole` (default; the same examples each time), `brief` (an eighth of
them, for `make test`), `quick` (a twentieth, for a first look), `asan` (fewer, for sanitizers), `cross` (a few; under
an emulator or with features hidden: test_kernels.py, and all tests of what only its CPU has), `deep` (many, new ones
each time).
PGQUERN_RESULT=LAYER writes build/results/LAYER/<stem>.json at the end: the tests, their seconds, and counts (`examples`
are counted here, everything else by tally()). The stem of a test is the folder of its file, tests/<stem>/test_*.py, or
`house`. Under the sanitizers the run ends with a look for memory that the library has leaked; it counts as one more
test, `leaks`.
"""

import functools
import os
import platform
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from pgquern.cpu import all_variants, cpu

from tests.common import leaks, progress
from tests.common.tally import of, tally
from tools.common import results

PROFILE = os.environ.get("PGQUERN_PROFILE", "whole")
RESULT = os.environ.get("PGQUERN_RESULT")

common: dict[str, Any] = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("whole", max_examples=1000, derandomize=True, database=None, **common)
settings.register_profile("brief", max_examples=125, derandomize=True, database=None, **common)
settings.register_profile("quick", max_examples=50, derandomize=True, database=None, **common)
settings.register_profile("asan", max_examples=40, derandomize=True, database=None, **common)
settings.register_profile("cross", max_examples=10, derandomize=True, database=None, **common)
settings.register_profile("deep", max_examples=20_000, **common)
settings.load_profile(PROFILE)

# Of the tests with real servers, `make test` runs those with 18, so that it stays short. `make test-servers` runs the
# others; PGQUERN_BUILDS, as in "13 15-debian", chooses among their builds by regular expressions.
OTHER_BUILDS = r"1[3-7](?:-debian)?"
CHOSEN_BUILDS = "|".join(os.environ.get("PGQUERN_BUILDS", "").split()) or OTHER_BUILDS

# tests/rules.mk has them, too: what has an oracle, and what takes long.
SUBJECTS = {path.stem for path in (Path(__file__).parents[1] / "ref").glob("*.py")} | {"instructions", "mount"}

outcomes: dict[str, str] = {}
seconds: dict[str, float] = defaultdict(float)
reasons: dict[str, str] = {}
claims: dict[str, list[int]] = {}
"""The claims of CLAIMS.md that a test shows: those of its markers claim1, claim2, ..."""


def pytest_configure(config: pytest.Config) -> None:
    if RESULT and sys.stderr.isatty():
        config.pluginmanager.register(progress.Line())


def pytest_report_header() -> str:
    lacking = ", ".join(f"{v.kind} {v.variant}" for v in all_variants() if not v.supported)
    return f"kernels: level {cpu()}, cannot run here: {lacking or 'none'}"


def stem_of(nodeid: str) -> str:
    """The stem of a test: the folder that its file lies in, or `house` for those that are of no subject."""
    folder = Path(nodeid.split("::")[0]).parent.name
    return folder if folder in SUBJECTS else "house"


def runs_on(item: pytest.Item, builds: str) -> bool:
    """Whether a test drives a real server of one of these builds, of which its name tells."""
    named = re.search(rf"[\[-](?:pg)?(?:{builds})(?=[\] _-])", item.nodeid)
    return item.get_closest_marker("servers") is not None and named is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Whole and deep tests run in the profiles of these names only, plain ones without sanitizers and emulators, those
    of old minors if they are asked for by their marker, all candidates if the judge's results are, those of slow tools
    but in `make test`; every Hypothesis test counts its examples."""
    if PROFILE == "cross":
        left_out = [item for item in items if item.path.name.startswith("test_kernels_") and cpu() not in item.name]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    asked = {
        "plain": PROFILE not in ("asan", "cross"),
        "whole": PROFILE in ("whole", "deep"),
        "deep": PROFILE == "deep",
        "minors": config.getoption("markexpr") == "minors",
        "every_candidate": RESULT == "judge",
        "tools": RESULT != "test",
    }
    for marker, wanted in asked.items():
        left_out = [item for item in items if item.get_closest_marker(marker) and not wanted]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if item not in left_out]
    if RESULT in ("test", "test-servers"):
        others = RESULT == "test-servers"
        builds = CHOSEN_BUILDS if others else OTHER_BUILDS
        left_out = [item for item in items if runs_on(item, builds) != others]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    counted: set[int] = set()
    for item in items:
        shows = {int(mark.name[5:]) for mark in item.iter_markers() if re.fullmatch(r"claim\d+", mark.name)}
        claims[item.nodeid] = sorted(shows)
        handle = getattr(getattr(item, "obj", None), "hypothesis", None)
        if handle is not None and id(handle) not in counted:
            counted.add(id(handle))
            handle.inner_test = counting(handle.inner_test, stem_of(item.nodeid))


def counting(test: Callable[..., Any], stem: str) -> Callable[..., Any]:
    """The test, wrapped so that each call counts as an example."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> Any:
        tally(stem, "examples")
        return test(*args, **kwargs)

    return run


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    seconds[report.nodeid] += report.duration
    if report.outcome == "failed":
        outcomes[report.nodeid] = "failed"
        reasons[report.nodeid] = report.longreprtext.strip().rpartition("\n")[2]
    elif report.outcome == "skipped":
        outcomes[report.nodeid] = "skipped"
        told = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[report.nodeid] = told.removeprefix("Skipped: ")
    else:
        outcomes.setdefault(report.nodeid, "passed")


def ran() -> list[str]:
    return sorted({stem_of(nodeid) for nodeid in outcomes})


def says(stem: str) -> str:
    """One line for a stem: how many tests ran, and what they counted."""
    tests = sum(stem_of(nodeid) == stem for nodeid in outcomes)
    return ", ".join([f"{tests} tests", *(f"{n:,} {what}" for what, n in of(stem).items())])


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for stem in ran():
        if reason := reasons.get(leaks_of(stem)):
            terminalreporter.write_line(f"{leaks_of(stem)} {outcomes[leaks_of(stem)].upper()}: {reason}")
        took = sum(s for nodeid, s in seconds.items() if stem_of(nodeid) == stem)
        terminalreporter.write_line(f"{stem}: {says(stem)} in {took:.1f} s")


def leaks_of(stem: str) -> str:
    """The name of the look for leaks."""
    return f"tests/{stem}/leaks"


def look_for_leaks(session: pytest.Session) -> None:
    """Of all tests that ran in this process: one item, which fails the run, or is skipped with the reason."""
    for stem in ran():
        name = leaks_of(stem)
        if reason := leaks.why_not():
            outcomes[name], reasons[name] = "skipped", reason
            continue
        try:
            found = leaks.of_library(leaks.report())
        except leaks.UnableError as unable:
            outcomes[name], reasons[name] = "skipped", str(unable)
            continue
        outcomes[name] = "passed"
        if found:
            outcomes[name], reasons[name] = "failed", f"{len(found)} leaks\n" + "\n".join(found)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Look for leaks if the sanitizers are there, and write the results of each stem that ran."""
    if PROFILE == "asan" and leaks.CHECK:
        look_for_leaks(session)
    if not RESULT:
        return
    tools = {"Python": platform.python_version()} | {tool: version(tool) for tool in ("pytest", "hypothesis")}
    for stem in ran():
        items = [
            {"name": nodeid, "status": outcome, "seconds": round(seconds[nodeid], 3), "reason": reasons.get(nodeid, "")}
            | ({"claims": claims[nodeid]} if claims.get(nodeid) else {})
            for nodeid, outcome in outcomes.items()
            if stem_of(nodeid) == stem
        ]
        results.write(RESULT, stem, items, says=says(stem), tools=tools | {"profile": PROFILE})
