# SPDX-License-Identifier: PostgreSQL
"""The man pages, by click-man: what --help says of each command of the package that lies on the path.

python -P tools/pgquern/man.py FOLDER VERSION
"""

import re
import sys
from inspect import cleandoc

import click
from click_man.core import write_man_pages

from tools.pgquern.__main__ import main as program


def roff(text: str) -> str:
    """click-man takes a text as it is: here no line is a request to roff, and an example keeps its lines."""
    found = list[str]()
    for paragraph in cleandoc(text).split("\n\n"):
        lines = [re.sub(r"^([.'])", r"\\&\1", line.replace("\\", r"\e")) for line in paragraph.splitlines()]
        found.append("\n".join([".nf", *lines[1:], ".fi"] if lines[0] == "\b" else lines))
    return "\n\n".join(found)


def main(folder: str, version: str) -> None:
    context = click.Context(program, info_name="pgquern")
    commands = {name: program.get_command(context, name) for name in program.list_commands(context)}
    whole = click.Group(
        "pgquern", params=program.params, help=program.help, short_help="verified kernels for PostgreSQL"
    )
    for name, command in commands.items():
        if command is not None:
            whole.add_command(command, name)
    for command in (whole, *whole.commands.values()):
        command.help = roff(command.help or "")
    # Pages of one version are the same on each day.
    write_man_pages("pgquern", whole, version=f"pgquern {version}", date=version, target_dir=folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
