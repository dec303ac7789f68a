# SPDX-License-Identifier: PostgreSQL
"""What a stem gives to test its commands: tests/STEM/commands.py has a function for each, such as `check_pages`.

It makes files in a folder. tests/pgquern/test_command.py makes foreign ones itself, and leaves files out.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Inputs(NamedTuple):
    """The words after the command's name."""

    damaged: list[str]
    """Of a file that is damaged, or that says something is wrong."""
    code: int
    """The exit status then: 1 a verdict, 2 a refusal."""
    says: str
    """What is said then."""
    verdict: Callable[[Any], object] = lambda document: document
    """What of the document that --json prints is the verdict."""
    good: object = None
    """The verdict on what is sound."""
    bad: object = None
    """And on what is damaged, where that is not refused."""
    sound: list[str] | None = None
    """All is well. None: the command needs a clone, and takes long then; the stem's own tests run it."""
    at: int = 0
    """Which of the words is the file."""
