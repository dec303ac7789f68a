# SPDX-License-Identifier: PostgreSQL
"""The Python binding, by introspection: wrong arguments end in an exception, threads may share."""

import copy
import ctypes
import inspect
import mmap
import pickle
import re
import threading
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from _pgquern import ffi, lib
from pgquern import PgquernBufferError, PgquernError
from pgquern.memory import buffer, fill
from pgquern.sharing import closable, exclusive, uncopied
from pgquern.variants import variants

from tests.common import guard_pages
from tests.common.entry_points import call_of, calls, classes, entry_points, modules, row

CALLS = [pytest.param(module, name, id=f"{module.__name__}.{name}") for module, name in calls()]
MODULES = [pytest.param(module, id=module.__name__) for module in modules()]
REFUSALS = (TypeError, ValueError, OverflowError, LookupError, AttributeError, BufferError, MemoryError, OSError)


class Lying(Sequence[int]):
    """A sequence whose length is not that of what it gives."""

    def __init__(self, told: int, given: int) -> None:
        self.told, self.given = told, given

    def __len__(self) -> int:
        return self.told

    def __getitem__(self, i: Any) -> Any:
        return 3 + i if isinstance(i, int) and i < self.given else [3][i]

    def __iter__(self) -> Iterator[int]:
        return iter(range(3, 3 + self.given))


def wrong_arguments() -> list[Any]:
    """Wrong for most arguments, by type, length, range, stride, order of bytes, or right to write."""
    eight = np.arange(8192, dtype=np.uint8)
    frozen = eight.copy()
    frozen.flags.writeable = False
    return [
        *(None, "text", 1.5, float("nan"), object(), -1, 2**64, -(2**63) - 1, 99, True, b"bytes", lambda *_: None),
        *([], [None], ["x"], [-1], [2**64], [1.5], [object()], [(1, 2, 3)], {}, {3: "x"}, (), range(3, 30003)),
        *(Lying(30_000, 3), Lying(3, 30_000), Lying(0, 3), iter([3, 4])),
        *(eight[::2], frozen, eight.reshape(64, 128).T, eight.astype(">u4"), eight.astype(object)[:1024]),
        *(np.zeros(1024, dtype="datetime64[s]"), np.array(3), memoryview(bytearray(8))[::-1], array("I", [3, 4])),
        *(bytearray(8191), bytearray(8193), bytearray(), bytes(8192), mmap.mmap(-1, 4096, prot=mmap.PROT_READ)),
    ]


@pytest.fixture(autouse=True)
def _guarded_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of modules that let them be replaced end at a page that cannot be touched."""
    for module in modules():
        if hasattr(module, "new_array"):
            monkeypatch.setattr(module, "new_array", guard_pages.Arrays(at_end=True).new)


@pytest.mark.parametrize("module", MODULES)
def test_every_entry_point_has_a_call(module: ModuleType) -> None:
    assert entry_points(module) == set(row(module).CALLS)


@pytest.mark.parametrize(("module", "name"), CALLS)
def test_wrong_arguments_end_in_an_exception(module: ModuleType, name: str) -> None:
    """Or in an answer, where they are not wrong; never in a crash. A sound call is accepted before and after."""
    call_of(module, name)()
    for i in range(len(wrong_arguments())):
        for n in range(len(call_of(module, name).args) + len(call_of(module, name).named)):
            call = list(call_of(module, name).changed(wrong_arguments()[i]))[n]
            with suppress(REFUSALS):  # type: ignore[arg-type]
                call()
    call_of(module, name)()


# ---- what threads may share ----------------------------------------------------------------------


@pytest.mark.parametrize("module", MODULES)
def test_every_class_says_what_threads_may_share(module: ModuleType) -> None:
    """By a decorator of pgquern.sharing, or the stem's tests name it as not to be shared."""
    said = {cls.__name__ for cls in classes(module) if hasattr(cls.__init__, "__wrapped__")}  # type: ignore[misc]
    assert said | getattr(row(module), "NOT_SHARED", set()) == {cls.__name__ for cls in classes(module)}


@pytest.mark.parametrize(("module", "name"), CALLS)
def test_a_call_waits_for_the_one_that_runs(module: ModuleType, name: str) -> None:
    """Of an exclusive object. Here nothing runs, and the test has the turn."""
    call = call_of(module, name)
    turn = getattr(getattr(call.function, "__self__", None), "_turn", None)
    if turn is None:
        return
    thread = threading.Thread(target=lambda: call())
    with turn:
        thread.start()
        thread.join(0.02)
        assert thread.is_alive()
    thread.join()


