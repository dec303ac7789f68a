# SPDX-License-Identifier: PostgreSQL
"""Tables that are made by commands and stand in documents, each between two markers."""

from pathlib import Path

import click

README = Path("README.md")


def with_table(text: str, begin: str, end: str, table: str) -> str:
    """The text with the table between its markers. ClickException: it has no such markers."""
    if begin not in text or end not in text:
        raise click.ClickException(f"the document has no lines {begin} and {end}: put them around its table")
    head, rest = text.split(begin)
    return f"{head}{begin}\n{table}\n{end}{rest.split(end)[1]}"
