# SPDX-License-Identifier: PostgreSQL
"""How the engine calls io_uring: how often, when at the latest, and into which buffers."""

import os
import resource

import pytest
from pgquern.prefetch import Replayed, replay

from tests.common.rings import has_rings
from tests.prefetch.files import Cold, skip_unless_it_runs
from tests.prefetch.test_kernels_replay import ASYNCHRONOUS, Pages

SIZE = 300
SIZES = [SIZE]
asynchronous = pytest.mark.parametrize("variant", ASYNCHRONOUS)


class Submissions(Cold):
    """After how many accesses the kernel is given something."""

    def __init__(self, pages: Pages) -> None:
        self.pages, self.at = pages, list[int]()

    def submit(self) -> int:
        self.at.append(len(self.pages.seen))
        return 0


def started(done: Replayed) -> int:
    return sum(what == "submit" for what, _ in done.steps)


@pytest.mark.parametrize("concurrency", [0, 1, 256])
@asynchronous
def test_where_the_system_has_rings_the_engine_runs(fds: list[int], variant: str, concurrency: int) -> None:
    """Otherwise each test of rings would be skipped on a machine that has them. The engine itself is not asked."""
    if not has_rings():
        pytest.skip("no io_uring here")
    if variant == "uring_direct":
        try:
            os.close(os.open(f"/proc/self/fd/{fds[0]}", os.O_RDONLY | os.O_DIRECT))
        except OSError as error:
            pytest.skip(f"no O_DIRECT here: {error}")
    done = replay(fds, [(0, 1), (0, 3)], concurrency=concurrency, buffers=concurrency + 2, variant=variant, log=True)
    assert [access for what, access in done.steps if what == "use"] == [0, 1]


def test_one_call_submits_and_waits(fds: list[int]) -> None:
    """With four in flight each is submitted alone, and replay waits for one at once. The kernel has the file cached."""
    skip_unless_it_runs("uring", fds)
    accesses = [(0, i * 7 % SIZE) for i in range(SIZE)]
    done = replay(fds, accesses, concurrency=4, buffers=5, variant="uring", log=True)
    assert started(done) == SIZE
    assert SIZE // 4 <= done.calls <= SIZE + 8


@pytest.mark.parametrize("window", [4, 16, 64])
def test_a_read_is_held_back_for_an_eighth_of_the_window(fds: list[int], window: int) -> None:
    """One reference in eight is no hit. Its read would have to wait long for others; and replay for it."""
    skip_unless_it_runs("uring", fds)
    batch, ahead = max(1, window // 8), 4 * window
    accesses = [(0, 1 + i // 8 if i % 8 == 0 else 0) for i in range(8 * (SIZE - 1))]
    accesses[0] = (0, 0)
    pages = Pages(accesses)
    io = Submissions(pages)
    done = replay(fds, accesses, concurrency=window, buffers=2 * SIZE, variant="uring", use=pages, io=io, log=True)
    assert pages.wrong == []
    assert started(done) == SIZE - 1
    # Where each read is looked at, and so starts to wait: as many accesses before its own as the ring is long.
    looked = [max(1, i - ahead + 1) for i in range(8, len(accesses), 8)]
    late = [min(at for at in io.at if at >= look) - look for look in looked]
    assert max(late) <= batch
    assert len(io.at) >= SIZE - 8 - ahead // 8 if batch < 8 else len(io.at) < SIZE


# ---- buffers that are registered -----------------------------------------------------------------


def may_lock(size: int) -> bool:
    """Whether the kernel lets this process keep so many bytes in memory."""
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return os.geteuid() == 0 or limit == resource.RLIM_INFINITY or limit > 2 * size


@pytest.mark.parametrize(
    ("variant", "accesses", "wanted"),
    [("uring_direct", 250, True), ("uring_direct", 86, True), ("uring_direct", 85, False), ("uring", 250, False)],
)
def test_buffers_are_registered_where_it_pays(fds: list[int], variant: str, accesses: int, wanted: bool) -> None:
    """For reads past the cache, once 64 were started, if the accesses still to come can use each of 20 buffers."""
    skip_unless_it_runs(variant, fds)
    if wanted and not may_lock(20 * 8192):
        pytest.skip("RLIMIT_MEMLOCK is too low for the buffers")
    order = [(0, i * 7 % SIZE) for i in range(accesses)]
    pages = Pages(order)
    done = replay(fds, order, concurrency=16, buffers=20, variant=variant, use=pages, io=Cold())
    assert (pages.wrong, done.used, done.registered) == ([], accesses, wanted)
