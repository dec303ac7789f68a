# SPDX-License-Identifier: PostgreSQL
"""Trace validation: TLC follows what real servers did, event by event (spec/snapbuild/TraceSnapbuild.tla).

A trace is recorded from each server, and one from the oracle's builder with the kernels under it; all of them, and some
with one event altered, go through the models' runner at once. `python -m tests.snapbuild.test_trace` records those that
are kept in spec/snapbuild/traces, for `make model` to follow without servers. About 45 s.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pgquern.snapbuild import Committed

from ref.snapbuild import SnapBuild, State
from ref.xid import XID
from tests.common.tally import tally
from tests.postgres.server import EMBEDDED, Build, Server
from tests.postgres.wrap import move_next_to_wrap
from tests.snapbuild.tracing import SETTINGS, Journal, record, record_creation
from tools.common import recordings, results

TOP = Path(__file__).resolve().parents[2]
JAR = TOP / "build" / "tools" / "tla2tools.jar"
SESSIONS, SEED = 6, 5
XIDS_BEFORE_WRAP = 17  # a file that is restored then has transactions in progress on both sides


@dataclass(frozen=True)
class Source:
    """Where a trace comes from."""

    name: str
    build: Build
    wrap: bool = False
    creation: bool = False

    def record(self) -> tuple[Journal, str]:
        with Server(self.build, settings=SETTINGS) as server:
            if self.wrap:
                move_next_to_wrap(server, XIDS_BEFORE_WRAP)
            if self.creation:
                journal = record_creation(server, sessions=8, seed=SEED)
            else:
                journal = record(server, rounds=12, sessions=SESSIONS, seed=SEED, restarts=3)
            return journal, server.build.version()


SOURCES = [
    Source("pg13", EMBEDDED[13]),
    Source("pg14_wrap", EMBEDDED[14], wrap=True),
    Source("pg15_wrap", EMBEDDED[15], wrap=True),
    Source("pg16", EMBEDDED[16]),
    Source("pg17_wrap", EMBEDDED[17], wrap=True),
    Source("pg18_wrap", EMBEDDED[18], wrap=True),
    Source("pg18_full", EMBEDDED[18], creation=True),
]
NAMES = [*(source.name for source in SOURCES), "oracle"]


# ---- our own builder ---------------------------------------------------------------------------------


class Simulation:
    """A server made up of random steps, and the oracle's builder with a kernel array behind it."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.journal = Journal(XID.size - XIDS_BEFORE_WRAP)
        self.running: list[int] = []
        self.records: list[tuple[int, int]] = []
        self.commits: dict[int, tuple[list[int], set[int]]] = {}

    def assign(self, top: int | None = None) -> int:
        xid = self.journal.next_xid
        self.journal.begin(xid, top)
        return xid

    def act(self) -> None:
        journal, rng = self.journal, self.rng
        if not self.running or (len(self.running) < SESSIONS and rng.random() < 0.3):
            self.running.append(self.assign())
            return
        top = rng.choice(self.running)
        match rng.choice(["change", "sub", "sub", "aborted sub", "commit", "commit", "abort"]):
            case "change":
                journal.change(top)
            case "sub" | "aborted sub" as step:
                sub = self.assign(top)
                if rng.random() < 0.7:
                    journal.change(sub)
                if step == "aborted sub":
                    journal.abort(sub)
            case "commit":
                subs = [x for x in journal.tree(top) if x != top and x not in journal.aborted]
                known = {top} if journal.changed & set(journal.tree(top)) else set()
                self.commits[top] = subs, known | journal.changed & set(subs)
                journal.commit(top)
                journal.end(top)
                self.running.remove(top)
            case _:
                journal.abort(top)
                self.running.remove(top)

    def log_running(self) -> None:
        oldest = self.running[0] if self.running else self.journal.next_xid
        self.records.append((oldest, self.journal.next_xid))
        self.journal.running(oldest, self.journal.next_xid)

    def decode(self) -> None:
        """Read the whole WAL: the oracle says what is tracked, the kernels keep the array."""
        journal, builder, array = self.journal, SnapBuild(), Committed()
        records = iter(self.records)
        for kind, xid in list(journal.wal):
            if kind == "running":
                was, before = builder.state, array.xip
                builder.running_xacts(*next(records))
                if was != State.CONSISTENT:
                    journal.read_running(state=builder.state.name)
                    continue
                array.purge(builder.xmin)
                written = {"committed": before}
                facts = {"before": len(before), "after": len(array.xip), "xmin": builder.xmin, "xmax": builder.xmax}
                journal.read_running(**facts, file=written)
            elif kind == "commit":
                subs, changed = self.commits[xid]
                if builder.commit_txn(xid, subs, changed):
                    added = [*(x for x in subs if x in changed), xid]
                    array.reserve(len(added))
                    array.insert(added, consistent=False)
                    journal.read_commit(added)
            assert array.xip == builder.committed
        journal.reads_on()


