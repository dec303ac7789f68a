# SPDX-License-Identifier: PostgreSQL
"""Mount a data directory, so that no crash tears a page of it: pgquern mount DATA MOUNTPOINT"""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click

from tools.common.answer import json_option, print_json

PROGRAM = Path(__file__).resolve().parents[2] / "build/mount/pgquern-mount"
STATUS = ".pgquern-status"


class Refused(click.ClickException):
    """Nothing was done. The text is a sentence that says what to do."""

    exit_code = 2


def mounts() -> dict[Path, Path]:
    """What is mounted: by mount point, the data directory."""
    found = dict[Path, Path]()
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, source, *_ = after.split()
        if kind == "fuse.pgquern":
            where = (word.encode().decode("unicode_escape") for word in (before.split()[4], source))
            point, data = map(Path, where)
            found[point] = data
    return found


@dataclass
class Done:
    """What was done for a class: requests, their bytes, and of their times the median and the 99th percentile."""

    requests: int
    bytes: int
    median_ns: int
    p99_ns: int


@dataclass
class Class:
    """Those who ask: their share, how many of their requests to the disk are not done yet, and what is."""

    share: int
    queue: int
    done: dict[str, Done] = field(default_factory=dict)


@dataclass
class Figures:
    """What --status shows; `values` by name."""

    values: dict[str, str | int]
    classes: dict[str, Class]


def status_file(path: Path) -> Path:
    """Of the mount that `path` is, or whose data directory it is."""
    point = next((point for point, data in mounts().items() if path.resolve() in (point, data)), None)
    if point is None:
        raise Refused(f"{path} is not mounted: pgquern mount DATA MOUNTPOINT mounts it")
    return point / STATUS


def figures(path: Path) -> Figures:
    """Read them. tools/mount/figures.h has the form."""
    values, classes = dict[str, str | int](), dict[str, Class]()
    for line in status_file(path).read_text().splitlines():
        name, _, value = line.partition(" ")
        words = value.split()
        if name == "class":
            classes[words[0]] = Class(int(words[1]), int(words[2]))
        elif name == "done":
            classes[words[0]].done[words[1]] = Done(*map(int, words[2:]))
        else:
            values[name] = int(value) if value.isdecimal() else value
    return Figures(values, classes)


def set_shares(path: Path, shares: str) -> None:
    """Give the classes of a mount new shares, now."""
    try:
        with status_file(path).open("w") as file:
            file.write(shares)
    except OSError as error:
        wrong = figures(path).values["said_last"] if error.errno == errno.EINVAL else error
        raise Refused(str(wrong)) from error


def table(classes: dict[str, Class]) -> Iterator[str]:
    """Its lines. Of times, microseconds."""
    yield f"{'class':14}{'share':>6}{'queue':>7}  {'':6}{'requests':>11}{'bytes':>16}{'median us':>11}{'p99 us':>11}"
    for name, one in classes.items():
        first = f"{name:14}{one.share:>6}{one.queue:>7}"
        kinds = {kind: d for kind, d in one.done.items() if d.requests}
        if not kinds:
            yield first
        for kind, d in kinds.items():
            times = f"{d.median_ns / 1000:>11.1f}{d.p99_ns / 1000:>11.1f}"
            yield f"{first:27}  {kind:6}{d.requests:>11}{d.bytes:>16}{times}"
            first = ""


def cache_words(
    data: Path, mountpoint: Path, protect: str, cache: int | None, ssd: Path | None, ssd_size: int
) -> list[str]:
    """What the program is given of the cache. Refused where the file cannot be."""
    if cache is None and ssd is None:
        return []
    if protect == "none":
        raise Refused("--protect none: all passes through, so no page comes to a cache; leave out --cache and --ssd")
    words = [str(cache or 256)]
    if ssd is not None:
        if any(ssd.resolve().is_relative_to(folder.resolve()) for folder in (data, mountpoint)):
            raise Refused(f"--ssd {ssd}: it must lie outside the data directory and the mount point")
        words += [str(ssd.absolute()), str(ssd_size)]
    return words


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.argument("mountpoint", type=click.Path(path_type=Path), required=False)
@click.option(
    "--protect", type=click.Choice(["double-write", "none"]), default="double-write", show_default=True,
    help="How a page is kept from being torn by a crash.",
)  # fmt: skip
@click.option(
    "--memory", type=click.IntRange(8, 1 << 20), default=256, show_default=True,
    help="MB of pages that wait for their write-back, at most.",
)  # fmt: skip
@click.option(
    "--cache", type=click.IntRange(1, 1 << 20),
    help="MB of pages that were read or written, in memory, above the kernel's own cache; none if not given, and 256 "
    "with --ssd.",
)  # fmt: skip
@click.option(
    "--ssd", type=click.Path(path_type=Path, dir_okay=False),
    help="A file on a fast disk, or the disk: more room for these pages. It may be lost at any time, and begins empty.",
)  # fmt: skip
@click.option("--ssd-size", type=click.IntRange(8, 1 << 21), default=1024, show_default=True, help="MB of it.")
@click.option(
    "--wal", type=click.Choice(["direct", "through"]), default="direct", show_default=True,
    help="pg_wal as a link to that of DATA, past the mount; or through it, where the server cannot see DATA.",
)  # fmt: skip
@click.option(
    "--shares",
    help="Who gets how much of the disk: backend=500,checkpointer=200,autovacuum=200,writeback=100 is the default, "
    "and any of these may be given. Without MOUNTPOINT: of the mount that DATA is, from now on.",
)
@click.option("--foreground", is_flag=True, help="Stay in the foreground: for systemd, and containers.")
@click.option("--status", is_flag=True, help="Show what the mount of DATA, or at that mount point, has done.")
@json_option()
def main(
    data: Path, mountpoint: Path | None, protect: str, memory: int, cache: int | None, ssd: Path | None, ssd_size: int,
    wal: str, shares: str | None, foreground: bool, status: bool, as_json: bool,
) -> None:  # fmt: skip
    """Show the data directory DATA at MOUNTPOINT. A server of PostgreSQL 13 to 18 that runs on MOUNTPOINT may have
    full_page_writes = off: pages are written twice, and a page that a crash tears is repaired at the next mount.

    Mount as the user who owns DATA, or as root. Until it is unmounted no server starts on DATA itself.
    """
    if mountpoint is None and shares is not None:
        set_shares(data, shares)
        status = True
    if not status:
        if mountpoint is None:
            raise click.UsageError("MOUNTPOINT is missing: give an empty folder outside DATA")
        words = [*map(str, (PROGRAM, data, mountpoint, protect, memory, wal))]
        words += ["foreground" if foreground else "background", shares or ""]
        words += cache_words(data, mountpoint, protect, cache, ssd, ssd_size)
        sys.stdout.flush()
        if foreground:
            os.execv(PROGRAM, words)
        if done := subprocess.run(words).returncode:
            sys.exit(done)
    shown = figures(data)
    if as_json:
        print_json(shown.values | {"classes": {name: asdict(one) for name, one in shown.classes.items()}})
    elif status:
        for name, value in shown.values.items():
            click.echo(f"{name.replace('_', ' '):28}{value}")
        click.echo("\n".join(table(shown.classes)))
    else:
        point = shown.values["mountpoint"]
        click.echo(f"{shown.values['data']} is at {point}; pgquern unmount {point} ends that")


if __name__ == "__main__":
    main()
