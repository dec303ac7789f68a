# SPDX-License-Identifier: PostgreSQL
"""A sound call of each entry point of the binding; see tests/common/entry_points.py."""

from collections.abc import Callable

from pgquern.snapbuild import Committed, CommittedFull, KnownAssigned, Reason, compress, variants

from tests.common.entry_points import Call


def committed() -> Committed:
    return Committed([5, 7, 9], capacity=6, sorted=True)


def committed_full() -> CommittedFull:
    return CommittedFull([5, 7, 9], capacity=6, head=1)


def known() -> KnownAssigned:
    found = KnownAssigned(9)
    found.add(3, 8, 1)
    return found


UPSTREAM = {"variant": "upstream"}
CALLS: dict[str, Callable[[], Call]] = {
    "variants": lambda: Call(variants, ("purge",)),
    "compress": lambda: Call(compress, ([3, 4, 5], [True, False, True]), {"tail": 1, "variant": "scalar"}),
    "Committed": lambda: Call(Committed, ([5, 7],), {"capacity": 4, "sorted": True}),
    "Committed.check": lambda: Call(committed().check),
    "Committed.reserve": lambda: Call(committed().reserve, (9,)),
    "Committed.purge": lambda: Call(committed().purge, (7,), UPSTREAM | {"checked": True}),
    "Committed.purge_sorted": lambda: Call(committed().purge_sorted, (7,), UPSTREAM | {"checked": True}),
    "Committed.insert": lambda: Call(
        committed().insert, ([8, 6],), {"consistent": True, "variant": "batch_merge", "checked": True}
    ),
    "Committed.snapshot": lambda: Call(committed().snapshot, (), UPSTREAM | {"checked": True}),
    "CommittedFull": lambda: Call(CommittedFull, ([5, 7],), {"capacity": 4, "head": 1}),
    "CommittedFull.check": lambda: Call(committed_full().check),
    "CommittedFull.purge": lambda: Call(committed_full().purge, (7,), UPSTREAM | {"checked": True}),
    "CommittedFull.insert": lambda: Call(committed_full().insert, ([8, 6],), {"checked": True}),
    "CommittedFull.snapshot": lambda: Call(committed_full().snapshot, (), {"checked": True}),
    "KnownAssigned": lambda: Call(KnownAssigned, (9,), UPSTREAM),
    "KnownAssigned.check": lambda: Call(known().check),
    "KnownAssigned.add": lambda: Call(known().add, (9, 10, 2)),
    "KnownAssigned.search": lambda: Call(known().search, (5,)),
    "KnownAssigned.remove": lambda: Call(known().remove, (5,)),
    "KnownAssigned.remove_tree": lambda: Call(known().remove_tree, (5, [6, 7], 2)),
    "KnownAssigned.remove_preceding": lambda: Call(known().remove_preceding, (5, 2, [3])),
    "KnownAssigned.compress": lambda: Call(known().compress, (Reason.NO_SPACE, 2)),
    "KnownAssigned.get": lambda: Call(known().get, (7,)),
}
