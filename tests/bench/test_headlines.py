# SPDX-License-Identifier: PostgreSQL
"""The headlines measured anew: what the files name is there, and a ratio above 1 says that an arm is faster."""

import pytest

from bench.headlines import Figure, Headline, Measured, facts, items_of, load, ratio
from bench.servers import found_in
from tests.upstream import kinds

ARMS = [{"name": "unchanged"}, {"name": "again"}, {"name": "ours", "kernels": ["k"]}]
TEXT = {
    "says": "", "prepare": "", "measure": "", "arm": ARMS, "against": ["unchanged"],
    "figure": [{"name": "time", "pattern": "", "unit": "s"}], "case": {"one": {"says": "a stream"}},
}  # fmt: skip


@pytest.mark.parametrize("stem", load())
def test_what_a_file_names_is_there(stem: str) -> None:
    assert {name for arm in load()[stem].arm for name in arm.kernels} <= set(kinds.load())


def test_each_text_that_is_put_in_only_by_name_is_measured() -> None:
    named = {name for one in load().values() for arm in one.arm for name in arm.kernels}
    assert {kind.name for kind in kinds.load().values() if kind.alone and not kind.finding} <= named


def test_the_first_two_arms_show_the_noise() -> None:
    with pytest.raises(ValueError, match="the first two arms are the unchanged server"):
        Headline.model_validate(TEXT | {"arm": [ARMS[0], ARMS[2], ARMS[1]]})
    with pytest.raises(ValueError, match="against names no arm: nobody"):
        Headline.model_validate(TEXT | {"against": ["nobody"]})


@pytest.mark.parametrize(("higher", "median"), [(False, 0.5), (True, 2.0)])
def test_a_ratio_above_one_says_that_an_arm_is_faster(higher: bool, median: float) -> None:
    figure = Figure(name="f", pattern="", unit="", higher=higher)
    found = ratio(figure, {"ours": [2.0, 4.0, 9.0], "unchanged": [1.0, 2.0, 3.0]}, "ours", "unchanged")
    assert found["median"] == median


def test_a_figure_is_found_in_what_a_measure_prints() -> None:
    assert found_in("tps = ([0-9.]+)", "number: 3\ntps = 512.5 (without)\n") == 512.5
    assert found_in("(?s)^([0-9.]+)\n.*\n([0-9.]+)\n$", "100.25\nBad checksums:  0\n103.75\n") == 3.5
    with pytest.raises(ValueError, match=r"has no figure .* it ends: FATAL"):
        found_in("tps = ([0-9.]+)", "FATAL")


def test_what_was_measured_stands_in_the_items_and_in_the_message_of_the_patch() -> None:
    headline = Headline.model_validate(TEXT)
    values = {"unchanged": [8.0, 4.0, 6.0], "again": [8.0, 4.0, 6.0], "ours": [2.0, 2.0, 2.0]}
    items = items_of(headline, [Measured("one", {"time": values}, load=[0.1])])
    assert [item["arm"] for item in items] == ["unchanged", "again", "ours"]
    assert items[0]["times"] == {}
    assert (items[2]["median"], items[2]["times"]["unchanged"]["median"]) == (2.0, 3.0)
    assert {item["status"] for item in items} == {"passed"}
    assert facts(headline, items, "ours") == ["a stream; time: 6 -> 2 s, 3.00 [2.00, 4.00] times as fast (rounds: 3)"]


@pytest.mark.parametrize("came_to", ["other", ""])
def test_servers_that_do_not_come_to_the_same_are_told(came_to: str) -> None:
    one = Measured("one", came_to={"unchanged": {"7"}, "ours": {"7", came_to}})
    assert one.fault("ours").startswith("the servers come to ")
    assert Measured("one", came_to={"unchanged": {"7"}, "ours": {"7"}}).fault("ours") == ""
    assert Measured("one", came_to={"unchanged": {""}, "ours": {""}}).fault("ours") != ""
