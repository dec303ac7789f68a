# SPDX-License-Identifier: PostgreSQL
"""A pytest plugin: Hypothesis stops at the first example that fails. That a mutant dies matters, not how simply."""

import pytest
from hypothesis import Phase, settings


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Derives a profile from the one that conftest.py has chosen."""
    settings.register_profile(
        "mutants", settings(database=None, phases=(Phase.explicit, Phase.generate), report_multiple_bugs=False)
    )
    settings.load_profile("mutants")
