# SPDX-License-Identifier: PostgreSQL
"""Whether a recorded recovery does what recovery prefetching must do, or the first event that does not.

Give the strace of the startup process, and the WAL that it replayed as pg_waldump lists it. tests/README.md says how
both are recorded. Exits with 0 if the trace conforms, with 1 if it does not, with 2 if it cannot be read, or if what is
left open is too much to try it all.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tools.common.answer import json_option, print_json
from tools.common.options import option
from tools.trace.follow import DECODE_BUFFER, Followed, follow
from tools.trace.listing import ListingError, read_listing
from tools.trace.strace import StraceError, Trace, read_strace

FIRST_MAJOR, LAST_MAJOR = 15, 18
MOST_CONCURRENCY = 1000
"""MAX_IO_CONCURRENCY of upstream's bufmgr.h."""


def default_concurrency(major: int) -> int:
    """maintenance_io_concurrency, by default. ValueError: a major without recovery prefetching, or a later one."""
    if major < FIRST_MAJOR:
        raise ValueError(f"PostgreSQL {major} has no recovery prefetching; {FIRST_MAJOR} is the first that has it")
    if major > LAST_MAJOR:
        raise ValueError(f"what recovery prefetching must do in PostgreSQL {major} is not known here")
    return 16 if major >= 18 else 10


def concurrencies_of(_: click.Context, __: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    """10, or 10,32: what it was first, and what it was set to later."""
    if text is None:
        return None
    found = tuple(map(int, text.split(","))) if re.fullmatch(r"\d{1,4}(,\d{1,4})*", text) else ()
    if not found or max(found) > MOST_CONCURRENCY:
        raise click.BadParameter(
            f"{text!r} is no maintenance_io_concurrency (0 to {MOST_CONCURRENCY}), nor some with commas between"
        )
    return found


@click.command(help=__doc__)
@click.option("--strace", "trace_path", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--wal", "wal_path", required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--version", "major", default=15, show_default=True, help="The major version of the server.")
@click.option(
    "--concurrency",
    "concurrencies",
    callback=concurrencies_of,
    help="maintenance_io_concurrency; with commas, also what it was set to during the recovery. The default is that of "
    "the version.",
)
@click.option(
    "--buffers", default=16384, show_default=True, type=click.IntRange(1), help="shared_buffers, in pages of 8 KiB."
)
@click.option(
    "--decode",
    default=DECODE_BUFFER >> 10,
    show_default=True,
    help="wal_decode_buffer_size, in kB.",
    type=click.IntRange(64),
)
@json_option()
def main(
    trace_path: Path,
    wal_path: Path,
    major: int,
    concurrencies: tuple[int, ...] | None,
    buffers: int,
    decode: int,
    as_json: bool,
) -> None:
    """Hold a trace against the definition."""
    try:
        usual = default_concurrency(major)  # also if another is given: it refuses majors
        limits = concurrencies or (usual,)
        trace = read_strace(trace_path)
        records = read_listing(wal_path)
    except (StraceError, ListingError, ValueError) as error:
        click.echo(f"trace-check: {error}", err=True)
        sys.exit(2)
    followed = follow(records, trace, limits, buffers, decode << 10)
    if as_json:
        print_json(of_recovery(followed, trace, limits, decode))
    else:
        click.echo(conforms(followed, trace, limits, decode))
    sys.exit(0 if not followed.mismatch else 2 if followed.undecided else 1)


def of_recovery(followed: Followed, trace: Trace, limits: Sequence[int], decode: int) -> dict[str, Any]:
    """What a script reads. `wrong_event` counts from 1; one past the last is one that is missing."""
    calls, wrong = trace.calls, followed.wrong
    advises = sum(call.what == "advise" for call in calls)
    word = "not decided" if followed.undecided else "does not conform"
    return {
        "says": conforms(followed, trace, limits, decode),
        "concurrencies": list(limits),
        "advises": advises,
        "reads": len(calls) - advises,
        "wrong_event": wrong,
        "wrong_line": calls[wrong - 1].line if wrong and wrong <= len(calls) else None,
        "last_line": calls[-1].line if calls else None,
        "verdict": word if followed.mismatch else "conforms",
        "mismatch": followed.mismatch,
        "records": followed.replayed,
        "explained": sum(step.lsn is not None for step in followed.steps),
        "told_by_the_trace_alone": followed.told,
        "most_in_flight": followed.peak,
        "changes": [{"after_event": at, "concurrency": to} for at, to in followed.changes],
        "never_came": max(len(limits) - 1 - len(followed.changes), 0),
        "decode_kb": decode,
        "decode_was_full": followed.full,
        "counters": followed.counters,
    }


def conforms(followed: Followed, trace: Trace, limits: Sequence[int], decode: int) -> str:
    """The verdict in words."""
    if followed.mismatch:
        verdict = (
            "not decided: much is left open, and not all of it was tried."
            if followed.undecided
            else "does not conform."
        )
        return (
            f"{verdict} {followed.mismatch} With a decode buffer of {decode} kB look-ahead "
            f"{'stopped at times' if followed.full else 'never stopped'} for want of room: if wal_decode_buffer_size "
            f"was another, give {option('DECODE')}."
        )
    counters = ", ".join(f"{name} {count}" for name, count in followed.counters.items())
    told = f", {followed.told} of them known from the trace alone: shared_buffers is small" if followed.told else ""
    changed = "".join(f" It was set to {to} after event {at}." for at, to in followed.changes)
    if len(limits) - 1 > len(followed.changes):
        changed += f" Of the concurrencies given, {len(limits) - 1 - len(followed.changes)} never came."
    last = f"; the last event is in line {trace.calls[-1].line}" if trace.calls else ""
    return (
        f"conforms: {len(followed.steps)} advises and reads are those of {followed.replayed} records{told}{last}. At "
        f"most {followed.peak} of {max(limits)} advises were in flight.{changed}\n"
        f"pg_stat_recovery_prefetch must show: {counters}"
    )


if __name__ == "__main__":
    main()
