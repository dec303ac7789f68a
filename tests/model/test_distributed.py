# SPDX-License-Identifier: PostgreSQL
"""TLC's distributed mode is judged by what it prints, and is not asked what it cannot answer."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from spec.distributed import wrong
from spec.tools import distributed, models
from spec.tools.models import Holds, ModelError, Run, Settings, Violates
from spec.tools.outcome import Outcome

HELD = """\
TLC server at here is ready (2026-01-01 00:00:00)
Registration for worker at rmi://localhost:0/0 completed (2026-01-01 00:00:01)
Model checking completed. No error has been found.
7220 states generated, 2134 distinct states found, 0 states left on queue.
The depth of the complete state graph search is 18.
"""
VIOLATED = """\
Registration for worker at rmi://localhost:0/0 completed (2026-01-01 00:00:01)
Error: The behavior up to this point is:
State 1: <Initial predicate>
x = 5

6 states generated, 6 distinct states found, 0 states left on queue.
"""
HOLDS = Holds(states=2134, depth=20)


def run(expected: Holds | Violates = HOLDS, **settings: object) -> Run:
    checked = Settings.model_validate({"specification": "Spec", **settings})
    return Run("stem", "MCM_small", Path("spec/stem/MCM.tla"), "small", "Says.", checked, expected, 30, 0)


def test_what_holds_has_its_states_and_its_depth_is_not_looked_at() -> None:
    seen = distributed.parse(HELD, 0)
    assert (seen.result, seen.distinct, seen.depth) == ("success", 2134, None)
    assert wrong(run(), seen) == ""
    assert wrong(run(Holds(states=2135)), seen) == "states: accepted 2135, now 2134"
    assert "no number of states" in wrong(run(Holds()), seen)
    assert "must violate Safe" in wrong(run(Violates(invariant="Safe")), seen)


def test_a_violation_without_a_name_is_one_though_the_exit_code_is_0() -> None:
    seen = distributed.parse(VIOLATED, 0)
    assert (seen.result, seen.property) == ("violation", None)
    named = distributed.parse("Error: Invariant Safe is violated by the initial state:\n", 0)
    assert (named.result, named.property) == ("violation", "Safe")
    assert wrong(run(), named) == "Safe is violated"
    assert wrong(run(Violates(invariant="Safe")), named) == ""
    assert "but violates Safe" in wrong(run(Violates(invariant="Other")), named)


@pytest.mark.parametrize(
    ("output", "code", "reason"),
    [
        (HELD, 1, "exit code 1"),
        (HELD.replace("Model checking completed", ""), 0, "no verdict"),
        (HELD.replace("0 states left", "3 states left"), 0, "states left on its queue"),
        (HELD.replace("Registration", "x"), 0, "no worker has joined"),
        (HELD + "Error: out of memory\n", 0, "out of memory"),
        ("", 0, "no verdict"),
    ],
)
def test_what_is_neither_fails(output: str, code: int, reason: str) -> None:
    seen = distributed.parse(output, code)
    assert seen.result == "error"
    assert reason in seen.reason
    assert wrong(run(), seen) == seen.reason
    assert wrong(run(Violates(invariant="Safe")), seen) == seen.reason


def test_a_server_that_fell_over_is_started_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "server.log"
    fell = "Error: TLC threw an unexpected exception.\nThe exception was a java.lang.NullPointerException\n"
    outputs: list[str] = []

    def attempt(*_: object) -> Outcome:
        log.write_text(outputs.pop(0))
        return replace(distributed.parse(log.read_text(), 0), log=log)

    def verdict(*said: str) -> Outcome:
        outputs[:] = said
        return distributed.execute(run(), tmp_path, 2, 30)

    monkeypatch.setattr(distributed, "attempt", attempt)
    assert verdict(fell, fell, HELD).result == "success"
    assert verdict(fell, VIOLATED).result == "violation"
    assert verdict(*[fell] * distributed.ATTEMPTS).result == "error"
    assert verdict("Error: out of memory\n", HELD).result == "error"  # another fault is told at once
    assert outputs == [HELD]


def test_properties_are_refused_or_left_out() -> None:
    with pytest.raises(ModelError, match=r"has properties, Ends: .*SAFETY=1"):
        distributed.safety(run(properties=["Ends"], invariants=["Safe"]), without_properties=False)
    left = distributed.safety(run(properties=["Ends"], invariants=["Safe"]), without_properties=True)
    assert (left.settings.invariants, left.settings.properties) == (["Safe"], [])
    for expected in (Violates(liveness="Ends"), Violates(action="Ends")):
        with pytest.raises(ModelError, match="must violate Ends"):
            distributed.safety(run(expected, properties=["Ends"]), without_properties=True)
    with pytest.raises(ModelError, match="Apalache"):
        distributed.safety(replace(run(), module=Path("spec/stem/APM.tla")), without_properties=True)


def smallest(*, must_fail: bool) -> Run:
    """Of all stems the run that this mode can check with the fewest states, or the shortest trace."""
    fit = [
        one
        for one in models.find(Path("spec"))
        if one.must_fail == must_fail
        and not one.settings.properties
        and not one.symbolic
        and one.module.stem[:2] == "MC"
        if not isinstance(one.expected, Violates) or one.expected.invariant
    ]
    return min(
        fit, key=lambda one: (one.expected.model_dump().get("states") or one.expected.model_dump()["trace"], one.key)
    )


@pytest.mark.tools
@pytest.mark.parametrize("must_fail", [False, True])
def test_two_workers_say_what_models_toml_says(must_fail: bool) -> None:
    one = smallest(must_fail=must_fail)
    words = [f"STEM={one.stem}", f"RUN={one.name}", "WORKERS=2"]
    done = subprocess.run(["make", "-s", "model-distributed", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    said = (
        f"violates {one.expected.property}" if isinstance(one.expected, Violates) else f"{one.expected.states:,} states"
    )
    assert f"{one.key}: {said}, by a server and 2 workers" in done.stdout


def test_a_violation_that_tlc_alone_does_not_find_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    import spec.distributed as program

    class Nothing:
        outcome = Outcome(result="success", distinct=2134)

    monkeypatch.setattr(program, "run_all", lambda runs, how: [Nothing()])
    seen = program.named(run(), distributed.parse(VIOLATED, 0), Path("build"))
    assert seen.result == "error"
    assert "TLC alone does not find" in wrong(run(), seen)
