# SPDX-License-Identifier: PostgreSQL
"""A test of every variant of a kind. Those that this CPU cannot run are skipped by name: no test is silently absent."""

from collections.abc import Iterable
from typing import Protocol

import pytest
from pgquern.cpu import cpu


class Variant(Protocol):
    """What the binding tells of a row of a kind's table."""

    @property
    def name(self) -> str: ...

    @property
    def supported(self) -> bool: ...


def each(variants: Iterable[Variant]) -> pytest.MarkDecorator:
    """Parametrizes a test by `variant`, a name."""
    lacking = pytest.mark.skip(reason=f"this CPU cannot run it: its level is {cpu()}")
    return pytest.mark.parametrize(
        "variant", [pytest.param(v.name, marks=() if v.supported else lacking) for v in variants]
    )
