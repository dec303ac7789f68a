# SPDX-License-Identifier: PostgreSQL
"""A program as a command: its own click command, with files as arguments, run where it must run."""

import copy
import importlib
import os
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from tools.pgquern import house
from tools.pgquern.house import Failed
from tools.pgquern.registry import Entry


def command(entry: Entry) -> click.Command:
    """The command. Failed: a library that its program needs is not installed."""
    if entry.clone and not house.IS_SET_UP:
        return needs_clone(entry)
    if house.IS_SET_UP and entry.make and not entry.clone:
        house.make(entry.make)
    found = load(entry)
    chosen, parameters = dict(entry.set), list[click.Parameter]()
    by_name = {str(parameter.name): parameter for parameter in found.params}
    for name in [*entry.arguments, *(name for name in by_name if name not in entry.arguments)]:
        if name not in chosen and (not entry.only or name in entry.only):
            parameters.append(shown(by_name[name], entry))

    @click.pass_context
    def run(context: click.Context, /, **given: Any) -> None:
        values = given | {name: by_name[name].type_cast_value(context, value) for name, value in chosen.items()}
        for name, parameter in by_name.items():
            if name not in values:
                values[name], _ = parameter.handle_parse_result(context, {}, [])
        start(entry, found, values)

    return click.Command(
        entry.name,
        params=parameters,
        callback=run,
        help=example(entry) + (entry.help or found.help or ""),
        short_help=entry.says,
        epilog=found.epilog,
    )


def example(entry: Entry) -> str:
    """As a paragraph that click leaves as it is."""
    return f"\b\n{entry.example.strip()}\n\n" if entry.example else ""


def load(entry: Entry) -> click.Command:
    try:
        found = importlib.import_module(entry.program).main
    except ModuleNotFoundError as error:
        raise Failed(f"{entry.name} needs {error.name}, which is not installed: {how_to_install()}") from error
    except ImportError as error:
        raise Failed(f"{entry.name} cannot be loaded ({error}): {how_to_install()}") from error
    assert isinstance(found, click.Command)
    return found


def how_to_install() -> str:
    if house.IS_SET_UP:
        return f"run `make setup` in {house.TOP} again"
    return "install pgquern again, which brings what the command needs"


def shown(parameter: click.Parameter, entry: Entry) -> click.Parameter:
    """As an argument if it is one here; or as the option that it is, perhaps hidden."""
    if parameter.name in entry.arguments and isinstance(parameter, click.Option):
        word = max(parameter.opts, key=len).lstrip("-").upper()
        return click.Argument(
            [str(parameter.name)],
            type=parameter.type,
            required=parameter.required,
            default=parameter.default,
            metavar=word if parameter.required else f"[{word}]",
        )
    if parameter.name in entry.hide and isinstance(parameter, click.Option):
        parameter = copy.copy(parameter)
        parameter.hidden = True
    return parameter


def needs_clone(entry: Entry) -> click.Command:
    """What stands for a command that cannot run here: it takes any words, and says where it runs."""
    says = (
        f"{entry.name} needs what `make setup` installs: run that in {house.TOP} once, and then this again."
        if house.IS_CLONE
        else f"{entry.name} needs a clone of pgquern, because it compiles or runs what no installed package has. In the"
        f" clone run `make setup` once, and then `build/venv/bin/pgquern {entry.name}` with the same words."
    )

    def run(words: tuple[str, ...]) -> None:
        raise Failed(says)

    return click.Command(
        entry.name,
        params=[click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)],
        callback=run,
        help=example(entry) + says,
        short_help=entry.says,
        context_settings={"ignore_unknown_options": True},
    )


def start(entry: Entry, program: click.Command, values: Mapping[str, Any]) -> None:
    """Run a program. Its exit status is its own; what the system refuses becomes a sentence."""
    assert program.callback is not None
    try:
        if not entry.clone:
            program.callback(**values)
            return
        absolute = {name: there(value) if name in entry.files else here(name, value) for name, value in values.items()}
        variables = tuple((word, as_word(absolute[name])) for word, name in entry.variables if absolute[name])
        if entry.make:
            house.make(entry.make, variables)
        if entry.flags:
            several = {parameter.name for parameter in program.params if getattr(parameter, "multiple", False)}
            said = house.flags(entry.flags)
            absolute |= {name: found if name in several else found[-1] for name, found in said.items()}
        if Path.cwd() != house.TOP:
            click.echo(f"paths below are seen from {house.TOP}", err=True)
        with chdir(house.TOP):
            program.callback(**absolute)
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{os.fspath(error.filename)}: " if isinstance(error.filename, str | os.PathLike) else ""
        raise Failed(f"{where}{error.strerror or error}: mend that and try again") from error


def there(value: Any) -> Any:
    """A path that the user gave, absolute. Failed: nothing is there."""
    if not value:
        return value
    path = Path(value).absolute()
    if not path.exists():
        raise Failed(f"{value}: there is no such file or folder: correct the path")
    return type(value)(path) if isinstance(value, str) else path


def here(name: str, value: Any) -> Any:
    """A path of the user's for what is written, absolute; the program's own default stays, as seen from the clone."""
    source = click.get_current_context().get_parameter_source(name)
    return value.absolute() if isinstance(value, Path) and source is ParameterSource.COMMANDLINE else value


def as_word(value: Any) -> str:
    """A value as make's variable."""
    return "1" if value is True else str(value)
