# SPDX-License-Identifier: PostgreSQL
"""pgquern: what people run on their own files and kernels, in one command. build/venv/bin/pgquern runs this."""

import signal

from tools.pgquern import interrupts

if __name__ == "__main__":
    interrupts.end_the_program()  # until all is imported: the launcher has blocked them

import io
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from tools.pgquern import house, program
from tools.pgquern.registry import GROUPS, Entry, entries

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

HELP = """Verified kernels for PostgreSQL: look into files of your own, put a kernel of your own on trial.

Files are read only, but for `mount`. Exit status: 0 all is well, 1 something is wrong, 2 nothing could be done; a
sentence says what to do. `pgquern COMMAND --help` says more.
"""
EPILOG = 'Completion: eval "$(_PGQUERN_COMPLETE=bash_source pgquern)" in ~/.bashrc; else zsh_source or fish_source.'


class Commands(click.Group):
    """The commands of the registry. A program is loaded when it is asked for, so that --help is fast, and a library
    that one of them lacks keeps no other from running."""

    def __init__(self, found: dict[str, Entry], **settings: Any) -> None:
        super().__init__(**settings)
        self.found = found

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.found)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.found:
            return None
        try:
            return program.command(self.found[cmd_name])
        except house.Failed:
            if ctx.resilient_parsing:  # a shell completes a line
                return None
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in self.found or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        import difflib  # what few calls need is loaded by them, here and in the programs

        near = difflib.get_close_matches(name, self.found, 1)
        more = f"did you mean {near[0]}?" if near else "pgquern --help lists them"
        raise click.UsageError(f"there is no command {name!r}: {more}", ctx)

    def invoke(self, ctx: click.Context) -> Any:
        """Ctrl-C, and a reader that goes away, are no verdict: not 1, as click would end, but what a shell says."""
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # a file's name may be no UTF-8
        try:
            with interrupts.raised():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Aborted!", err=True)
            ctx.exit(128 + signal.SIGINT)
        except MemoryError as error:
            raise house.Failed(f"this takes more memory than there is ({error or 'no more is given'})") from error
        except (BrokenPipeError, SystemExit) as error:
            if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
                raise
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
            ctx.exit(128 + signal.SIGPIPE)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.found))
        for group, heading in GROUPS.items():
            with formatter.section(heading):
                rows = [(name.ljust(width), entry.says) for name, entry in self.found.items() if entry.group == group]
                formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        names = [name for name in self.found if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=self.found[name].says) for name in names), *options]


def say_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(house.version())
        context.exit()


main = Commands(
    entries(house.TOP),
    name="pgquern",
    help=HELP,
    epilog=EPILOG,
    context_settings={"max_content_width": 120},
    params=[
        click.Option(
            ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=say_version,
            help="The version, and the commit if it is known.",
        )
    ],
)  # fmt: skip


def start() -> None:
    """As the program `pgquern`. A fault of ours is no verdict either: Python itself would end with 1."""
    try:
        main(prog_name="pgquern")
    except OSError as error:  # of stdout: what a program meets has its sentence
        click.echo(f"Error: {error}", err=True)
        # Or Python writes there again at its end, fails, and ends with another code.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)
    except Exception:
        import traceback

        traceback.print_exc()
        sys.exit(2)


if __name__ == "__main__":
    start()
