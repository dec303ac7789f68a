# SPDX-License-Identifier: PostgreSQL
"""A job that is run again: its members tell of the last run alone. What a run opens is for no child."""

import errno
import fcntl
import os
from collections.abc import Sequence
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern.variants import row_of

from tests.prefetch.files import VARIANTS, page, skip_unless_it_runs

SIZE, CONCURRENCY, BUFFERS = 200, 16, 20
SIZES = [SIZE]
TOLD = ("step_count", "used", "rested", "combined", "calls", "registered", "error_number")
every = pytest.mark.parametrize("variant", VARIANTS)


class Job:
    """One job for several runs. The kernel says that it has nothing cached."""

    def __init__(self, fds: Sequence[int], blocks: Sequence[int]) -> None:
        self.blocks, self.wrong = blocks, list[int]()
        self.fds = ffi.new("int[]", list(fds))
        self.accesses = ffi.new("pgq_prefetch_access[]", [(0, block) for block in blocks])
        self.use = ffi.callback("void(void *, uint32_t, void *)", self.look)
        self.cached = ffi.callback("int(void *, int, uint64_t, size_t)", lambda *_: 0)
        self.io = ffi.new("pgq_prefetch_io *", {"cached": self.cached})
        sizes = {"access_count": len(blocks), "concurrency": CONCURRENCY, "buffers": BUFFERS}
        files = {"fds": self.fds, "file_count": len(fds), "accesses": self.accesses}
        self.c = ffi.new("pgq_prefetch_job *", files | sizes | {"io": self.io, "use": self.use})

    def look(self, _arg: Any, access: int, contents: Any) -> None:
        if bytes(ffi.buffer(contents, len(page(0, 0)))) != page(0, self.blocks[access]):
            self.wrong.append(access)

    def run(self, variant: str) -> Any:
        return row_of("prefetch_replay", variant).fn(self.c)

    def told(self) -> dict[str, Any]:
        return {name: getattr(self.c, name) for name in TOLD} | {"counters": list(self.c.counters)}


@every
def test_a_refusal_tells_of_itself_alone(fds: list[int], variant: str) -> None:
    """After a run that went well."""
    skip_unless_it_runs(variant, fds)
    job = Job(fds, [i * 7 % SIZE for i in range(SIZE)])
    assert (job.run(variant).code, job.c.used, job.wrong) == (lib.PGQ_OK, SIZE, [])
    job.fds[0] = -1
    assert job.run(variant).code == lib.PGQ_PREFETCH_FILE
    nothing = dict.fromkeys(TOLD, 0) | {"error_number": errno.EBADF, "counters": [0] * lib.PGQ_PREFETCH_WHATS}
    assert job.told() == nothing
    job.c.buffers = CONCURRENCY
    assert job.run(variant).code == lib.PGQ_PREFETCH_JOB
    assert job.told() == nothing | {"error_number": 0}


@every
def test_a_run_without_look_ahead_counts_nothing(fds: list[int], variant: str) -> None:
    """After one that has counted, and with buffers that may have been registered."""
    skip_unless_it_runs(variant, fds)
    job = Job(fds, [i * 7 % SIZE for i in range(SIZE)])
    assert job.run(variant).code == lib.PGQ_OK
    job.c.concurrency = 0
    assert job.run(variant).code == lib.PGQ_OK
    assert (job.c.calls, job.c.registered, list(job.c.counters)) == (0, False, [0] * lib.PGQ_PREFETCH_WHATS)
    assert (job.c.used, job.wrong) == (SIZE, [])


def test_buffers_that_were_registered_are_not_those_of_the_next_run(fds: list[int]) -> None:
    """Too short a run to register its own: its reads are ordinary ones, and do not fail."""
    skip_unless_it_runs("uring_direct", fds)
    job = Job(fds, [i * 7 % SIZE for i in range(SIZE)])
    assert job.run("uring_direct").code == lib.PGQ_OK
    job.c.access_count = 40
    job.c.registered = True
    assert (job.run("uring_direct").code, job.c.used, job.wrong) == (lib.PGQ_OK, 40, [])
    assert (job.c.calls > 0, job.c.registered) == (True, False)


@every
def test_no_child_inherits_what_a_run_opens(fds: list[int], variant: str) -> None:
    """While it replays, each descriptor that it has beside the caller's is closed by an exec."""
    skip_unless_it_runs(variant, fds)
    job = Job(fds, range(40))
    before, kept = set(os.listdir("/proc/self/fd")), set[str]()

    def look(*_: Any) -> None:
        for name in set(os.listdir("/proc/self/fd")) - before:
            if os.path.exists(f"/proc/self/fd/{name}") and not fcntl.fcntl(int(name), fcntl.F_GETFD) & fcntl.FD_CLOEXEC:
                kept.add(os.readlink(f"/proc/self/fd/{name}"))

    job.use = job.c.use = ffi.callback("void(void *, uint32_t, void *)", look)
    assert job.run(variant).code == lib.PGQ_OK
    assert kept == set()
