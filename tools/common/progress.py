# SPDX-License-Identifier: PostgreSQL
"""One look for all long work: a bar on a terminal, nothing but the results elsewhere."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

WIDTH = 120
"""Columns of a table that is not printed on a terminal."""


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal, or WIDTH columns wide."""
    found = Console(stderr=stderr, highlight=False)
    return found if found.is_terminal else Console(stderr=stderr, highlight=False, width=WIDTH)


def bar(on: Console) -> Progress:
    """A progress bar: what runs, how much is done, the time since the start. It disappears at the end."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=on, transient=True, disable=not on.is_terminal)
