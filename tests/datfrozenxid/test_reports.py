# SPDX-License-Identifier: PostgreSQL
"""What people reported of servers that refuse new ids: listed here, and explained by the command."""

from pathlib import Path

import pytest

from tests.common.reports import Report, of
from tests.datfrozenxid.test_frozen import END, HALF, databases


@pytest.mark.parametrize("report", of("datfrozenxid"), ids=lambda report: report.seen)
def test_what_was_reported_is_said(report: Report, tmp_path: Path) -> None:
    assert report.made == "a database 3,000,000 XIDs before the end"
    age = END - 3_000_000
    status, text = databases(tmp_path, ("app", HALF - age, HALF, age, 0))
    assert (status, report.says in text) == (report.status, True), text
