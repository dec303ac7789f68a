# SPDX-License-Identifier: PostgreSQL
"""All arrays that these tests hand to kernels are guarded: see tests/common/guard_pages.py."""

from collections.abc import Iterator

import pytest
from pgquern import prefetch

from tests.common import guard_pages
from tests.prefetch.files import files

prefetch.new_array = guard_pages.Arrays().new


@pytest.fixture(scope="module")
def fds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[int]]:
    """Of files of as many blocks as the module's SIZES say."""
    with files(tmp_path_factory.mktemp("files"), request.module.SIZES) as opened:
        yield opened
