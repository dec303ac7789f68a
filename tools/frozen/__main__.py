# SPDX-License-Identifier: PostgreSQL
"""Who holds a cluster's datfrozenxid back, how many XIDs and MultiXactIds are left, and what to do.

    python -m tools.frozen.__main__ [--where 'host=... dbname=...' or /path/to/data] [--since before.json] [--json]

Nothing is written anywhere. The exit status is 0 if all is well, 1 if something is to be done, 2 if nothing can be
said. All is well if no database is near the end of its ids, nothing older than autovacuum_freeze_max_age holds one
back, and vac_update_datfrozenxid would come to an end in each.
"""

import json
import sys
from pathlib import Path

import click

from tools.common.answer import json_option, print_json, safe
from tools.common.options import option
from tools.common.relation_file import os_words
from tools.frozen import files, server
from tools.frozen.answer import judge
from tools.frozen.state import State, StateError
from tools.frozen.words import document, lines, rates


class CannotAnswer(click.ClickException):
    """Nothing can be said."""

    exit_code = 2


def state_of(where: str) -> State:
    """Of what is named: a path has a slash, or is there."""
    path = Path(where)
    if not where or "=" in where or "://" in where or not ("/" in where or path.exists()):
        return server.state_of(where)
    if not path.is_dir():
        there = "it is no folder" if path.exists() else "there is no such folder"
        raise StateError(f"{path}: {there}: give a cluster's data directory, or a connection string")
    return files.state_of(path)


@click.command(
    help="""Who holds back the oldest XIDs of a cluster, how many are left, and what to do.

WHERE is a connection string, a URI, a database's name, or the data directory of a cluster, whose files are read then.
Without it libpq's environment counts (PGHOST, PGSERVICE, ...). Best as a superuser or a member of pg_monitor.
"""
)
@click.option("--where", default="", help="A connection string, a URI, a database's name, or a data directory.")
@click.option("--since", help="What --json printed earlier: then it says how long it takes, at the rate since.")
@json_option()
def main(where: str, since: str | None, as_json: bool) -> None:
    """Print the verdict; --help says of what."""
    try:
        answer = judge(state_of(where))
    except StateError as error:
        raise CannotAnswer(str(error)) from error
    rate = {}
    if since:
        try:
            rate = rates(answer, json.loads(Path(since).read_text()))
        except OSError as error:
            raise CannotAnswer(f"{since}: {os_words(Path(since), error)}") from error
        except ValueError as error:
            said = (
                error if isinstance(error, StateError) else "it is no document that pgquern frozen --json has printed"
            )
            raise CannotAnswer(f"{option('SINCE')}, {since}: {said}") from error
    if as_json:
        print_json(document(answer, rate))
    else:
        for line in lines(answer, rate):
            click.echo(safe(line))
    sys.exit(1 if answer.findings else 0)


if __name__ == "__main__":
    main()
