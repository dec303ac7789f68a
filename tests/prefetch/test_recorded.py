# SPDX-License-Identifier: PostgreSQL
"""Trace validation: TLC follows a recovery recorded now, call by call (spec/prefetch/TraceRecoveryPrefetch.tla).

It accepts the recorded trace, and refuses three with one call altered. To record those that are kept in
spec/prefetch/traces, which `make model` follows without servers: `python -m tests.prefetch.test_recorded`. About 30 s.
"""

import random
import tempfile
from pathlib import Path

import pytest

from tests.common.tally import tally
from tests.postgres.server import DEBIAN, EMBEDDED
from tests.prefetch import tla
from tests.prefetch.test_servers import after_its_read, dropped, one_too_many
from tests.prefetch.tlc import JAR, SPEC, altered, follow
from tools.common import recordings
from tools.trace.record import crashed, record, why_no_strace

KEPT = {  # the traces of spec/prefetch/traces: the server, maintenance_io_concurrency, shared_buffers
    "debian15_0": (DEBIAN, 0, "128MB"),
    "pg15_3": (EMBEDDED[15], 3, "128MB"),
    "pg18_32": (EMBEDDED[18], 32, "128MB"),
    "pg15_small": (EMBEDDED[15], 10, "256kB"),
}
KEPT_UPDATES, KEPT_ROWS = 20, 3000
UPDATES, ROWS, CONCURRENCY = 8, 1000, 3
ALTERATIONS = {"dropped": dropped, "late": after_its_read, "early": one_too_many}


@pytest.mark.servers
@pytest.mark.whole
def test_a_recorded_recovery_is_accepted_whole_and_refused_where_it_is_altered(tmp_path: Path) -> None:
    if not JAR.is_file():
        pytest.skip(f"no {JAR}: run `make setup`")
    if reason := why_no_strace():
        pytest.skip(reason)
    with crashed(EMBEDDED[18], UPDATES, ROWS) as crash:
        run = record(crash, [CONCURRENCY], tmp_path / "recovery")
    calls, whole = run.calls().calls, tla.lines(run)
    followed = {"whole": whole}
    for name, alter in ALTERATIONS.items():
        tampered = alter(calls, random.Random(name))
        followed[name] = altered(whole, list(map(tla.event, tampered.calls)), tampered.wrong)
    unaltered = {"said": altered(whole, whole[1:], 20)}  # it is said to be altered, and is not
    items = follow(tmp_path / "models", {"Recorded": followed, "Unaltered": unaltered})
    assert items["Recorded"]["result"] == "success", items["Recorded"]["reason"]
    assert items["Unaltered"]["property"] == "deadlock"
    assert len(calls) > 50
    assert {call.what for call in calls} == {"advise", "read"}
    tally("prefetch", "events of a recorded recovery followed by the model", len(calls))


def record_kept(into: Path) -> None:
    """Record the traces that the models follow without servers."""
    for name, (build, concurrency, shared_buffers) in KEPT.items():
        with tempfile.TemporaryDirectory() as folder, crashed(build, KEPT_UPDATES, KEPT_ROWS) as crash:
            run = record(crash, [concurrency], Path(folder) / name, shared_buffers)
            followed = run.followed()
            print(f"{name}: {len(followed.steps)} events, {followed.peak} in flight, {followed.told} pages were gone")
            recordings.save(into / f"{name}{recordings.SUFFIX}", tla.lines(run))


if __name__ == "__main__":
    record_kept(SPEC / "traces")
