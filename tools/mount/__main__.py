# SPDX-License-Identifier: PostgreSQL
"""Mount a data directory, so that no crash tears a page of it: pgquern mount DATA MOUNTPOINT"""

import os
import subprocess
import sys
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


def figures(path: Path) -> dict[str, str | int]:
    """What --status shows of the mount that `path` is, or whose data directory it is."""
    point = next((point for point, data in mounts().items() if path.resolve() in (point, data)), None)
    if point is None:
        raise Refused(f"{path} is not mounted: pgquern mount DATA MOUNTPOINT mounts it")
    pairs = (line.partition(" ") for line in (point / STATUS).read_text().splitlines())
    return {name: int(value) if value.isdecimal() else value for name, _, value in pairs}


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
    "--wal", type=click.Choice(["direct", "through"]), default="direct", show_default=True,
    help="pg_wal as a link to that of DATA, past the mount; or through it, where the server cannot see DATA.",
)  # fmt: skip
@click.option("--foreground", is_flag=True, help="Stay in the foreground: for systemd, and containers.")
@click.option("--status", is_flag=True, help="Show what the mount of DATA, or at that mount point, has done.")
@json_option()
def main(
    data: Path, mountpoint: Path | None, protect: str, memory: int, wal: str, foreground: bool, status: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Show the data directory DATA at MOUNTPOINT. A server of PostgreSQL 13 to 18 that runs on MOUNTPOINT may have
    full_page_writes = off: pages are written twice, and a page that a crash tears is repaired at the next mount.

    Mount as the user who owns DATA, or as root. Until it is unmounted no server starts on DATA itself.
    """
    if not status:
        if mountpoint is None:
            raise click.UsageError("MOUNTPOINT is missing: give an empty folder outside DATA")
        words = [*map(str, (PROGRAM, data, mountpoint, protect, memory, wal)), "background"]
        sys.stdout.flush()
        if foreground:
            os.execv(PROGRAM, [*words[:-1], "foreground"])
        if done := subprocess.run(words).returncode:
            sys.exit(done)
    shown = figures(data)
    if as_json:
        print_json(shown)
    elif status:
        for name, value in shown.items():
            click.echo(f"{name.replace('_', ' '):28}{value}")
    else:
        click.echo(f"{shown['data']} is at {shown['mountpoint']}; pgquern unmount {shown['mountpoint']} ends that")


if __name__ == "__main__":
    main()