class Meeting:
    """What a call can wait in, and how many calls are in it."""

    def __init__(self) -> None:
        self.inside, self.most = 0, 0
        self.entered, self.leave = threading.Event(), threading.Event()

    def stay(self) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.entered.set()
        self.leave.wait(60)
        self.inside -= 1


@exclusive
class Alone(Meeting):
    def method(self) -> None:
        self.stay()

    @property
    def value(self) -> int:
        """A value."""
        self.stay()
        return 1

    def again(self) -> None:
        self.method()

    def fails(self) -> None:
        raise KeyError


def test_calls_of_an_exclusive_object_run_one_after_the_other() -> None:
    alone = Alone()
    threads = [threading.Thread(target=call) for call in (alone.method, lambda: alone.value)]
    threads[0].start()
    assert alone.entered.wait(60)
    threads[1].start()
    threads[1].join(0.05)
    assert alone.inside == 1
    alone.leave.set()
    for thread in threads:
        thread.join()
    assert alone.most == 1
    assert Alone.value.__doc__ == "A value."


def test_an_exclusive_object_refuses_to_be_called_from_within_its_call_and_works_after_an_exception() -> None:
    alone = Alone()
    alone.leave.set()
    refused: list[RuntimeError] = []

    def again() -> None:
        try:
            alone.again()
        except RuntimeError as error:
            refused.append(error)

    # It would wait for itself for ever.
    thread = threading.Thread(target=again, daemon=True)
    thread.start()
    thread.join(20)
    assert ["within its own call" in str(error) for error in refused] == [True]
    with pytest.raises(KeyError):
        alone.fails()
    assert alone.value == 1


@closable(lambda: InterruptedError("in use"))
class Shared(Meeting):
    def method(self) -> None:
        self.stay()

    def close(self) -> str:
        return "closed"


def test_a_closable_object_is_not_closed_while_calls_run() -> None:
    shared = Shared()
    threads = [threading.Thread(target=shared.method) for _ in range(2)]
    for thread in threads:
        thread.start()
        assert shared.entered.wait(60)
        shared.entered.clear()
    with pytest.raises(InterruptedError):
        shared.close()
    shared.leave.set()
    for thread in threads:
        thread.join()
    assert shared.most == 2
    assert shared.close() == "closed"


def kept_by_c(one: object) -> bool:
    return getattr(one.__reduce__, "__func__", None) is uncopied


@pytest.mark.parametrize("module", MODULES)
def test_no_object_of_c_is_pickled_or_copied(module: ModuleType) -> None:
    made = [getattr(call_of(module, name).function, "__self__", None) for name in row(module).CALLS]
    made += [module.Hold()] if hasattr(module, "Hold") else []
    for one in filter(kept_by_c, made):
        for away in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=f"a {type(one).__name__} cannot be copied or pickled"):
                away(one)
    kept = [cls for cls in classes(module) if hasattr(cls.__init__, "__wrapped__")]  # type: ignore[misc]
    assert all(any(isinstance(one, cls) and kept_by_c(one) for one in made) for cls in kept)


@pytest.mark.parametrize("module", MODULES)
def test_a_variant_that_there_is_not_is_told_with_those_that_there_are(module: ModuleType) -> None:
    for name in row(module).CALLS:
        for word in {"variant", "policy"} & set(call_of(module, name).named):
            for wrong in list[Any](([], {}, 5, b"scalar", "", "no such")):
                call = call_of(module, name)
                with pytest.raises(ValueError, match=r"no variant .* of .*; there are "):
                    call.function(*call.args, **(call.named | {word: wrong}))


def test_capacities_have_bounds() -> None:
    """Whatever memory there is: what is not touched may seem to be had."""
    tried = set[str]()
    for module, name in calls():
        words = inspect.signature(call_of(module, name).function).parameters
        for word in {"capacity", "log", "head", "queue_space", "filter_space", "max_concurrency"} & set(words):
            if words[word].annotation is bool:
                continue
            for number in (2**40, 2**70, -1):
                call = call_of(module, name)
                bound = inspect.signature(call.function).bind(*call.args, **call.named)
                bound.arguments[word] = number
                with pytest.raises(ValueError, match=f"{word} is {number}; it must be 0 to {2**28}"):
                    call.function(*bound.args, **bound.kwargs)
                tried.add(f"{name} {word}")
    assert len(tried) >= 8


