# SPDX-License-Identifier: PostgreSQL
"""The life of a page: tuples are added, die and are pruned. Every kernel works on its own copy beside the oracle.

A dictionary from line pointer numbers to tuples says what the page must hold. After every step each copy is compared
with it, and copies of one order must be equal in all bytes.
"""

from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pgquern import compaction

from ref.compaction import Order, collect, is_presorted, page_repair_fragmentation
from ref.page import (
    LP_DEAD,
    LP_REDIRECT,
    UNUSED,
    Header,
    LinePointer,
    add_item,
    build,
    check,
    init,
    line_pointers,
    maxalign,
    tuple_bytes,
)
from tests.common.tally import tally
from tests.compaction.agree import ORDERS, VARIANTS


def with_line_pointers(page: bytes, changes: dict[int, LinePointer]) -> bytes:
    """The page with some line pointers replaced, by number."""
    lps = [changes.get(number, lp) for number, lp in enumerate(line_pointers(page), start=1)]
    return build(lps, header=Header.parse(page), fill=page)


class Life(RuleBasedStateMachine):
    """One copy of the page for the oracle of each order, and one for each variant."""

    @initialize(special=st.sampled_from([0, 16, 4096]), truncate=st.booleans())
    def begin(self, special: int, truncate: bool) -> None:
        page = init(special)
        self.truncate = truncate
        self.oracles = dict.fromkeys(Order, page)
        self.kernels = {variant.name: page for variant in VARIANTS}
        self.tuples: dict[int, bytes] = {}
        self.redirects: dict[int, int] = {}
        self.dead: set[int] = set()
        self.nline = 0
        self.in_item_order = True

    def everywhere(self, changes: dict[int, LinePointer]) -> None:
        for order, page in self.oracles.items():
            self.oracles[order] = with_line_pointers(page, changes)
        for name, page in self.kernels.items():
            self.kernels[name] = with_line_pointers(page, changes)

    def used(self) -> set[int]:
        return self.tuples.keys() | self.redirects.keys() | self.dead

    @rule(data=st.binary(min_size=1, max_size=64), copies=st.integers(1, 60))
    def insert(self, data: bytes, copies: int) -> None:
        """Up to as many as fit; the first unused line pointer is taken again, if the last prune left word of one."""
        for i in range(copies):
            content = bytes([i]) + data
            added = {add_item(page, content)[1] for page in (*self.oracles.values(), *self.kernels.values())}
            (number,) = added  # the copies agree where it goes
            self.oracles = {order: add_item(page, content)[0] for order, page in self.oracles.items()}
            self.kernels = {name: add_item(page, content)[0] for name, page in self.kernels.items()}
            if not number:
                event("no room")
                return
            assert number not in self.used()
            event("a line pointer used again" if number <= self.nline else "a new line pointer")
            self.in_item_order &= number > self.nline
            self.nline = max(self.nline, number)
            self.tuples[number] = content

    def some(self, data: st.DataObject) -> list[int]:
        """Some line pointers that have tuples: a few, every second, or all."""
        numbers = sorted(self.tuples)
        return data.draw(
            st.sampled_from([numbers[::2], numbers[-3:], numbers[:1], numbers])
            | st.lists(st.sampled_from(numbers), max_size=9, unique=True)
        )

    @precondition(lambda self: self.tuples)
    @rule(data=st.data(), dead=st.booleans())
    def delete(self, data: st.DataObject, dead: bool) -> None:
        """Tuples go, their line pointers stay DEAD (an index still points at them) or become UNUSED."""
        gone = self.some(data)
        self.everywhere(dict.fromkeys(gone, LinePointer(0, LP_DEAD, 0) if dead else UNUSED))
        for number in gone:
            del self.tuples[number]
        if dead:
            self.dead |= set(gone)

    @precondition(lambda self: self.tuples)
    @rule(data=st.data())
    def update_hot(self, data: st.DataObject) -> None:
        """A new version of a tuple elsewhere on the page; the old one's line pointer redirects to it."""
        old = data.draw(st.sampled_from(sorted(self.tuples)))
        before = set(self.tuples)
        self.insert(self.tuples[old] * 2, 1)
        for new in set(self.tuples) - before:
            self.everywhere({old: LinePointer(new, LP_REDIRECT, 0)})
            del self.tuples[old]
            self.redirects[old] = new

    @precondition(lambda self: self.dead)
    @rule()
    def forget_dead(self) -> None:
        """As VACUUM's second pass: no index points at them any longer. (It moves nothing: the next prune does.)"""
        self.everywhere(dict.fromkeys(self.dead, UNUSED))
        self.dead.clear()

    @rule()
    def prune(self) -> None:
        """PageRepairFragmentation: the oracle of each order on its copy, each kernel on its own."""
        for order, page in self.oracles.items():
            self.oracles[order] = page_repair_fragmentation(page, order=order, truncate=self.truncate)
        for name, page in self.kernels.items():
            work = bytearray(page)
            compaction.page_repair_fragmentation(work, truncate=self.truncate, variant=name)
            self.kernels[name] = bytes(work)
            tally("compaction", "prunes")
        if self.truncate:
            self.nline = max(self.used(), default=0)
        page = self.oracles[Order.ITEM]
        header = Header.parse(page)
        assert header.pd_upper == header.pd_special - sum(maxalign(len(content)) for content in self.tuples.values())
        self.in_item_order = True

    @invariant()
    def holds_what_was_put_in(self) -> None:
        for page in (*self.oracles.values(), *self.kernels.values()):
            check(page)
            lps = dict(enumerate(line_pointers(page), start=1))
            assert len(lps) == self.nline
            for number, content in self.tuples.items():
                assert tuple_bytes(page, lps[number])[: lps[number].lp_len] == content
            assert {n: lp.lp_off for n, lp in lps.items() if lp.lp_flags == LP_REDIRECT} == self.redirects
            assert {n for n, lp in lps.items() if lp.lp_flags == LP_DEAD} == self.dead
            assert {n for n, lp in lps.items() if lp.is_used} == self.used()

    @invariant()
    def kernels_equal_the_oracle(self) -> None:
        for variant in VARIANTS:
            assert self.kernels[variant.name] == self.oracles[ORDERS[variant.order]]

    @invariant()
    def item_order_lasts_until_a_line_pointer_is_used_again(self) -> None:
        """Why item order pays: what is added with new line pointers leaves the page presorted."""
        if self.in_item_order:
            page = self.oracles[Order.ITEM]
            assert is_presorted(collect(Header.parse(page), line_pointers(page)))


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=settings().max_examples // 25, stateful_step_count=40)
