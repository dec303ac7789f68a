# SPDX-License-Identifier: PostgreSQL
"""Every variant against the oracle, call by call: answers, refusals, and the state after each."""

from typing import Any

import pytest
from _pgquern import ffi, lib
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from pgquern import PgquernError, ioshares

from ref import ioshares as ref
from ref.ioshares import MAX_BYTES, MAX_LATENCY, NO_COSTS, Class, Code, Costs, Limits
from tests.common.variants import every_variant
from tests.ioshares import strategies
from tests.ioshares.pair import Pair, answer

every = pytest.mark.parametrize("variant", every_variant(ioshares.variants()))


def refused(code: Code, index: int = 0) -> tuple[str, int, int]:
    return ("refused", int(code), index)


class Machine(RuleBasedStateMachine):
    """Any calls in any order; most of them of classes that exist."""

    variant = "sfq"

    @initialize(classes=strategies.classes(), limits=strategies.limits(), costs=st.just(NO_COSTS) | strategies.costs)
    def start(self, classes: list[Class], limits: Limits, costs: Costs) -> None:
        self.count = len(classes)
        self.pair = Pair(classes, limits, self.variant, costs=costs)
        self.id = 0

    @rule(cls=st.integers(0, 7), size=strategies.sizes, times=st.integers(1, 5), write=st.booleans())
    def submit(self, cls: int, size: int, times: int, write: bool) -> None:
        for _ in range(times):
            self.id += 1
            self.pair.submit(cls % self.count, size, self.id, write)

    @rule(data=st.data())
    def set_shares(self, data: st.DataObject) -> None:
        self.pair.set_shares(data.draw(strategies.new_shares(self.count)))

    @rule(cls=st.integers(0, 9), size=st.sampled_from([0, 1, MAX_BYTES, MAX_BYTES + 1, 2**32 - 1]))
    def submit_any(self, cls: int, size: int) -> None:
        self.pair.submit(cls, size)

    @rule(times=st.integers(1, 5))
    def next(self, times: int) -> None:
        for _ in range(times):
            self.pair.next()

    @rule(cls=st.integers(0, 9), latency=strategies.latencies)
    def complete(self, cls: int, latency: int) -> None:
        self.pair.complete(cls, latency)

    @rule(cls=st.integers(0, 8), back=st.integers(0, 6))
    def cancel(self, cls: int, back: int) -> None:
        self.pair.cancel(cls, max(0, self.id - back))

    @rule(latency=st.integers(1, 3), windows=st.integers(1, 70))
    def serve(self, latency: int, windows: int) -> None:
        """As many one after the other, with others that wait: the limit grows, or a probe comes."""
        for _ in range(4 * windows):
            for _ in range(2):
                self.pair.submit(0, 1, self.id)
            self.pair.next()
            self.pair.complete(0, latency)

    @rule(latency=strategies.latencies)
    def complete_all(self, latency: int) -> None:
        for cls in range(self.count):
            for _ in range(self.pair.oracle.flows[cls].in_flight):
                self.pair.complete(cls, latency)


