# SPDX-License-Identifier: PostgreSQL
"""What bench/tiercache/cleaning/ counts, on caches and lists of which each number is known."""

from random import Random
from typing import Any

import pytest

from bench.tiercache.cleaning import batches, caches, lines, tables
from bench.tiercache.cleaning.batches import NextFit, Stack
from bench.tiercache.cleaning.caches import Access, Cleaner, Device, InOrder, Shared, Taken
from ref import tiercache as ref

NONE = Cleaner("none", 0)
SIZES: dict[str, Any] = {"pages": 640, "frames": 16, "slots": 0, "batch": 1}


def reads(*pages: int) -> list[Access]:
    return [Access(page, writes=False, then_fsync=False) for page in pages]


def writes(*pages: int) -> list[Access]:
    return [Access(page, writes=True, then_fsync=False) for page in pages]


# ---- references and counts -----------------------------------------------------------------------


def test_references_are_drawn_from_a_seed() -> None:
    pages = [7 * at % 100 + 1000 for at in range(20_000)]
    found = caches.accesses(pages, 20, 1)
    assert found == caches.accesses(pages, 20, 1) != caches.accesses(pages, 20, 2)
    assert [access.page for access in found] == [page - 1000 for page in pages]
    assert 3_800 < sum(access.writes for access in found) < 4_200
    assert 0 < sum(access.then_fsync for access in found) < 15


def test_counters_are_those_of_the_definition() -> None:
    rng, ours, theirs = Random(1), caches.Remembering(64), ref.Sketch(64)
    for _ in range(3000):
        page = int(rng.paretovariate(0.7)) % 300
        for sketch in (ours, theirs):
            sketch.add(page)
            if page == 77:
                sketch.halve()
        assert ours.count(page) == theirs.count(page)
    assert ours.counters == theirs.counters


def test_each_reference_is_counted_once() -> None:
    """Pages of blocks of their own, so nothing is read ahead; the first two are asked for twice."""
    found, taken = caches.replay(InOrder, reads(0, 32, 0, 32, 64), 16, 0, NONE)
    assert (found.hits, found.ssd_hits, found.store_reads, found.store_writes) == (2, 0, 3, 0)
    assert taken == []


def test_a_write_back_that_makes_room_is_a_wait() -> None:
    """It cleans the sixteen pages of a block, which leave without another. An fsync makes nobody wait."""
    asked = [*writes(*range(16)), *reads(32, 64, 96)]
    found, _ = caches.replay(InOrder, asked, 16, 0, NONE)
    assert (found.waits, found.ssd_waits, found.hits, found.store_writes) == (1, 0, 0, 1)
    asked[15] = asked[15]._replace(then_fsync=True)
    found, _ = caches.replay(InOrder, asked, 16, 0, NONE)
    assert (found.waits, found.store_writes) == (0, 1)


def test_a_page_that_comes_from_the_ssd_is_a_hit_there() -> None:
    """Sixteen more pages come: each makes one leave, to a free slot, and whoever needs the room waits for that."""
    pages = [16 * at for at in range(32)]
    found, taken = caches.replay(InOrder, reads(*pages, *pages[:16]), 16, 32, NONE)
    assert found.hits + found.ssd_hits == 16
    assert found.store_reads == 32
    assert found.ssd_waits == found.ssd_writes == len(taken) == 16 + found.ssd_hits
    assert not any(event.by_cleaner for event in taken if isinstance(event, Taken))


def test_a_cleaner_in_time_lets_nobody_wait() -> None:
    pages = [16 * at for at in range(64)]
    alone, _ = caches.replay(InOrder, reads(*pages), 256, 64, NONE)
    assert alone.ssd_waits == 0
    asked = reads(*(16 * at for at in range(400)))
    alone, _ = caches.replay(InOrder, asked, 256, 400, NONE)
    cleaned, taken = caches.replay(InOrder, asked, 256, 400, Cleaner("in time", 64))
    assert (alone.ssd_waits, cleaned.ssd_waits) == (144, 0)
    assert all(event.by_cleaner for event in taken if isinstance(event, Taken))
    assert len(taken) == cleaned.ssd_writes


# ---- victims -------------------------------------------------------------------------------------


def full(variant: type[Shared], dirty: set[int], **sizes: Any) -> tuple[Shared, Device]:
    """The pages 0, 16, 32, and so on, the first one the oldest."""
    device = Device()
    cache = variant(device, **SIZES | sizes)
    for at in range(cache.frames):
        if at in dirty:
            cache.write(16 * at, b"")
        else:
            cache.read(16 * at)
    return cache, device


def order(policy: ref.Policy) -> tuple[int, list[list[int]]]:
    assert isinstance(policy, ref.TinyLfu)
    return policy.window_size, [list(queue) for queue in (policy.window, policy.main, policy.protected)]


def test_a_clean_page_of_the_next_eight_is_the_victim() -> None:
    """Those that are passed over keep their places; if all are dirty, the first one is the victim."""
    cache, _ = full(caches.CleanOf8, set(range(3)))
    before = order(cache.memory_policy)
    victim = cache.memory_policy.victim()
    assert victim is not None
    assert not cache.memory[victim].dirty
    assert order(cache.memory_policy) == before
    cache, _ = full(caches.CleanOf8, set(range(16)))
    plain, _ = full(InOrder, set(range(16)))
    assert cache.memory_policy.victim() == plain.memory_policy.victim()


def doomed(variant: type[Shared], dirty: set[int]) -> tuple[Shared, Device, list[int]]:
    """Eight pages are doomed, in this order, and no frame is free."""
    cache, device = full(variant, dirty)
    cache.clean(8, 0)
    return cache, device, list(cache.memory_policy.doomed)


