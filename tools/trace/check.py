# SPDX-License-Identifier: PostgreSQL
"""Whether a recorded recovery does what recovery prefetching must do, or the first event that does not.

Give the strace of the startup process, and the WAL that it replayed as pg_waldump lists it. tests/README.md says how
both are recorded. Without the WAL only a bound can be checked: an advise that is missing looks like a cached block.
Exits with 0 if the trace conforms (or the bound holds), with 1 if it does not conform, with 2 if it cannot be read, if
what is left open is too much to try it all, or if the bound does not hold: that alone proves nothing wrong.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tools.common import picture as pictures
from tools.common.answer import json_option, print_json
from tools.common.options import option
from tools.trace.follow import DECODE_BUFFER, Followed, follow
from tools.trace.listing import ListingError, read_listing
from tools.trace.picture import depths, draw
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
@click.option("--wal", "wal_path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
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
@pictures.option("Where a timeline is drawn, if anywhere.")
@json_option()
def main(
    trace_path: Path,
    wal_path: Path | None,
    major: int,
    concurrencies: tuple[int, ...] | None,
    buffers: int,
    decode: int,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Hold a trace against the definition."""
    try:
        usual = default_concurrency(major)  # also if another is given: it refuses majors
        limits = concurrencies or (usual,)
        trace = read_strace(trace_path)
        records = read_listing(wal_path) if wal_path else None
    except (StraceError, ListingError, ValueError) as error:
        click.echo(f"trace-check: {error}", err=True)
        sys.exit(2)
    if records is None:
        wrong, verdict = check_bound(trace, max(limits))
        holds, undecided = wrong is None, True
        found = {**of_trace(trace, limits, wrong, verdict), "verdict": "bounds hold" if holds else "not decided"}
    else:
        followed = follow(records, trace, limits, buffers, decode << 10)
        verdict = conforms(followed, trace, limits, decode)
        holds, wrong, undecided = not followed.mismatch, followed.wrong, followed.undecided
        found = of_recovery(followed, trace, limits, decode)
    if not as_json:
        click.echo(verdict)
    drawing = draw(trace.calls, max(limits), wrong, picture) if picture else None
    if as_json:
        print_json({**found, "picture": drawing})
    elif drawing:
        click.echo(f"timeline: {drawing}")
    sys.exit(0 if holds else 2 if undecided else 1)


def of_trace(trace: Trace, limits: Sequence[int], wrong: int | None, says: str) -> dict[str, Any]:
    """What a script reads, of any verdict. `wrong` counts events from 1; one past the last is one that is missing."""
    calls = trace.calls
    advises = sum(call.what == "advise" for call in calls)
    return {
        "says": says,
        "concurrencies": list(limits),
        "advises": advises,
        "reads": len(calls) - advises,
        "wrong_event": wrong,
        "wrong_line": calls[wrong - 1].line if wrong and wrong <= len(calls) else None,
        "last_line": calls[-1].line if calls else None,
    }


def of_recovery(followed: Followed, trace: Trace, limits: Sequence[int], decode: int) -> dict[str, Any]:
    """What a script reads, of a recovery that was held against its WAL."""
    word = "not decided" if followed.undecided else "does not conform"
    return {
        **of_trace(trace, limits, followed.wrong, conforms(followed, trace, limits, decode)),
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


def check_bound(trace: Trace, limit: int) -> tuple[int | None, str]:
    """The first event that passes the bound, if any, and the verdict."""
    depth = depths(trace.calls)
    wrong = next((event for event, count in enumerate(depth, 1) if count > limit), None)
    advises = sum(call.what == "advise" for call in trace.calls)
    if wrong is None:
        return None, (
            f"bounds hold: at most {max(depth, default=0)} of {limit} advised blocks were unread at any time "
            f"({advises} advises, {len(trace.calls) - advises} reads). Whether each advise came when it had to, only "
            f"the WAL can tell: give {option('WAL', 'listing')}."
        )
    return wrong, (
        f"not decided: after event {wrong}, line {trace.calls[wrong - 1].line} of the trace, {limit + 1} advised "
        f"blocks are unread; the concurrency is {limit}. That is wrong only if each is read later: some records advise "
        f"a block and never read it. Give {option('WAL', 'listing')}."
    )


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