@every
def test_any_calls(variant: str) -> None:
    machine = type("MachineOf" + variant, (Machine,), {"variant": variant})
    run_state_machine_as_test(machine, settings=settings(max_examples=settings().max_examples // 10))


@every
def test_tags_start_again(variant: str) -> None:
    """The largest requests, often of the class with the largest factor: the virtual time passes 2^61 many times."""
    shares = strategies.LARGEST_FACTOR
    pair = Pair([Class(share, MAX_BYTES * (i % 2), 3) for i, share in enumerate(shares)], Limits(1, 1, 1), variant)
    for id in range(400):
        pair.submit(0, MAX_BYTES - id % 3, id)
        if id % 10 == 0:
            pair.submit(id % 3 + 1, MAX_BYTES, id)
        went = pair.next()
        pair.complete(went.cls, 1)
    assert variant == "fifo" or pair.oracle.virtual_time > 2**67


@every
def test_the_largest_costs_and_steepest_shares(variant: str) -> None:
    """Reads of the largest cost, warps at their largest, and shares that turn about: no tag and no lead overflows."""
    shares = strategies.LARGEST_FACTOR
    classes = [Class(share, MAX_BYTES * (i % 2), 3) for i, share in enumerate(shares)]
    pair = Pair(classes, Limits(1, 1, 1), variant, costs=Costs(MAX_BYTES, 0))
    furthest = 0
    for id in range(400):
        steepest = [flow.factor for flow in pair.oracle.flows].index(max(ref.factors(shares)))
        for cls in (steepest, id // 5 % 4):
            pair.submit(cls, MAX_BYTES - id % 3, id, id % 2 == 0)
        went = pair.next()
        pair.complete(went.cls, 1)
        furthest = max(furthest, *map(pair.oracle.lead, range(4)))
        if id % 7 == 6:
            turn = id // 7 % 4
            assert pair.set_shares([*shares[turn:], *shares[:turn]]) is None
    assert variant == "fifo" or furthest > 2**61


@every
def test_bad_shares_are_refused(variant: str) -> None:
    pair = Pair([Class(1), Class(2), Class(3), Class(4)], Limits(), variant)
    for cls in range(4):
        pair.submit(cls, 8 + cls)
    pair.next()
    assert pair.set_shares([1, 2, 0, 0]) == refused(Code.SHARE, 3)
    assert pair.set_shares([10_001, 2, 3, 4]) == refused(Code.SHARE, 1)
    assert pair.set_shares([9973, 9967, 9949, 9941]) == refused(Code.FACTOR)
    assert pair.set_shares([1, 2, 3, 10_000]) is None
    assert pair.set_shares([10_000] * 4) is None
    for wrong in ([1, 2, 3], [1, 2, 3, 4, 5], []):
        for scheduler in (pair.oracle, pair.kernel):
            with pytest.raises(ValueError, match="one share"):
                scheduler.set_shares(wrong)


@every
def test_an_operation_costs(variant: str) -> None:
    """A read 3 and a write 7 bytes more: two classes of equal shares, by what these cost."""
    pair = Pair([Class(1, 0, 99), Class(1, 0, 99)], Limits(), variant, costs=Costs(3, 7))
    for id in range(60):
        pair.submit(0, 1, id)
        pair.submit(1, 1, id, True)
    for _ in range(60):
        pair.complete(pair.next().cls, 1)
    charged = [flow.charged for flow in pair.oracle.flows]
    assert charged == ([160, 160] if variant == "sfq" else [120, 240])
    assert [flow.served for flow in pair.oracle.flows] == ([40, 20] if variant == "sfq" else [30, 30])


def test_the_largest_numbers_of_the_limit() -> None:
    """The largest level, window and floor; then no latency at all, and the largest again."""
    scheduler = ioshares.Scheduler([ioshares.Class(1)], ioshares.Limits(1, 2**15, 2**15, 2**16, 2**40))
    request = ffi.new("pgq_ioshares_request *", (5, 1, 0))
    oracle = ref.Limit(Limits(1, 2**15, 2**15, 2**16, 2**40), 2**15)
    for told in (5, MAX_LATENCY, 2**64 - 1, 2**64 - 1, 2**40 - 2**20, 0, MAX_LATENCY, 7, 2**64 - 5):
        for _ in range(2**16):
            lib.pgq_ioshares_submit(scheduler._c, request)
            lib.pgq_ioshares_next(scheduler._c, request)
            lib.pgq_ioshares_complete(scheduler._c, 0, told)
        oracle.completed, oracle.total = 2**16 - 1, (2**16 - 1) * min(told, MAX_LATENCY)
        oracle.observe(told, False)
        state = scheduler.state
        assert (state.limit, state.level, state.floor) == (oracle.now, oracle.level, oracle.floor)
    assert (state.level, state.floor) == (1, 2**40)


@every
def test_of_two_with_one_id_the_older_is_taken_back(variant: str) -> None:
    pair = Pair([Class(1)], Limits(), variant)
    for size in (1, 2, 3):
        pair.submit(0, size, 5)
    pair.next()
    pair.cancel(0, 5)
    assert pair.next() == ref.Request(0, 3, 5)


@pytest.mark.parametrize("costs", [Costs(MAX_BYTES + 1, 0), Costs(0, MAX_BYTES + 1), Costs(2**32 - 1, 2**32 - 1)])
def test_costs_refused(costs: Costs) -> None:
    """After all else but shares that do not go together."""
    far = [Class(s) for s in (9973, 9967, 9949, 9941)]
    for classes, limits, wanted in (
        ([Class(1)], Limits(), Code.COST),
        (far, Limits(), Code.COST),
        ([Class(1)], Limits(window=0), Code.WINDOW),
    ):

        def kernel(classes: list[Class] = classes, limits: Limits = limits) -> None:
            ioshares.Scheduler(
                [ioshares.Class(*c) for c in classes], ioshares.Limits(*limits), costs=ioshares.Costs(*costs)
            )

        assert answer(ref.Scheduler, classes, limits, costs) == answer(kernel) == refused(wanted)


FAULTS: list[tuple[Code, int, list[Class], Limits]] = [
    (Code.CLASSES, 0, [], Limits()),
    (Code.CLASSES, 0, [Class(1)] * 9, Limits()),
    (Code.SHARE, 2, [Class(1), Class(0)], Limits()),
    (Code.SHARE, 1, [Class(10_001), Class(0)], Limits()),
    (Code.FACTOR, 0, [Class(s) for s in (9973, 9967, 9949, 9941)], Limits()),
    (Code.FACTOR, 0, [Class(s) for s in (9973, 9967, 11, 1)], Limits()),
    (Code.WARP, 1, [Class(1, MAX_BYTES + 1)], Limits()),
    (Code.CAPACITY, 1, [Class(1, 0, 0)], Limits()),
    (Code.CAPACITY, 2, [Class(1), Class(1, 0, 2**20 + 1)], Limits()),
    (Code.LIMITS, 0, [Class(1)], Limits(0, 1, 1)),
    (Code.LIMITS, 0, [Class(1)], Limits(3, 2, 4)),
    (Code.LIMITS, 0, [Class(1)], Limits(1, 5, 4)),
    (Code.LIMITS, 0, [Class(1)], Limits(1, 5, 2**15 + 1)),
    (Code.WINDOW, 0, [Class(1)], Limits(window=0)),
    (Code.WINDOW, 0, [Class(1)], Limits(window=2**16 + 1)),
    (Code.TARGET, 0, [Class(1)], Limits(target=2**40 + 1)),
]


@pytest.mark.parametrize(("code", "index", "classes", "limits"), FAULTS)
def test_configurations_refused(code: Code, index: int, classes: list[Class], limits: Limits) -> None:
    def kernel() -> None:
        ioshares.Scheduler([ioshares.Class(*c) for c in classes], ioshares.Limits(*limits))

    assert answer(ref.Scheduler, classes, limits) == answer(kernel) == refused(code, index)


MOST: list[tuple[Class, Limits]] = [
    (Class(10_000, MAX_BYTES, 2**20), Limits()),
    (Class(1), Limits(2**15, 2**15, 2**15, 2**16, 2**40)),
    (Class(1), Limits(1, 1, 2**15, 1, 1)),
]


@pytest.mark.parametrize(("cls", "limits"), MOST)
@every
def test_the_most_of_all_is_accepted(variant: str, cls: Class, limits: Limits) -> None:
    """Each number at its upper end: it works, and does not only pass the checks."""
    pair = Pair([cls], limits, variant)
    assert pair.submit(0, MAX_BYTES, 2**64 - 1) is None
    assert pair.submit(0, 1) is None
    assert pair.next() == ref.Request(0, MAX_BYTES, 2**64 - 1)
    assert pair.complete(0, 2**64 - 1) is None


def test_a_queue_has_room_for_its_capacity() -> None:
    """2^20 requests, and not one more."""
    scheduler = ioshares.Scheduler([ioshares.Class(1, 0, 2**20)], ioshares.Limits(2**15, 2**15, 2**15))
    request = ffi.new("pgq_ioshares_request *", (5, 1, 0))
    for _ in range(2**20):
        lib.pgq_ioshares_submit(scheduler._c, request)
    assert scheduler.state.waiting == 2**20
    with pytest.raises(PgquernError):
        scheduler.submit(ioshares.Request(0, 1, 5))
    for _ in range(2**15):
        assert scheduler.next().id == 5
    with pytest.raises(PgquernError):
        scheduler.next()


SENTINEL = 0x5A


def filled(ctype: str) -> Any:
    made = ffi.new(ctype)
    ffi.buffer(made)[:] = bytes([SENTINEL]) * len(ffi.buffer(made))
    return made


def untouched(made: Any) -> bool:
    return set(ffi.buffer(made)[:]) == {SENTINEL}


@every
def test_a_refused_call_changes_nothing(variant: str) -> None:
    """Neither what it writes to nor the scheduler, byte by byte."""
    made, size, request = filled("pgq_ioshares **"), filled("size_t *"), filled("pgq_ioshares_request *")
    state = filled("pgq_ioshares_state *")
    row = next(r for r in lib.pgq_ioshares_variants[0:2] if ffi.string(r.name).decode() == variant)
    classes = ffi.new("pgq_ioshares_class[]", [(1, 0, 1), (1, 0, 1)])
    sound = {"classes": classes, "class_count": 2, "limits": (1, 1, 1, 1, 1)}
    config = ffi.new("pgq_ioshares_config *", sound)
    exact = ffi.new("size_t *")
    lib.pgq_ioshares_bytes(config, exact)
    memory = ffi.new("char[]", bytes([SENTINEL]) * exact[0])
    for wrong in ({"class_count": 9}, {"limits": (0, 1, 1, 1, 1)}, {"log_capacity": 1}, {"classes": ffi.NULL}):
        bad = ffi.new("pgq_ioshares_config *", sound | wrong)
        assert lib.pgq_ioshares_bytes(bad, size).code == row.fn(memory, exact[0], bad, made).code != lib.PGQ_OK
    assert row.fn(memory, exact[0] - 1, config, made).code == lib.PGQ_IOSHARES_MEMORY
    assert untouched(made)
    assert untouched(size)
    assert ffi.buffer(memory, exact[0])[:] == bytes([SENTINEL]) * exact[0]

    assert row.fn(memory, exact[0], config, made).code == lib.PGQ_OK
    before = ffi.buffer(memory, exact[0])[:]
    assert lib.pgq_ioshares_next(made[0], request).code == lib.PGQ_IOSHARES_EMPTY
    assert lib.pgq_ioshares_submit(made[0], request).code == lib.PGQ_IOSHARES_CLASS
    assert lib.pgq_ioshares_complete(made[0], 1, 5).code == lib.PGQ_IOSHARES_NOT_IN_FLIGHT
    assert lib.pgq_ioshares_cancel(made[0], 1, 5).code == lib.PGQ_IOSHARES_NOT_WAITING
    assert lib.pgq_ioshares_set_shares(made[0], ffi.new("uint32_t[]", [7, 0])).code == lib.PGQ_IOSHARES_SHARE
    assert lib.pgq_ioshares_look(ffi.NULL, state).code == lib.PGQ_NULL
    assert ffi.buffer(memory, exact[0])[:] == before
    for cls in (0, 1):
        lib.pgq_ioshares_submit(made[0], ffi.new("pgq_ioshares_request *", (1, 1, cls)))
    lib.pgq_ioshares_next(made[0], ffi.new("pgq_ioshares_request *"))
    before = ffi.buffer(memory, exact[0])[:]
    assert lib.pgq_ioshares_next(made[0], request).code == lib.PGQ_IOSHARES_AT_LIMIT
    assert lib.pgq_ioshares_submit(made[0], ffi.new("pgq_ioshares_request *", (1, 1, 1))).code == lib.PGQ_IOSHARES_FULL
    assert ffi.buffer(memory, exact[0])[:] == before
    assert untouched(request)
    assert untouched(state)


def test_memory_is_checked() -> None:
    classes = ffi.new("pgq_ioshares_class[]", [(1, 0, 4)])
    config = ffi.new("pgq_ioshares_config *", {"classes": classes, "class_count": 1, "limits": (1, 1, 1, 1, 1)})
    size, made = ffi.new("size_t *"), ffi.new("pgq_ioshares **")
    assert lib.pgq_ioshares_bytes(config, size).code == lib.PGQ_OK
    memory = ffi.new("uint64_t[]", size[0] // 8 + 1)

    def init(shift: int, bytes: int) -> Any:
        return lib.pgq_ioshares_init(ffi.cast("char *", memory) + shift, bytes, config, made).code

    assert init(0, size[0]) == lib.PGQ_OK
    assert init(0, size[0] - 1) == lib.PGQ_IOSHARES_MEMORY
    assert init(4, size[0]) == lib.PGQ_IOSHARES_MEMORY
    assert init(8, size[0]) == lib.PGQ_OK
    config.log_capacity = 1
    assert init(0, size[0]) == lib.PGQ_NULL


def test_null_is_refused() -> None:
    scheduler = ioshares.Scheduler([ioshares.Class(1)], ioshares.Limits())
    request = ffi.new("pgq_ioshares_request *")
    shares = ffi.new("uint32_t[]", [1])
    calls = [
        lib.pgq_ioshares_set_shares(ffi.NULL, shares),
        lib.pgq_ioshares_set_shares(scheduler._c, ffi.NULL),
        lib.pgq_ioshares_engine_set_shares(ffi.NULL, shares),
        lib.pgq_ioshares_submit(ffi.NULL, request),
        lib.pgq_ioshares_submit(scheduler._c, ffi.NULL),
        lib.pgq_ioshares_next(ffi.NULL, request),
        lib.pgq_ioshares_next(scheduler._c, ffi.NULL),
        lib.pgq_ioshares_complete(ffi.NULL, 0, 0),
        lib.pgq_ioshares_cancel(ffi.NULL, 0, 0),
        lib.pgq_ioshares_look(scheduler._c, ffi.NULL),
        lib.pgq_ioshares_bytes(ffi.NULL, ffi.NULL),
    ]
    for row in (lib.pgq_ioshares_variants[i] for i in range(lib.pgq_ioshares_variant_count)):
        calls += [row.fn(ffi.NULL, 0, ffi.NULL, ffi.NULL)]
    assert {status.code for status in calls} == {lib.PGQ_NULL}


@every
def test_the_log_tells_each_call(variant: str) -> None:
    pair = Pair([Class(1), Class(2)], Limits(1, 1, 2, 1, 50), variant, log=64)
    told = []

    def note(what: str, request: ref.Request, latency: int) -> None:
        o = pair.oracle
        told.append((what, request, latency, o.waiting, o.in_flight, o.limit.now))

    for id in range(12):
        if pair.submit(id % 2, 10 + id, id, id % 3 == 0) is None:
            note("submit", ref.Request(id % 2, 10 + id, id, id % 3 == 0), 0)
        went = pair.next()
        if isinstance(went, ref.Request):
            note("next", went, 0)
        if id % 3 == 2:
            cls = next(i for i, flow in enumerate(pair.oracle.flows) if flow.in_flight)
            pair.complete(cls, 2**50)
            note("complete", ref.Request(cls, 0, 0), 2**40)
        if id == 8 and pair.cancel(0, 6) is None:
            note("cancel", ref.Request(0, 16, 6, True), 0)
        if id == 4 and pair.set_shares([0, 1]) is not None and pair.set_shares([5, 3]) is None:
            note("share", ref.Request(0, 5, 0), 0)
            note("share", ref.Request(1, 3, 0), 0)
    assert [tuple(event) for event in pair.kernel.events] == told


def test_a_full_log_keeps_the_newest() -> None:
    scheduler = ioshares.Scheduler([ioshares.Class(1)], ioshares.Limits(), log=3)
    for id in range(5):
        scheduler.submit(ioshares.Request(0, 1, id))
    assert [event.request.id for event in scheduler.events] == [2, 3, 4]