@pytest.mark.parametrize("cls", [Alone, Shared])
def test_an_object_that_c_keeps_memory_for_has_one_owner(cls: type[Meeting]) -> None:
    """A copy would outlive the memory that the other object frees; so would what a second initialisation left."""
    made = cls()
    with pytest.raises(TypeError, match="cannot be copied"):
        copy.copy(made)
    with pytest.raises(TypeError):
        copy.deepcopy(made)
    with pytest.raises(RuntimeError, match="initialised once"):
        cls.__init__(made)


@pytest.mark.parametrize("kind", ["", "nonsense", None])
def test_a_kind_that_does_not_exist_is_a_value_error(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"no kind .*all_variants\(\) names them all"):
        variants(kind)


# ---- buffers -------------------------------------------------------------------------------------

SIXTEEN = np.arange(16, dtype=np.uint8)


@pytest.mark.parametrize(
    "source",
    [
        bytearray(16),
        memoryview(bytearray(16)),
        mmap.mmap(-1, 16),
        SIXTEEN,
        SIXTEEN.reshape(4, 4),
        SIXTEEN[3:7],
        ctypes.create_string_buffer(16),
        array("B", range(16)),
    ],
    ids=lambda source: type(source).__name__,
)
def test_a_buffer_is_the_memory_itself(source: Any) -> None:
    with buffer(source, writable=True) as found:
        assert len(found) == memoryview(source).nbytes
        found[0] = b"\x7f"
    assert memoryview(source).cast("B").tobytes()[0] == 0x7F


def read_only() -> Any:
    found = SIXTEEN.copy()
    found.flags.writeable = False
    return found


@pytest.mark.parametrize(
    ("source", "writable"),
    [
        pytest.param(bytes(16), True, id="bytes"),
        pytest.param(read_only(), True, id="read-only numpy"),
        pytest.param(mmap.mmap(-1, 16, prot=mmap.PROT_READ), True, id="read-only mmap"),
        pytest.param(SIXTEEN[::2], False, id="strided"),
        pytest.param(SIXTEEN[::-1], False, id="backwards"),
        pytest.param(SIXTEEN.reshape(4, 4).T, False, id="by columns"),
        pytest.param(np.array([1, "x"], dtype=object), False, id="objects"),
        pytest.param(SIXTEEN.astype("<u4"), False, id="numbers"),
        pytest.param(SIXTEEN.astype(">u4"), False, id="big-endian numbers"),
        pytest.param(np.zeros(2, dtype="datetime64[s]"), False, id="dates"),
        pytest.param(np.zeros(2, dtype=[("a", "u1"), ("b", "O")]), False, id="records"),
        pytest.param(array("I", [1, 2]), False, id="array of numbers"),
    ],
)
def test_other_memory_is_refused_with_a_code(source: Any, writable: bool) -> None:
    with pytest.raises(PgquernBufferError, match="contiguous bytes") as caught:
        buffer(source, writable=writable)
    assert isinstance(caught.value, PgquernError)
    assert isinstance(caught.value, BufferError)
    assert (caught.value.code, caught.value.index) == (lib.PGQ_BUFFER, 0)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_the_refusal_says_what_this_memory_is() -> None:
    for source, why in (
        (SIXTEEN.astype(">u4"), "4 bytes (>I)"),
        (SIXTEEN[::2], "not contiguous"),
        (bytes(16), "read-only"),
    ):
        with pytest.raises(PgquernBufferError, match=re.escape(why)):
            buffer(source, writable=True)


@pytest.mark.parametrize("source", [None, 5, "text", [1, 2], object()])
def test_what_has_no_memory_is_a_type_error(source: Any) -> None:
    with pytest.raises(TypeError):
        buffer(source)


def test_a_buffer_cannot_be_resized_while_it_is_used() -> None:
    memory = bytearray(16)
    with buffer(memory), pytest.raises(BufferError):
        memory.append(1)
    memory.append(1)


def test_a_callback_that_gives_too_much_writes_nothing() -> None:
    target = guard_pages.Arrays(at_end=True).new("char[4]")
    assert fill(target, b"abc", 4) == 3
    assert bytes(ffi.buffer(target)) == b"abc\0"
    assert fill(target, SIXTEEN[:4], 4) == 4
    for source in (b"abcde", np.arange(3, dtype=np.uint64)):
        with pytest.raises(ValueError, match="were given where 4 were asked for"):
            fill(target, source, 4)
    assert bytes(ffi.buffer(target)) == SIXTEEN[:4].tobytes()
