# SPDX-License-Identifier: PostgreSQL
"""On a terminal, one moving line instead of pytest's dots: tests done, what was counted so far, the test that runs."""

import os
from collections.abc import Iterator

import pytest
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from tests.tally import counts


class Counted(ProgressColumn):
    """The tally, all stems together."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        totals: dict[str, int] = {}
        for (_, what), n in list(counts.items()):
            totals[what] = totals.get(what, 0) + n
        return Text(", ".join(f"{n:,} {what}" for what, n in totals.items()), style="cyan")


class Line:
    """A pytest plugin. To be made in pytest_configure, while the terminal is not yet captured."""

    def __init__(self) -> None:
        terminal = os.fdopen(os.dup(2), "w")
        columns = (
            BarColumn(20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            Counted(table_column=Column(no_wrap=True)),
            TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
        )
        self.progress = Progress(*columns, console=Console(file=terminal), transient=True, expand=True)
        self.task = self.progress.add_task("collecting", total=None)

    @pytest.hookimpl
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.progress.update(self.task, total=len(session.items))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Iterator[None]:
        with self.progress:
            return (yield)

    @pytest.hookimpl
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.progress.update(self.task, description=nodeid.removeprefix("tests/"))

    @pytest.hookimpl
    def pytest_runtest_logfinish(self) -> None:
        self.progress.advance(self.task)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """No dots; a failure is shown at once by its letter, and in full at the end, as ever."""
        return ("passed" if report.when == "call" else "", "", "") if report.passed else None
