# SPDX-License-Identifier: PostgreSQL
"""The engine's reads beside those of fio, on made-up times, and the table of the figures."""

from bench.prefetch.fio import beside
from bench.prefetch.report import figures
from tools.common.results import Result


def test_a_ratio_is_of_one_round() -> None:
    rounds = [({"sync": 900.0, "uring_direct": 200.0}, 100.0), ({"sync": 800.0, "uring_direct": 100.0}, 200.0)]
    (ours,) = beside(4, rounds)
    assert (ours["variant"], ours["by_round"], ours["times"]) == ("uring_direct", [0.5, 2.0], 1.25)
    assert (ours["ns"], ours["fio_ns"]) == (150.0, 150.0)


def test_a_faster_variant_stands_beside() -> None:
    found = beside(1, [({"sync": 50.0, "uring_direct": 100.0}, 100.0)])
    assert [(item["variant"], item["times"]) for item in found] == [("uring_direct", 1.0), ("sync", 2.0)]


def test_the_figures_have_each_window() -> None:
    items = beside(16, [({"uring_direct": 100.0}, 90.0), ({"uring_direct": 100.0}, 110.0)])
    result = Result.model_validate(
        dict.fromkeys(("says", "commit", "cpu", "cpu_level"), "") | {"layer": "fio", "stem": "prefetch", "rounds": 2}
        | {"finished": "2026-01-01T00:00:00Z", "seconds": 1, "tools": {"fio": "fio-3.33"}, "items": items}
    )  # fmt: skip
    assert "| 16 | uring_direct | 100 | 100 | 1.00 [0.90, 1.10] |" in figures([result])
