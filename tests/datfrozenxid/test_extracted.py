# SPDX-License-Identifier: PostgreSQL
"""The functions extracted from the proofs, oracle and every variant, on the same arrays, tables and decisions.

A question is [1 byte operation][u32 n][6 u32][n u32, or n rows of 3 u32]; an answer is [1 byte tag][u32][u32], all
little-endian. proofs/oracle/datfrozenxid.ml says more.
"""

import struct
import subprocess
from random import Random

from pgquern import PgquernError
from pgquern import datfrozenxid as kernels
from pgquern.datfrozenxid import variants

from ref import datfrozenxid as ref
from ref.datfrozenxid import FutureError, Ids, Pair, Row
from ref.xid import XID
from tests.common.extraction import agree, program
from tests.common.tally import tally
from tests.datfrozenxid.strategies import CORNERS, HALF, HELD, MULTIXACTS, OTHERS, XIDS, around, normal_of

PROGRAM = program("datfrozenxid")
DONE, FUTURE_XID, FUTURE_MULTI = range(3)
Answer = tuple[int, int, int]
ARRAY_OPERATIONS, ROW_OPERATIONS, DECISIONS, CALLS = range(4), range(4, 7), range(7, 9), range(9, 11)


def head(operation: int, n: int, *numbers: int) -> bytes:
    return struct.pack("<BI6I", operation, n, *numbers, *[0] * (6 - len(numbers)))


def ask(questions: list[bytes]) -> list[Answer]:
    run = subprocess.run([PROGRAM], input=b"".join(questions), capture_output=True, check=True)
    return list(struct.iter_unpack("<BII", run.stdout))


def a_value(rng: Random, ids: Ids, sane: int, sound: bool) -> int:
    x = rng.choice([0, 1, 2, normal_of(ids, sane - rng.randrange(HALF)), *around(sane), rng.choice(CORNERS)])
    return sane if sound and x and ids.precedes(sane, x) else x


def a_bound(rng: Random, ids: Ids) -> tuple[int, int]:
    sane = normal_of(ids, rng.choice([*CORNERS, rng.randrange(XID.size)]))
    start = normal_of(ids, sane - rng.choice([0, 1, HALF - 1, rng.randrange(HALF)]))
    return (sane if ids.precedes(sane, start) else start), sane


def by_oracle(values: list[int], start: int, sane: int, ids: Ids) -> Answer:
    try:
        return DONE, ref.min_frozen(values, start, sane, ids), 0
    except FutureError as future:
        return FUTURE_MULTI if future.multixact else FUTURE_XID, future.index, 0


def by_kernel(variant: str, values: list[int], start: int, sane: int, ids: Ids) -> Answer:
    try:
        return DONE, kernels.min_frozen(values, start, sane, multixact=ids.multixact, variant=variant), 0
    except PgquernError as future:
        return FUTURE_MULTI if ids.multixact else FUTURE_XID, future.index, 0


def test_arrays_through_proof_oracle_and_kernels() -> None:
    rng = Random(1)
    questions, expected = [], []
    for case in range(750):
        ids = rng.choice([XIDS, MULTIXACTS])
        start, sane = a_bound(rng, ids)
        sound = rng.random() < 0.7
        n = rng.choice([4096, 4097, 5000]) if case % 100 == 0 else rng.randrange(140)
        values = [a_value(rng, ids, sane, sound) for _ in range(n)]
        answer = by_oracle(values, start, sane, ids)
        assert all(by_kernel(v.name, values, start, sane, ids) == answer for v in variants("min_frozen") if v.supported)
        for operation in ARRAY_OPERATIONS:
            questions.append(head(operation, n, start, sane, ids.multixact) + struct.pack(f"<{n}I", *values))
            expected.append(answer)
    agree(ask(questions), expected)
    assert {tag for tag, _, _ in expected} == {DONE, FUTURE_XID, FUTURE_MULTI}
    tally("datfrozenxid", "arrays through proof, oracle and kernels", len(questions))


def rows_by_oracle(rows: list[Row], start: Pair, sane: Pair) -> Answer:
    try:
        return DONE, *ref.min_frozen_rows(rows, start, sane)
    except FutureError as future:
        return FUTURE_MULTI if future.multixact else FUTURE_XID, future.index, 0


