# SPDX-License-Identifier: PostgreSQL
"""The lag of a real standby: the emulated storage in front of a program's files, and one short run of all of it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bench.prefetch.endtoend.standby import STEPS, build, main
from bench.prefetch.report import context, figures
from tools.common import results
from tools.common.results import Result
from tools.trace.record import why_no_strace

READER = """
import ctypes, os, select, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
for step in sys.argv[2:]:
    block = int(step[1:])
    if step[0] == "a":
        os.posix_fadvise(fd, block * 8192, 8192, os.POSIX_FADV_WILLNEED)
    elif step[0] == "s":
        select.select([], [], [], block / 1000)
    elif step[0] == "v":
        # Python's own preadv calls another function.
        pages = [ctypes.create_string_buffer(8192) for _ in range(2)]
        vector = (ctypes.c_size_t * 4)(ctypes.addressof(pages[0]), 8192, ctypes.addressof(pages[1]), 8192)
        assert ctypes.CDLL(None).preadv(fd, vector, 2, ctypes.c_long(block * 8192)) == 16384
        assert [page.raw for page in pages] == [bytes([block + k]) * 8192 for k in range(2)]
    else:
        assert os.pread(fd, 8192, block * 8192) == bytes([block]) * 8192
"""
COLD_MICROSECONDS = 20_000


@pytest.mark.parametrize(
    ("folder", "steps", "waits"),
    [
        ("base", "r0", 1),
        ("base", "r0 r0", 2),  # it is cold again
        ("base", "a0 s40 r0", 0),
        ("base", "a0 s40 r0 r0", 1),
        ("base", "a0 s40 r1", 1),
        ("base", "a0 a1 a2 s40 r0 r1 r2", 0),  # all at once
        ("base", "a0 a0 s40 r0 r0", 1),
        ("base", "v0", 1),
        ("base", "a0 s40 v0", 1),
        ("base", "a0 a1 s40 v0", 0),
        ("pg_wal", "r0 r1", 0),
    ],
)
def test_cold_reads_wait_and_advised_ones_do_not(tmp_path: Path, folder: str, steps: str, waits: int) -> None:
    """Each wait is one call of the clock, so no time is measured."""
    if reason := why_no_strace():
        pytest.skip(reason)
    file = tmp_path / folder / "5" / "16384"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"".join(bytes([block]) * 8192 for block in range(4)))
    preload = ["-E", f"LD_PRELOAD={build(tmp_path)}", "-E", f"COLD_MICROSECONDS={COLD_MICROSECONDS}"]
    command: list[str | Path] = ["strace", *preload, "-o", tmp_path / "trace", "-e", "trace=clock_nanosleep"]
    subprocess.run([*command, sys.executable, "-c", READER, file, *steps.split()], check=True)
    assert (tmp_path / "trace").read_text().count("clock_nanosleep(") == waits


@pytest.mark.servers
@pytest.mark.whole
def test_a_short_run_draws_what_it_saw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seconds a step tell nothing of the lag; each step is there, and the report shows them."""
    written: list[Result] = []

    def write(*words: Any, **more: Any) -> Result:
        written.append(results_write(*words, **more, folder=tmp_path))
        return written[-1]

    results_write = results.write
    monkeypatch.setattr(results, "write", write)
    options = {"seconds": 2, "latency": 500, "rate": 50, "scale": 1, "picture": tmp_path / "lag.svg"}
    said = CliRunner().invoke(main, [f"--{name}={value}" for name, value in options.items()])
    assert said.exit_code == 0, said.output
    (result,) = written
    assert [item.name for item in result.items] == [f"step {n}, concurrency {c}" for n, c in enumerate(STEPS, 1)]
    assert result.model_dump()["rate"] > 0
    lag = result.model_dump()["lag"]
    assert lag["time"] == sorted(lag["time"])
    assert 0 <= min(lag["lag"]) <= max(lag["lag"]) <= len(STEPS) * 2
    assert "<svg" in (tmp_path / "lag.svg").read_text()
    assert "<svg" in context(written)["picture"]
    assert len([line for line in figures(written) if line.startswith("| step ")]) == len(STEPS)
    assert not os.environ.get("LD_PRELOAD")
