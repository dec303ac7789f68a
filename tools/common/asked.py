# SPDX-License-Identifier: PostgreSQL
"""How the person who runs a program names its options: BLOCK_SIZE=8192 to make, --block-size 8192 to `pgquern`.

The same programs stand behind both, and what they advise must be right where it is read.
"""

import re
from math import isnan
from typing import Any

import click


class Seconds(click.FloatRange):
    """How long something runs: neither for ever nor for no time, and a number."""

    def __init__(self) -> None:
        super().__init__(0.01, 86400)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if isnan(found):
            self.fail(f"{value} is no number", param, ctx)
        return found


def by_command() -> bool:
    """Whether `pgquern` runs the program: then there is a context above its own."""
    context = click.get_current_context(silent=True)
    return context is not None and context.parent is not None


def option(word: str, value: object = "", *, ours: str = "") -> str:
    """How to give a value: to make by its variable, to `pgquern` by the option of that name, or as an argument.

    `ours`: its name there, if that is another.
    """
    if not by_command():
        return f"{word}={value}"
    long = "--" + (ours or word).lower().replace("_", "-")
    for parameter in click.get_current_context().command.params:
        if long in parameter.opts:
            is_flag = isinstance(parameter, click.Option) and parameter.is_flag
            return long if is_flag else f"{long} {value}".rstrip()
    return ours or word


def program(name: str, words: str = "") -> str:
    """How to start a program. `words`: make's variables; for `pgquern`, arguments of the same names."""
    start, words = ("pgquern", re.sub(r"=\S*", "", words)) if by_command() else ("make", words)
    return f"{start} {name} {words}".rstrip()
