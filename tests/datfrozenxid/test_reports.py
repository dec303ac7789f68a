# SPDX-License-Identifier: PostgreSQL
"""What people reported of servers that refuse new ids: listed here, and explained by the command."""

import pytest

from ref.datfrozenxid import Pair, Row
from tests.common.reports import Report, of
from tests.datfrozenxid.made import mine, state
from tests.datfrozenxid.test_frozen import HALF, REFUSED, said


@pytest.mark.parametrize("report", of("datfrozenxid"), ids=lambda report: report.seen)
def test_what_was_reported_is_said(report: Report) -> None:
    assert report.made == "a database 3,000,000 XIDs before the end"
    oldest = HALF - REFUSED
    status, text = said(state(mine([Row("r", oldest, 9)], Pair(oldest, 9)), next_ids=Pair(HALF, 50)))
    assert (status, report.says in text) == (report.status, True), text
