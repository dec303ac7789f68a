# SPDX-License-Identifier: PostgreSQL
"""The simulated device, and what `pgquern simulate` says of it. What is claimed of the scheduler there, that judges."""

import doctest
import json
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from tools.common import results
from tools.pgquern.registry import entries
from tools.simulate import __main__ as simulate
from tools.simulate import adapts, sweep
from tools.simulate.__main__ import ALL_BACKLOGGED, SEED, outcome
from tools.simulate.device import (
    AUTOVACUUM,
    LIMITS,
    Backlog,
    Simulation,
)


def test_a_lone_class_gets_the_whole_device() -> None:
    """Work conservation: the autovacuum alone is served as fast as all four classes together."""
    lone = outcome([Backlog(AUTOVACUUM, 64)], "sfq", 0.2)
    together = outcome(ALL_BACKLOGGED, "sfq", 0.2)
    assert lone.a_second(AUTOVACUUM) > 0.98 * sum(together.a_second(cls) for cls in range(4))


def test_the_worst_of_a_sweep_is_told() -> None:
    figures = dict.fromkeys(adapts.runs(), (100.0, 10.0))
    figures |= {adapts.Run("depth 4", 0.5): (70.0, 10.0), adapts.Run("depth 4", 2.0): (100.0, 30.0)}
    assert adapts.found(figures, ["depth 1", "depth 4"]) == [
        adapts.Found("depth 1", 1.0, 0.0, 1.0, 0.0),
        adapts.Found("depth 4", 0.7, 0.5, 3.0, 2.0),
    ]


# ---- where the claim ends ------------------------------------------------------------------------


def at(point: sweep.Point) -> sweep.Found:
    """What the sweep finds at a point."""
    axis = sweep.Axis("one point", (0,), 0, 0, lambda _: point)
    return sweep.found_at(axis, 0, {run: run.p99() for run in sweep.runs([axis])})


def test_a_longer_request_takes_longer() -> None:
    """Of n pages (1 + n) / 2 times as long, so that the device does so many fewer of them, and more bytes."""
    unlimited = LIMITS._replace(least=64, start=64, most=64)
    short, long = (
        Simulation([Backlog(AUTOVACUUM, 64, pages=pages)], "fifo", SEED, limits=unlimited).run(0.2) for pages in (1, 7)
    )
    assert short.a_second(AUTOVACUUM) / long.a_second(AUTOVACUUM) == pytest.approx(4, rel=0.03)


@pytest.mark.parametrize(
    ("point", "alone", "fifo"),
    [
        (sweep.Point(), True, True),
        (sweep.Point(foreground=0.6), False, False),
        (sweep.Point(backlog=8), True, False),
        (sweep.Point(warp=0), False, True),
        (sweep.Point(warp=2**18), False, True),
    ],
    ids=str,
)
def test_the_sweep_sees_where_the_claim_ends(
    monkeypatch: pytest.MonkeyPatch, point: sweep.Point, alone: bool, fifo: bool
) -> None:
    """Each bound on its own."""
    monkeypatch.setattr(sweep, "SECONDS", 0.15)
    monkeypatch.setattr(sweep, "SEEDS", (3,))
    found = at(point)
    assert (found.times_alone <= sweep.AT_MOST, found.below_fifo >= sweep.AT_LEAST) == (alone, fifo)
    assert found.holds == (alone and fifo)


def test_the_claim_is_made_around_the_base() -> None:
    """Each axis claims something, and has values for which nothing is claimed; but the target, of which any will do."""
    for axis in sweep.AXES:
        claimed = {axis.at(value) for value in axis.values if axis.first <= value <= axis.last}
        assert claimed
        assert len(claimed) < len(axis.values) or "target" in axis.title


def test_the_sweep_keeps_the_worst_of_the_seeds() -> None:
    axis = sweep.AXES[0]
    p99 = dict.fromkeys(sweep.runs([axis]), 100.0)
    _, sfq, fifo = sweep.three(axis.at(50), sweep.SEEDS[-1])
    p99 |= {sfq: 150.0, fifo: 300.0}
    found = sweep.found_at(axis, 50, p99)
    assert (found.times_alone, found.below_fifo) == (1.5, 1.0)


# ---- what is told --------------------------------------------------------------------------------


@pytest.mark.parametrize("slow", [1.2, 1.6])
def test_a_script_gets_all_targets(slow: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the loads simulated for a moment, whose own targets need longer, and made-up figures of the sweeps; `slow`:
    the p99 of the foreground at one of its points, times that alone. The exit status says whether all hold."""
    loads = {name: load() for name, load in simulate.simulations(0.1).items()}
    p99 = {run: 10.0 if run.variant == "fifo" else 1.1 if run.beside else 1.0 for run in sweep.runs()}
    p99 |= {run: slow for run in sweep.runs() if run.beside and run.variant == "sfq" and run.point.depth == 6}
    devices = dict.fromkeys(adapts.runs(), (100.0, 10.0))
    monkeypatch.setattr(simulate, "all_done", lambda *_: (loads, p99, devices))
    monkeypatch.setattr(simulate, "targets", lambda _: [])
    monkeypatch.setattr(results, "write", partial(results.write, folder=tmp_path))
    done = CliRunner().invoke(simulate.main, ["--json"], catch_exceptions=False)
    found = json.loads(done.stdout)
    assert found == json.loads((tmp_path / "simulation" / "ioshares.json").read_text())
    holds = slow <= sweep.AT_MOST
    assert done.exit_code == (0 if holds else 1)
    missed = [item["name"] for item in found["items"] if item["status"] == "failed"]
    assert missed == ([] if holds else ["depth of the device: 4 to 8: sfq, times alone"])
    points = {(axis["title"], point["value"]): point for axis in found["sweep"] for point in axis["points"]}
    assert points["depth of the device", 6]["holds"] == holds
    words = CliRunner().invoke(simulate.main, [], catch_exceptions=False).stdout
    example = entries(Path(__file__).parents[2])["simulate"].example.partition("simulate\n")[2]
    assert doctest.OutputChecker().check_output(example.strip(), words.strip(), doctest.ELLIPSIS), words
    assert all(f"{item['reached']:,.2f}" in words for item in found["items"])
    assert all(f"{p['times_alone']:.2f}/{p['below_fifo']:.2f}" in words for p in points.values())
