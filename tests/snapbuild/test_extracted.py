# SPDX-License-Identifier: PostgreSQL
"""The extracted proof as a third opinion beside oracle and kernels."""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from pgquern.snapbuild import Committed, CommittedFull

from ref import snapbuild as ref
from ref.xid import FIRST_NORMAL, XID, full
from tests.common.tally import tally
from tests.snapbuild.agree import SMALL_RING, code_of, names, subsets
from tests.snapbuild.extracted import Extracted, Op
from tests.snapbuild.strategies import CORNERS, HALF, around


def test_the_extracted_proof_agrees() -> None:
    """On every subset at every border, and on generated arrays."""
    extracted, rng = Extracted(), Random(3)
    for subset in subsets(SMALL_RING[::2]):
        xip = list(subset)
        for xmin in (x for corner in CORNERS for x in around(corner)):
            extracted.expect(ref.purge(xip, xmin), Op.PURGE, xip, xmin=xmin)
            extracted.expect(ref.purge_sorted(xip, xmin), Op.PURGE_SORTED, xip, xmin=xmin)
    for _ in range(2000):
        base, n = rng.randrange(FIRST_NORMAL, XID.size), rng.choice([0, 1, 5, 30, 200])
        xids = [max((base + rng.randrange(rng.choice([n + 1, HALF]))) % XID.size, FIRST_NORMAL) for _ in range(n)]
        xip, batch = sorted(set(xids)), [rng.choice([*xids, base]) for _ in range(rng.randrange(20))]
        fxip = sorted(full(rng.randrange(3), x) for x in xip)
        valid = [rng.random() < 0.5 for _ in xip]
        extracted.expect(ref.purge(xids, base), Op.PURGE, xids, xmin=base)
        extracted.expect(ref.purge_sorted(xip, base), Op.PURGE_SORTED, xip, xmin=base)
        extracted.expect(ref.insert(xip, batch), Op.INSERT, xip, batch)
        extracted.expect(ref.purge_full(fxip, full(1, base)), Op.PURGE_FULL, fxip, xmin=full(1, base))
        extracted.expect(ref.compress(xip, valid), Op.COMPRESS, xip, valid)
    tally("snapbuild", "answers of the extracted proof", extracted.check())


def faulty(rng: Random, xids: Sequence[int]) -> list[int]:
    """XIDs with one made permanent, one twice, two exchanged, or none of these."""
    found = list(xids)
    i = rng.randrange(len(found))
    match rng.randrange(4):
        case 0:
            found[i] = found[i] - found[i] % XID.size + rng.randrange(FIRST_NORMAL)
        case 1:
            found.insert(i, found[i])
        case 2:
            found[i - 1], found[i] = found[i], found[i - 1]
    return found


def kernels(op: Op, array: list[int], batch: list[int], xmin: int) -> list[Callable[[], list[int]]]:
    """The call of each variant, with its result."""

    def called(make: Callable[[], Committed | CommittedFull], call: Callable[..., None]) -> list[int]:
        committed = make()
        call(committed)
        return committed.fxip if isinstance(committed, CommittedFull) else committed.xip

    xip = partial(Committed, array, capacity=len(array) + len(batch), sorted=op is not Op.PURGE)
    if op is Op.PURGE_FULL:
        return [
            partial(called, partial(CommittedFull, array), lambda c, v=v: c.purge(xmin, variant=v))
            for v in names("purge_full")
        ]
    if op is Op.INSERT:
        keep_order = ("batch_merge", "sorted_after_consistent")
        return [partial(called, xip, lambda c, v=v: c.insert(batch, variant=v)) for v in keep_order]
    kind = "purge" if op is Op.PURGE else "purge_sorted"
    return [partial(called, xip, lambda c, v=v: getattr(c, kind)(xmin, variant=v)) for v in names(kind)]


def test_refusals_of_the_extracted_proof_are_the_kernels() -> None:
    """Each variant directly: the same array, or the same code. Only the sorted purge refuses an array out of order."""
    extracted, rng, refused = Extracted(), Random(5), dict[tuple[Op, int], int]()
    for number in range(800):
        op = [Op.PURGE, Op.PURGE_SORTED, Op.INSERT, Op.PURGE_FULL][number % 4]
        base, n = rng.randrange(FIRST_NORMAL, XID.size - 100), rng.randrange(1, 12)
        xids = sorted(rng.sample(range(base, base + 60), n))
        array = faulty(rng, [full(2, x) for x in xids] if op is Op.PURGE_FULL else xids)
        batch = [base + rng.randrange(80)] * 2 if op is Op.INSERT else []
        if op is Op.INSERT and min(array) < FIRST_NORMAL:  # of a batch the proof looks at that, and not of the array
            array, batch = xids, [*batch, min(array)]
        xmin = base + 30 if op is not Op.PURGE_FULL else full(2, base + 30)
        calls = kernels(op, array, batch, xmin)
        codes = {code_of(call)[0] for call in calls}
        assert len(codes) == 1
        if code := codes.pop():
            extracted.refuse(code, op, array, batch, xmin)
            refused[op, code] = refused.get((op, code), 0) + 1
        else:
            extracted.expect(calls[0](), op, array, batch, xmin)
    tally("snapbuild", "answers of the extracted proof", extracted.check())
    assert {code for op, code in refused if op is Op.PURGE} == {ref.Code.XID_PERMANENT}
    for op in (Op.PURGE_SORTED, Op.INSERT, Op.PURGE_FULL):
        assert {code for o, code in refused if o is op} == {*ref.Code} - {ref.Code.CAPACITY}, op
