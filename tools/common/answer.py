# SPDX-License-Identifier: PostgreSQL
"""How a command answers a script: with --json it prints one JSON document on stdout, and nothing else there.

Progress and messages go to stderr then. The exit status is the same. A refusal (status 2) is a sentence on stderr, and
stdout stays empty: so whatever stands on stdout is an answer.
"""

import json
from collections.abc import Callable
from typing import Any

import click


def json_option(says: str = "Print one JSON document, in the place of words.") -> Callable[[Any], Any]:
    """The option, which the program gets as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=says)


def print_json(answer: object) -> None:
    """ValueError: a number that JSON does not have, such as infinity."""
    click.echo(json.dumps(answer, indent=1, allow_nan=False))


def say(line: str) -> None:
    """A line as it is. By itself click takes out what looks like a colour, which a file's name may have."""
    click.echo(line, color=True)


def safe(text: str) -> str:
    """Names may hold what would start a new line or command the terminal."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def plural(number: int, what: str) -> str:
    """`1 page`, `1,000 pages`."""
    return f"{number:,} {what}{'s' * (number != 1)}"
