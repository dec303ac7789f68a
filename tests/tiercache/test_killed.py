# SPDX-License-Identifier: PostgreSQL
"""A process that writes through the cache on real files is killed at random moments: what it synced is there."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

from ref.tiercache import SECTOR
from tests.common.tally import tally
from tests.tiercache.killed import PAGES, open_cache, page_of

KILLS = 6


def run_and_kill(folder: Path, first: int, rng: Random) -> int:
    """The last number that an fsync of the process has covered before it was killed."""
    command = [sys.executable, "-m", "tests.tiercache.killed", str(folder), str(first)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(rng.randrange(1, 30))]
        time.sleep(rng.random() / 100)
        process.send_signal(signal.SIGKILL)
        # What comes after the last newline is cut off.
        told += [int(line) for line in process.stdout.read().split("\n")[:-1]]
    return told[-1]


def test_what_was_synced_survives_sigkill(tmp_path: Path) -> None:
    rng, first = Random(5), 1
    synced: dict[int, int] = {}
    for _ in range(KILLS):
        last = run_and_kill(tmp_path, first, rng)
        for n in range(first, last + 1):
            synced[page_of(n)] = n
        cache = open_cache(tmp_path)
        newest = last
        for page in range(PAGES):
            contents = cache.read(page)
            for at in range(0, len(contents), SECTOR):
                n = int.from_bytes(contents[at : at + 8], "little")
                assert n >= synced.get(page, 0)
                assert n == 0 or page_of(n) == page
                newest = max(newest, n)
        cache.close()
        if rng.random() < 0.3:
            (tmp_path / "ssd").unlink()
        first = newest + 1
    tally("tiercache", "kills", KILLS)
