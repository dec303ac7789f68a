# SPDX-License-Identifier: PostgreSQL
import pytest

from tests.mount import mounted


@pytest.fixture(autouse=True, scope="session")
def _mount() -> None:
    mounted.needed()