def simulate(seed: int) -> Journal:
    simulation = Simulation(seed)
    simulation.log_running()
    for _ in range(14):
        for _ in range(simulation.rng.randrange(1, 9)):
            simulation.act()
        simulation.log_running()
    simulation.decode()
    return simulation.journal


# ---- to be rejected ----------------------------------------------------------------------------------

Lines = list[dict[str, Any]]


def purge_keeps_one(lines: Lines) -> None:
    """The altered trace says that the last purge that drops something leaves one XID more than it did."""
    purge = [line for line in lines if line.get("before", 0) > line.get("after", 0)][-1]
    purge["after"] += 1


def commit_untold(lines: Lines) -> None:
    """The altered trace says that the builder logs nothing about the last commit that it tracked."""
    told = [line for line in lines if line.get("event") == "read_commit"][-1]
    told.clear()
    told["event"] = "read"


ALTERATIONS = {"pg13": purge_keeps_one, "pg16": commit_untold, "pg18_wrap": purge_keeps_one, "oracle": commit_untold}


# ---- through TLC -------------------------------------------------------------------------------------


def all_traces(folder: Path) -> dict[str, Journal]:
    """Record a trace of each sort into a folder."""
    journals = {}
    for source in SOURCES:
        journals[source.name], version = source.record()
        journals[source.name].write(folder / f"{source.name}{recordings.SUFFIX}", server=version)
    journals["oracle"] = simulate(SEED)
    journals["oracle"].write(folder / f"oracle{recordings.SUFFIX}", server="ref/snapbuild.py and the kernels")
    return journals


@dataclass(frozen=True)
class Replayed:
    """The recorded traces, and the verdict of TLC on each trace and each `NAME_altered`."""

    journals: dict[str, Journal]
    items: dict[str, dict[str, Any]]


def of_traces(models: str) -> str:
    """The bases of models.toml, the runs that follow traces, and the same runs of the altered traces."""
    head, *tables = re.split(r"^(?=\[)", models, flags=re.MULTILINE)
    kept = [head]
    for table in tables:
        if not table.startswith("[runs."):
            kept.append(table)
        elif table.startswith(("[runs.TraceSnapbuild]", "[runs.up_to_15]")):
            title, *rows = table.splitlines()
            rows = [row for row in rows if row.startswith("small_")]
            for name in ALTERATIONS:
                mine = [row for row in rows if row.startswith(f"small_{name} ")]
                rows += [re.sub(rf'(small_|"){name}\b', rf"\1{name}_altered", row) for row in mine]
            kept.append("\n".join([title, *rows, ""]))
    return "".join(kept)


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    """All through the models' runner, in a copy of spec/ that holds nothing else."""
    if not JAR.is_file():
        pytest.skip(f"no {JAR}: run `make setup`")
    top = tmp_path_factory.mktemp("trace")
    shutil.copytree(TOP / "spec" / "common", top / "spec" / "common")
    stem = top / "spec" / "snapbuild"
    (stem / "traces").mkdir(parents=True)
    for module in (TOP / "spec" / "snapbuild").glob("*.tla"):
        shutil.copy(module, stem)
    (top / "build" / "tools").mkdir(parents=True)
    (top / "build" / "tools" / JAR.name).symlink_to(JAR)

    journals = all_traces(stem / "traces")
    for name, alter in ALTERATIONS.items():
        lines = recordings.load(stem / "traces" / f"{name}{recordings.SUFFIX}")
        alter(lines)
        recordings.save(stem / "traces" / f"{name}_altered{recordings.SUFFIX}", lines)
    (stem / "models.toml").write_text(of_traces((TOP / "spec" / "snapbuild" / "models.toml").read_text()))
    command = [sys.executable, str(TOP / "spec" / "run.py"), "--stem", "snapbuild", "--accept"]
    subprocess.run(command, cwd=top, check=False, capture_output=True)
    (result,) = results.load(top / "build" / "results")
    return Replayed(
        journals, {item.name.removeprefix("TraceSnapbuild_small_"): item.model_dump() for item in result.items}
    )


