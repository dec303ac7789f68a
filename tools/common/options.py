# SPDX-License-Identifier: PostgreSQL
"""The options of the programs that people run, and how a sentence names them."""

import click


def by_command() -> bool:
    """Whether `pgquern` runs the program: then there is a context above its own."""
    context = click.get_current_context(silent=True)
    return context is not None and context.parent is not None


def option(name: str, value: object = "") -> str:
    """How to give a value: by the option of that name, as a flag, or as the argument that it is in `pgquern`."""
    long, context = "--" + name.lower().replace("_", "-"), click.get_current_context(silent=True)
    for parameter in context.command.params if context else ():
        if long in parameter.opts:
            is_flag = isinstance(parameter, click.Option) and parameter.is_flag
            return long if is_flag else f"{long} {value}".rstrip()
    return name
