# SPDX-License-Identifier: PostgreSQL
"""Unmount what `pgquern mount` has mounted, or recover a data directory after a crash: pgquern unmount PATH"""

import fcntl
import os
import subprocess
from pathlib import Path

import click

from tools.common.answer import json_option, print_json
from tools.common.relation_file import MOUNTED
from tools.mount.__main__ import PROGRAM, Refused, mounts


def end(point: Path) -> None:
    """Ask the kernel. A mount whose program was killed answers nobody, and is let go of."""
    try:
        os.statvfs(point)
        lazily = False
    except OSError:
        lazily = True
    program = ["umount", *["-l"] * lazily] if os.getuid() == 0 else ["fusermount3", "-uz" if lazily else "-u"]
    done = subprocess.run([*program, os.fspath(point)], capture_output=True, text=True)
    if done.returncode:
        raise Refused(
            f"{done.stderr.strip()}\nIf a server runs on it, stop that first (pg_ctl stop -D {point}), and try again."
        )


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@json_option()
def main(path: Path, as_json: bool) -> None:
    """Unmount PATH, a mount point or its data directory, once no server runs on it. After a crash of the machine or of
    the program PATH is the data directory: it is repaired. Then it is an ordinary data directory."""
    here = Path(os.path.abspath(path))
    data = here.resolve() if here not in mounts() else here
    ended = False
    for point, source in mounts().items():
        if here == point or data == source:
            end(point)
            data, ended = source, True
    # A folder in which no initdb has run may have been mounted, too.
    if not ended and not (data / "base").is_dir() and not (data / MOUNTED).exists():
        raise Refused(f"{path} is neither mounted nor a data directory that was: correct the path")
    directory = os.open(data, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(directory, fcntl.LOCK_SH)  # the program has it until all is in its place
    os.close(directory)
    if (data / MOUNTED).exists():
        subprocess.run([PROGRAM, data], check=False)
    if (data / MOUNTED).exists():
        raise Refused(f"{data} is not recovered: mend what is said above, and try again")
    if as_json:
        print_json({"data": str(data)})
    else:
        click.echo(f"{data} is an ordinary data directory again")


if __name__ == "__main__":
    main()
