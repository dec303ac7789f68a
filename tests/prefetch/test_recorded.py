# SPDX-License-Identifier: PostgreSQL
"""Trace validation: TLC follows a recovery recorded now, call by call (spec/prefetch/TraceRecoveryPrefetch.tla).

The recorded trace, and three with one call altered, go through the models' runner. To record those that are kept in
spec/prefetch/traces, which `make model` follows without servers: `python -m tests.prefetch.test_recorded`. About 30 s.
"""

import random
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.postgres.server import DEBIAN, EMBEDDED
from tests.prefetch.test_servers import Tampered, after_its_read, dropped, one_too_many
from tests.prefetch.trace import tla
from tests.prefetch.trace.record import Recorded, crashed, record, why_no_strace
from tests.tally import tally
from tools import results

TOP = Path(__file__).resolve().parents[2]
SPEC = TOP / "spec" / "prefetch"
JAR = TOP / "build" / "tools" / "tla2tools.jar"
KEPT = {  # the traces of spec/prefetch/traces: the server, and maintenance_io_concurrency
    "debian15_0": (DEBIAN, 0),
    "debian15_1": (DEBIAN, 1),
    "pg15_3": (EMBEDDED[15], 3),
    "pg18_10": (EMBEDDED[18], 10),
}
KEPT_UPDATES, KEPT_ROWS = 20, 3000
UPDATES, ROWS, CONCURRENCY = 8, 1000, 3
ALTERATIONS = {"dropped": dropped, "late": after_its_read, "early": one_too_many}


@dataclass(frozen=True)
class Followed:
    """A recorded recovery; TLC's verdict and the events it followed, by run; the altered traces."""

    run: Recorded
    items: dict[str, dict[str, Any]]
    done: dict[str, int]
    altered: dict[str, Tampered]


def run_of(name: str) -> str:
    """The lines of models.toml that follow a trace."""
    return (
        f"[run.TraceRecoveryPrefetch_small_{name}]\n"
        'says = "A recorded recovery."\n'
        f'definitions = {{ Trace = "{name}" }}\n'
        "holds = {}\n\n"
    )


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Followed:
    """All through the models' runner, in a copy of spec/ that holds nothing else."""
    if not JAR.is_file():
        pytest.skip(f"no {JAR}: run `make setup`")
    if reason := why_no_strace():
        pytest.skip(reason)
    top = tmp_path_factory.mktemp("recorded")
    with crashed(EMBEDDED[18], UPDATES, ROWS) as crash:
        run = record(crash, CONCURRENCY, top / "recovery")

    stem = top / "spec" / "prefetch"
    (stem / "traces").mkdir(parents=True)
    for module in SPEC.glob("*.tla"):
        shutil.copy(module, stem)
    shutil.copy(SPEC / "traces" / "pg15_3.jsonl", stem / "traces")  # the module has alterations of it
    (top / "spec" / "README.md").touch()
    (top / "build" / "tools").mkdir(parents=True)
    (top / "build" / "tools" / JAR.name).symlink_to(JAR)

    head, *events = tla.lines(run)
    altered = {name: alter(run.calls().calls, random.Random(name)) for name, alter in ALTERATIONS.items()}
    traces = {"whole": events} | {name: [tla.event(call) for call in item.calls] for name, item in altered.items()}
    base = re.search(r"^\[base\.TraceRecoveryPrefetch\].*?(?=^\[run)", (SPEC / "models.toml").read_text(), re.M | re.S)
    assert base is not None
    for name, found in traces.items():
        tla.write(stem / "traces" / f"{name}.jsonl", [head, *found])
    (stem / "models.toml").write_text(base[0] + "".join(map(run_of, traces)))
    command = [sys.executable, str(TOP / "spec" / "run.py"), "--stem", "prefetch", "--accept"]
    subprocess.run(command, cwd=top, check=False, capture_output=True)
    (result,) = results.load(top / "build" / "results")
    items = {item.name.removeprefix("TraceRecoveryPrefetch_small_"): item.model_dump() for item in result.items}
    logs = {name: top / "build/model/prefetch" / f"TraceRecoveryPrefetch_small_{name}" / "log" for name in altered}
    done = {name: int(re.findall(r"/\\ done = (\d+)", log.read_text())[-1]) for name, log in logs.items()}
    return Followed(run, items, done, altered)


@pytest.mark.servers
def test_a_recorded_recovery_is_accepted_whole(followed: Followed) -> None:
    item, events = followed.items["whole"], followed.run.calls().calls
    assert (item["result"], item["property"]) == ("success", None), item["reason"]
    assert item["depth"] == item["distinct"], "the model has one behaviour for a trace"
    assert len(events) > 50
    assert {call.what for call in events} == {"advise", "read"}
    tally("prefetch", "events of a recorded recovery followed by the model", len(events))


@pytest.mark.servers
@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_altered_trace_is_refused_where_it_is_altered(followed: Followed, name: str) -> None:
    item = followed.items[name]
    assert (item["result"], item["property"]) == ("violation", "deadlock"), item["reason"]
    assert followed.done[name] == followed.altered[name].wrong - 1


def record_kept(into: Path) -> None:
    """Record the traces that the models follow without servers."""
    for name, (build, concurrency) in KEPT.items():
        with tempfile.TemporaryDirectory() as folder, crashed(build, KEPT_UPDATES, KEPT_ROWS) as crash:
            tla.write(into / f"{name}.jsonl", tla.lines(record(crash, concurrency, Path(folder) / name)))


if __name__ == "__main__":
    record_kept(SPEC / "traces")