@pytest.mark.servers
@pytest.mark.whole
@pytest.mark.parametrize("name", NAMES)
def test_a_trace_is_accepted_whole(replayed: Replayed, name: str) -> None:
    journal, item = replayed.journals[name], replayed.items[name]
    assert (item["result"], item["property"]) == ("success", None), item["reason"]
    # One state for each step, and the first one: no event was left out, and none was followed twice.
    assert item["depth"] == item["distinct"] == len(journal.events) + 1
    tally("snapbuild", "events of traces followed by the model", len(journal.events))


@pytest.mark.servers
@pytest.mark.whole
@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_altered_trace_is_rejected_where_it_is_altered(replayed: Replayed, name: str) -> None:
    item, events = replayed.items[f"{name}_altered"], replayed.journals[name].events
    assert (item["result"], item["property"]) == ("violation", "deadlock"), item["reason"]
    if ALTERATIONS[name] is commit_untold:
        at = max(i for i, event in enumerate(events) if event["event"] == "read_commit")
    else:
        at = max(i for i, event in enumerate(events) if event.get("before", 0) > event.get("after", 0))
    assert item["trace_length"] == at + 1


@pytest.mark.servers
@pytest.mark.whole
def test_the_traces_are_worth_looking_at(replayed: Replayed) -> None:
    for name, journal in replayed.journals.items():
        kinds = [event["event"] for event in journal.events]
        if name == "pg18_full":  # what happens while a slot is created is a matter of time
            assert "read_commit" in kinds
            continue
        assert kinds.count("read_commit") >= 3, name
        assert kinds.count("abort") >= 3, name
        assert any(event["event"] == "read_commit" and len(event["added"]) > 1 for event in journal.events), name
        assert ("restart" in kinds) == (name != "oracle"), name
        xids = [event["xid"] for event in journal.events if event["event"] == "begin"]
        across = any(b < a for a, b in pairwise(xids))
        assert across == (name.endswith("_wrap") or name == "oracle"), name
    full = [event for event in replayed.journals["pg18_full"].events if "next_phase_at" in event]
    assert [event["next_phase_at"] != 0 for event in full] == [True, True, False]
    for name, journal in replayed.journals.items():
        if name in ("pg18_full", "oracle"):
            continue
        # After a restart: XIDs are purged that are known from a file or, before 16, from a running-xacts record.
        assert sum(sum(event.get("catchange", [])) > 0 for event in journal.events) >= 2, name
        # By the latter, a subtransaction that changed nothing counts as one that did, with all of its transaction.
        subs = {x for event in journal.events if event["event"] == "read_commit" for x in event["added"][:-1]}
        assert (not subs <= journal.changed) == name.startswith(("pg13", "pg14", "pg15")), name
        # What 13 does differently: the only change of a transaction that commits was rolled back.
        rolled_back = [
            event["xid"]
            for event in journal.events
            if event["event"] == "commit"
            and journal.changed & set(journal.tree(event["xid"]))
            and not journal.changed & {event["xid"], *event["subs"]}
        ]
        assert rolled_back, name
    # Across the wrap upstream's purge of catchange.xip leaves XIDs that it drops elsewhere.
    left = {
        name: sum(event["catchange"][1] for event in replayed.journals[name].events if "catchange" in event)
        for name in ("pg16", "pg18_wrap")
    }
    assert left["pg16"] < left["pg18_wrap"]


if __name__ == "__main__":  # record the traces that the models follow without servers
    all_traces(TOP / "spec" / "snapbuild" / "traces")
