# SPDX-License-Identifier: PostgreSQL
"""On a terminal, one moving line instead of pytest's dots: how many tests are done, and the test that runs."""

import os
from collections.abc import Iterator

import pytest
from rich.console import Console

from tools.common.progress import bar


class Line:
    """A pytest plugin. Make it in pytest_configure, before pytest captures the terminal."""

    def __init__(self) -> None:
        self.progress = bar(Console(file=os.fdopen(os.dup(2), "w")))
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
        """No dots. A failure is shown at once by its letter, and in full at the end, as usual."""
        return ("passed" if report.when == "call" else "", "", "") if report.passed else None