@pytest.mark.parametrize(("variant", "leaves"), [("in order", 0), ("clean doomed", 2), ("shared", 2)])
def test_which_doomed_page_leaves(variant: str, leaves: int) -> None:
    """The first two are dirty. In order, the one who needs room waits for a write-back."""
    pages = [page // 16 for page in doomed(InOrder, set())[2]]
    cache, _, found = doomed(caches.VARIANTS[variant], set(pages[:2]))
    assert [page // 16 for page in found] == pages
    cache.read(300)
    assert found[leaves] not in cache.memory
    assert sum(page in cache.memory for page in found) == 7
    assert cache.write_backs == (leaves == 0)


def test_a_cleaner_takes_what_needs_a_write_if_they_are_shared() -> None:
    pages = [page // 16 for page in doomed(InOrder, set())[2]]
    for variant, written in (("in order", 0), ("clean doomed", 0), ("shared", 1)):
        cache, device, _ = doomed(caches.VARIANTS[variant], {pages[5]})
        cache.free_slots.cleans = True
        cache.clean(8, 1)
        assert device.store_writes == written, variant


# ---- batches -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("slots", "found"), [([], 0), ([0], 1), ([3, 1, 2], 1), ([5, 7, 6, 9, 1], 3)])
def test_runs_of_neighbours(slots: list[int], found: int) -> None:
    assert batches.runs(slots) == found


def test_neighbours_in_a_group_are_one_request() -> None:
    """All slots are full. A cleaner takes 0 to 3 anew, but the second one somebody else; then 2 once more."""
    filled: list[Taken | int] = [*(Taken(slot, by_cleaner=True) for slot in range(4)), 0, 1, 2, 3]
    events = [*filled, *(Taken(slot, slot != 1) for slot in range(4))]
    again = [*events, 2, Taken(2, by_cleaner=True)]

    def found(taken: list[Taken | int], group: int) -> int:
        return batches.requests(taken, NextFit(range(4)), 4, group)

    assert [found(again, group) for group in (1, 2, 3)] == [4, 3, 3]
    assert found(events, 8) == 2
    assert found(again, 8) == 3, "what is given back was written: the group has ended"
    assert found(filled, 1) == 0, "they are not full before the last one is taken"


def test_the_orders_hand_out_what_they_say() -> None:
    stack, lowest, following = Stack(range(4)), batches.Lowest(range(4)), NextFit(range(4))
    assert [free.take() for free in (stack, lowest, following)] == [3, 0, 0]
    for free in (stack, lowest, following):
        assert (free.take(), free.take()) in {(2, 1), (1, 2)}
        free.give(1)
    assert [free.take() for free in (stack, lowest, following)] == [1, 1, 3]
    following.give(0)
    assert [following.take(), following.take()] == [0, 1]


def test_a_stack_hands_out_what_the_cache_takes() -> None:
    asked = caches.accesses([int(Random(at).paretovariate(0.5)) % 3000 for at in range(6000)], 30, 1)
    _, taken = caches.replay(InOrder, asked, 64, 200, Cleaner("in time", 64))
    assert sum(isinstance(event, int) for event in taken) > 100

    class Checked(Stack):
        def take(self) -> int:
            handed.append(super().take())
            return handed[-1]

    handed: list[int] = []
    by_cleaner = batches.requests(taken, Checked(range(200)), 200, 1)
    all_taken = [event for event in taken if isinstance(event, Taken)]
    assert handed == [event.slot for event in all_taken]
    assert sum(event.by_cleaner for event in all_taken) - 200 >= by_cleaner > 100
    shares = batches.joined(taken, 200)
    assert {order: groups["1"] for order, groups in shares.items()} == dict.fromkeys(batches.ORDERS, by_cleaner)
    assert all(by_cleaner / 32 <= groups["32"] <= groups["8"] <= by_cleaner for groups in shares.values())


# ---- tables --------------------------------------------------------------------------------------


def test_a_row_sums_up_its_lines() -> None:
    def line(waits: int, hits: int) -> lines.Line:
        old = {"hits": 50, "waits": 10, "ssd_waits": 0, "store_reads": 40, "store_writes": 20, "ssd_writes": 0}
        new = old | {"hits": hits, "waits": waits, "store_writes": 10}
        return {"references": 100, "counts": {"behind": {"in order": old, "shared": new}}}

    found = tables.row([line(2, 49), line(4, 53)], "behind", "shared")
    assert found == ("behind, shared", "30.0", "0.0", "+1.00 (-1.00 to +3.00)", "100.0", "50.0", "-")


def test_a_line_fails_if_more_calls_wait_than_in_order() -> None:
    def counts(ours: int, theirs: int) -> dict[str, dict[str, dict[str, int]]]:
        return {
            "no cleaner": {"in order": {"waits": 9}},
            "behind": {"in order": {"waits": theirs}, "shared": {"waits": ours}},
        }

    assert lines.faults(counts(3, 2), 1000) == ""
    assert lines.faults(counts(4, 2), 1000) == "behind: 4 waits, in order 2"


def test_the_tables_are_written_whole() -> None:
    pages = [int(Random(at).paretovariate(0.6)) % 800 for at in range(1500)]
    items = [lines.line("made", pages, size, 20, 1) for size in lines.SIZES]
    written = tables.text(items, "0123456789")
    assert "Commit 0123456789" in written
    assert "first 1,500\nreferences of made" in written.replace("`", "")
    for variants in lines.RUNS.values():
        assert all(f", {variant} |" in written for variant in variants)
    rows = tables.batch_rows(items)
    assert [row[:2] for row in rows] == [("made", order) for order in batches.ORDERS]
    assert all(0 < float(cell) <= 100 for row in rows for cell in row[3:])
