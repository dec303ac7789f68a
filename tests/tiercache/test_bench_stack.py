# SPDX-License-Identifier: PostgreSQL
"""What the I/O stack's benchmark aims at, and the tables of its figures, on made-up results."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tools.common import results
from tools.stack import __main__ as stack
from tools.stack import targets
from tools.stack.__main__ import over_rounds
from tools.stack.targets import PLAIN, WHOLE

RANGES = {"transactions_a_second": 0.1, "commit_p99_ms": 0.5}


def item(device: str, parts: str, transactions: float, commit: float, threads: int = 8) -> dict[str, Any]:
    """A configuration whose rounds lie 10 and 50 per cent around the medians."""
    middle = {"transactions_a_second": transactions, "commit_p99_ms": commit}
    around = {key: [value * (1 - RANGES[key]), value * (1 + RANGES[key])] for key, value in middle.items()}
    protection = "images" if "images" in parts else "none"
    return {"device": device, "parts": parts, "protection": protection, "threads": threads, "range": around} | middle


ITEMS = [
    item("file", PLAIN, 100, 10),
    item("file", "two parts, images", 250, 6),
    item("file", "two parts", 900, 1),
    item("file", WHOLE, 210, 6),
]


def test_each_target_has_its_distance() -> None:
    found = {target.title: target for target in targets.of(ITEMS)}
    assert list(found) == [
        "transactions of all four, beside two parts, images",
        "99th percentile of a commit of all four, beside two parts, images",
        "transactions of all four, beside the plain stack with images",
        "99th percentile of a commit of all four, beside the plain stack with images",
    ]  # not beside what does not protect pages
    assert [round(target.ratio, 6) for target in found.values()] == [0.84, 1.0, 2.1, 0.6]
    assert [target.reached for target in found.values()] == [False, True, True, False]
    assert [target.wanted for target in found.values()] == [
        "at least 1.0",
        "at most 1.0",
        "at least 2.0",
        "at most 0.5",
    ]
    smaller = found["transactions of all four, beside two parts, images"]
    assert [smaller.least, smaller.most] == pytest.approx([0.84 * 0.9 / 1.1, 0.84 * 1.1 / 0.9])


def test_a_device_without_the_whole_stack_has_no_target() -> None:
    assert targets.of(ITEMS[:3]) == targets.of(ITEMS[1:]) == []


def test_a_run_in_which_nothing_ended_says_what_to_do() -> None:
    with pytest.raises(Exception, match="--seconds"):
        over_rounds([{"reads": {"n": 0}, "commits": {"n": 0}, "store": {}}])


def figures(transactions: int) -> dict[str, Any]:
    """What the program prints of a run."""
    latency = {"n": transactions // 2, "p50": 1000, "p99": 2000, "p999": 3000}
    written = {"reads": 5, "writes": 4, "bytes_written": 1 << 20}
    files = dict.fromkeys(("store", "ssd", "log", "area"), written)
    return {"reads": latency, "commits": latency, "seconds": 0.5, "checkpoint_ms": 7.0} | files


def test_a_script_gets_all_figures_and_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert len(found["aims"]) > 4
    assert all(f"{aim['ratio']:.2f}" in words for aim in found["aims"])
    monkeypatch.setattr(stack, "run", lambda *_: figures(0))
    done = CliRunner().invoke(stack.main, ["--json"])
    assert (done.exit_code, done.stdout, "give more with --seconds" in done.stderr) == (1, "", True)