def test_tables_through_proof_oracle_and_kernels() -> None:
    rng = Random(2)
    questions, expected = [], []
    for case in range(600):
        (xid, xid_sane), (multi, multi_sane) = a_bound(rng, XIDS), a_bound(rng, MULTIXACTS)
        start, sane, sound = Pair(xid, multi), Pair(xid_sane, multi_sane), rng.random() < 0.7
        n = rng.choice([256, 257, 600]) if case % 50 == 0 else rng.randrange(60)
        rows = [
            Row(
                rng.choice(HELD * 3 + OTHERS),
                a_value(rng, XIDS, sane.xid, sound),
                a_value(rng, MULTIXACTS, sane.multi, sound),
            )
            for _ in range(n)
        ]
        answer = rows_by_oracle(rows, start, sane)
        for v in variants("min_frozen_strided"):
            if v.supported:
                try:
                    kernel: Answer = DONE, *kernels.min_frozen_strided(rows, start, sane, variant=v.name)
                except PgquernError as future:
                    kernel = answer[0], future.index, 0
                assert kernel == answer
        fields = b"".join(struct.pack("<3I", row.relkind in ref.RELKINDS, *row[1:]) for row in rows)
        for operation in ROW_OPERATIONS:
            questions.append(head(operation, n, *start, *sane) + fields)
            expected.append(answer)
    agree(ask(questions), expected)
    assert {tag for tag, _, _ in expected} == {DONE, FUTURE_XID, FUTURE_MULTI}
    tally("datfrozenxid", "tables through proof, oracle and kernels", len(questions))


def test_decisions_through_proof_oracle_and_kernels() -> None:
    rng = Random(3)
    questions, expected = [], []
    for _ in range(5000):
        (xid, xid_sane), (multi, multi_sane) = a_bound(rng, XIDS), a_bound(rng, MULTIXACTS)
        new, sane = Pair(xid, multi), Pair(xid_sane, multi_sane)
        points = [
            *CORNERS,
            *around(xid),
            *around(xid_sane),
            *around(multi),
            *around(multi_sane),
            rng.randrange(XID.size),
        ]
        stored = Pair(rng.choice(points), rng.choice(points))
        oracle = (
            ref.need_update(stored.xid, new.xid, sane.xid, XIDS),
            ref.need_update(stored.multi, new.multi, sane.multi, MULTIXACTS),
        )
        for v in variants("need_update"):
            assert kernels.need_update(stored, new, sane, variant=v.name) == oracle
        for operation in DECISIONS:
            questions.append(head(operation, 0, stored.xid, new.xid, sane.xid, stored.multi, new.multi, sane.multi))
            expected.append((DONE, *map(int, oracle)))
    agree(ask(questions), expected)
    assert {answer[1:] for answer in expected} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    tally("datfrozenxid", "decisions through proof, oracle and kernels", len(questions))


def called(outcome: ref.Outcome) -> list[Answer]:
    passed = (DONE, *outcome.passed) if outcome.passed else (1, 0, 0)
    return [(DONE, *outcome.stored), passed, (DONE, int(outcome.dirty), int(outcome.locked))]


def test_whole_calls_through_proof_and_oracle() -> None:
    """With the patch and without; the syscache's copy is fresh, old, invalid, or not there."""
    rng = Random(4)
    questions, expected = [], []
    for _ in range(3000):
        (xid, xid_sane), (multi, multi_sane) = a_bound(rng, XIDS), a_bound(rng, MULTIXACTS)
        new, sane = Pair(xid, multi), Pair(xid_sane, multi_sane)
        xids, multis = [0, *around(xid), *around(xid_sane)], [0, *around(multi), *around(multi_sane)]
        stored, older = (Pair(rng.choice(xids), rng.choice(multis)) for _ in range(2))
        cached = rng.choice([None, stored, older, new])
        rows = [Row(HELD[0], *new)]
        outcomes = ref.update(stored, rows, new, sane), ref.update_patched(cached, stored, rows, new, sane)
        numbers = (cached is not None, *(cached or (0, 0)), *stored, *new, *sane)
        for operation, outcome in zip(CALLS, outcomes, strict=True):
            questions.append(head(operation, len(numbers)) + struct.pack("<9I", *numbers))
            expected += called(outcome)
    agree(ask(questions), expected)
    skips = [locked for _, _, locked in expected[2::3]].count(0)
    assert skips > 100
    tally("datfrozenxid", "calls through proof and oracle", len(questions))


def test_each_way_is_the_one_that_is_asked_for() -> None:
    """Where the minimum to begin with lies in the future, the theorems say nothing, and the ways differ.

    The scan compares each value with the oldest so far, the kernels that of the greatest age alone. Here it is half a
    ring away from the minimum to begin with. The two decisions differ there too. The kernels' chains differ nowhere.
    """
    sane, start = 2**31, 2**31 + 2**30
    values = [sane - 10, sane - (HALF - 10)]
    arrays = [head(operation, 2, start, sane, 0) + struct.pack("<2I", *values) for operation in ARRAY_OPERATIONS]
    assert ask(arrays) == [(DONE, values[1], 0), *[(DONE, start, 0)] * 3]
    rows = b"".join(struct.pack("<3I", 1, value, 0) for value in values)
    tables = [head(operation, 2, start, sane, sane, sane) + rows for operation in ROW_OPERATIONS]
    assert ask(tables) == [(DONE, values[1], sane), *[(DONE, start, sane)] * 2]
    decisions = [head(operation, 0, values[0], start, sane, sane, sane, sane) for operation in DECISIONS]
    assert ask(decisions) == [(DONE, 1, 0), (DONE, 0, 0)]
