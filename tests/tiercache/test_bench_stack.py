# SPDX-License-Identifier: PostgreSQL
"""The tables of the I/O stack's figures, on made-up results."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tools.common import results
from tools.stack import __main__ as stack
from tools.stack.__main__ import over_rounds


def test_a_run_in_which_nothing_ended_says_what_to_do() -> None:
    with pytest.raises(Exception, match="--seconds"):
        over_rounds([{"reads": {"n": 0}, "commits": {"n": 0}, "store": {}}])


def figures(transactions: int) -> dict[str, Any]:
    """What the program prints of a run."""
    latency = {"n": transactions // 2, "p50": 1000, "p99": 2000, "p999": 3000}
    written = {"reads": 5, "writes": 4, "bytes_written": 1 << 20}
    files = dict.fromkeys(("store", "ssd", "log", "area"), written)
    return {"reads": latency, "commits": latency, "seconds": 0.5, "checkpoint_ms": 7.0} | files


def test_a_script_gets_all_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On stdout the result that is written, which has what the tables have."""
    monkeypatch.setattr(stack, "FILES", tmp_path / "files")
    monkeypatch.setattr(stack, "run", lambda one, folder, seconds, threads: figures(2000 * threads + len(one.parts)))
    monkeypatch.setattr(results, "write", partial(results.write, folder=tmp_path))
    done = CliRunner().invoke(stack.main, ["--rounds", "2", "--json"], catch_exceptions=False)
    found = json.loads(done.stdout)
    assert (done.exit_code, found) == (0, json.loads((tmp_path / "stack" / "tiercache.json").read_text()))
    words = CliRunner().invoke(stack.main, ["--rounds", "2"], catch_exceptions=False).stdout
    for item in found["items"]:
        assert item["parts"] in words
    for item in found["items"] + found["sweep"]:
        assert f"{item['transactions_a_second']:,.0f}" in words
    monkeypatch.setattr(stack, "run", lambda *_: figures(0))
    done = CliRunner().invoke(stack.main, ["--json"])
    assert (done.exit_code, done.stdout, "give more with --seconds" in done.stderr) == (1, "", True)
