# SPDX-License-Identifier: PostgreSQL
"""What people reported of folders of .snap files: made here, and explained by the command."""

from pathlib import Path

import pytest

from tests.common.reports import Report, of
from tests.snapbuild.test_snap import said
from tests.snapbuild.test_snap_slots import cluster, slot


@pytest.mark.parametrize("report", of("snapbuild"), ids=lambda report: report.seen)
def test_what_was_reported_is_said(report: Report, tmp_path: Path) -> None:
    assert report.made == "a slot that nobody reads"
    status, text = said(cluster(tmp_path, slot("read", 4096 * 29), slot("old", 4096 * 6)))
    assert (status, report.says in text) == (report.status, True), text
