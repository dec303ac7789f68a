# SPDX-License-Identifier: PostgreSQL
"""The stem's own tests, of which those with the candidate are chosen. It runs in a host: tools/judge/cage.h.

python -m tools.judge.child DESCRIPTOR ORDER

ORDER is an Order as JSON. What came out is written to the descriptor as JSON, if the process lives to do it.
"""

import ctypes
import importlib
import json
import os
import re
import resource
import sys
import time
from collections.abc import Generator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tools.judge.kinds import kind_of
from tools.judge.last import Keeper

NAME = "candidate"
TEST_CPU = 60
"""CPU seconds of a single test: a candidate far slower than ours still comes to its end."""
OPTIONS = ("-x", "-q", "--no-header", "--disable-warnings", "--capture=sys", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class Order:
    """What the process is to do."""

    files: list[str]
    loops: list[str]
    """Tests without a variant in their name, which loop over all."""
    paths: str
    """Where the binding is."""
    current: str
    """The file that holds the name of the test that runs."""
    seed: int | None = None
    """Of Hypothesis, for other inputs than the usual ones; the tests then run in the opposite order."""
    kind: str = ""
    """Of the candidate: no other variant of it is tested."""
    last: str = os.devnull
    """The file that holds the candidate's last call."""
    without: list[str] = field(default_factory=list)
    """Tests that are left out."""


@dataclass
class Told:
    """What came out."""

    code: int = 0
    """pytest's exit code."""
    node: str = ""
    """The test that failed."""
    text: str = ""
    """What pytest says of it."""
    calls: dict[str, int] = field(default_factory=dict)
    """Of the candidate, by test."""
    namespaces: bool = True
    """The candidate has namespaces of its own, as far as it runs in a process of its own."""


def counted(name: str = "pgq_judge_calls_made") -> int:
    """The calls of the candidate so far; or another count of the binding."""
    return ctypes.c_ulong.in_dll(ctypes.CDLL(sys.modules["_pgquern"].__file__), name).value


def hide_others(kind: str) -> None:
    """Of the kind's variants the candidate alone seems to run on this CPU; the others can still be called by name."""
    from _pgquern import ffi
    from pgquern import variants

    hidden = {ffi.addressof(row) for row in variants.rows(kind)}
    fields, row_of = variants.fields, variants.row_of

    def shown(row: Any) -> dict[str, Any]:
        found = fields(row)
        alone = found["name"] == NAME or ffi.addressof(row) not in hidden
        return found | {"supported": found["supported"] and alone}

    def by_name(kind: str, variant: str) -> Any:
        named = (row for row in variants.rows(kind) if fields(row)["name"] == variant and fields(row)["supported"])
        return next(named, None) or row_of(kind, variant)

    variants.fields, variants.row_of = shown, by_name


def keep_last(kind: str, keeper: Keeper) -> None:
    """If the stem can see the calls of its binding, the candidate's last one is kept."""
    stem = kind_of(kind).stem
    if Path("tests", stem, "judged.py").exists():
        importlib.import_module(f"tests.{stem}.judged").keep(keeper)


def is_one_of(item: pytest.Item, nodes: list[str]) -> bool:
    return any(item.nodeid == node or item.nodeid.startswith((f"{node}[", f"{node}::")) for node in nodes)


class Plugin:
    """Chooses the tests and keeps what they say."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.told = Told()
        self.last = Keeper(Path(order.last))

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        chosen = settings(database=None, report_multiple_bugs=False, derandomize=self.order.seed is None)
        settings.register_profile("judge", chosen)
        settings.load_profile("judge")
        if self.order.kind:
            hide_others(self.order.kind)
            keep_last(self.order.kind, self.last)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if self.concerns(item)]
        # First those that find the smallest input with which the candidate fails; last those of random ones.
        items.sort(key=lambda item: (not hasattr(getattr(item, "obj", None), "hypothesis"), "extracted" in item.nodeid))
        if self.order.seed is not None:
            items.reverse()

    def concerns(self, item: pytest.Item) -> bool:
        """Whether a test has the candidate as a parameter (its name, `purge candidate`, its row), or loops over all."""
        given = getattr(getattr(item, "callspec", None), "params", {})
        if is_one_of(item, self.order.without):
            return False
        if any(re.search(rf"\b{NAME}\b", str(value)) for value in given.values()):
            return True
        return "variant" not in given and is_one_of(item, self.order.loops)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        Path(self.order.current).write_text(item.nodeid)
        self.last.forget()
        limit = int(time.process_time()) + TEST_CPU
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        before = counted()
        ended = yield
        self.told.calls[item.nodeid] = counted() - before
        return ended

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """What ends the process from now on, such as the look for leaks, is in no test."""
        Path(self.order.current).write_text("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.told.node:
            self.told.node, self.told.text = report.nodeid, report.longreprtext

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.told.node:
            self.told.node, self.told.text = report.nodeid, report.longreprtext


def main(descriptor: int, order: Order) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    plugin = Plugin(order)
    seed = [] if order.seed is None else [f"--hypothesis-seed={order.seed}"]
    plugin.told.code = int(pytest.main([*OPTIONS, *seed, "-o", f"pythonpath={order.paths}", *order.files], [plugin]))
    plugin.told.namespaces = "_pgquern" not in sys.modules or not counted("pgq_judge_open")
    with os.fdopen(descriptor, "w") as out:
        json.dump(asdict(plugin.told), out)


if __name__ == "__main__":
    main(int(sys.argv[1]), Order(**json.loads(sys.argv[2])))
