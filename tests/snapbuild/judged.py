# SPDX-License-Identifier: PostgreSQL
"""A candidate's last call on an array of XIDs: kept by the judge, and told; see tools/judge/last.py."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from pgquern import snapbuild

from ref import snapbuild as ref
from ref.xid import XID
from tools.judge import xids as judge_xids
from tools.judge.kinds import Kind
from tools.judge.last import Call, Keeper, Told

REFUSALS = {
    "purge": "PGQ_NULL, CAPACITY; PGQ_MEMORY from the variant that allocates.",
    "purge_sorted": "Also UNSORTED (index 0) if `sorted` is not set.",
    "purge_full": "PGQ_NULL, CAPACITY; PGQ_MEMORY from the variant that allocates.",
    "insert": "PGQ_NULL; XID_PERMANENT (place in the batch); CAPACITY",
    "snapshot": "PGQ_NULL; CAPACITY: xip_space is less than xcnt.",
    "known_assigned": "sets the flags of as many entries from 0 on",
}
KEEPS = {
    "purge": "Keeps x if and only if it does not precede xmin.",
    "purge_sorted": "Keeps x if and only if it does not precede xmin.",
    "purge_full": "keeps x if and only if x >= full_xmin.",
    "insert": "the array holds, as a set, what it held and the batch.",
    "snapshot": "Writes the XIDs, raw-sorted, to xip",
    "known_assigned": "Moves the XIDs of [tail, head) whose flag is set to the front, in their order",
}
RIGHT: dict[str, Callable[..., list[int]]] = {
    "purge": ref.purge,
    "purge_sorted": ref.purge_sorted,
    "purge_full": ref.purge_full,
    "insert": lambda xids, batch: sorted({*xids, *batch}),
    "snapshot": ref.snapshot_xip,
    "known_assigned": lambda xids, valid, tail: ref.compress(xids[tail:], valid[tail:]),
}
ORDER = "The order stays."
PERMANENT = {
    "purge": "Does nothing if xmin is permanent",
    "purge_sorted": "Does nothing if xmin is permanent",
    "purge_full": "Does nothing if the XID of full_xmin is permanent.",
}


def keep(keeper: Keeper) -> None:
    """From now on the calls of the candidate on an array are kept."""
    methods: list[tuple[Any, str, str]] = [
        (snapbuild.Committed, "purge", "xip"),
        (snapbuild.Committed, "purge_sorted", "xip"),
        (snapbuild.Committed, "insert", "xip"),
        (snapbuild.Committed, "snapshot", "xip"),
        (snapbuild.CommittedFull, "purge", "fxip"),
    ]
    for cls, method, xids in methods:
        setattr(cls, method, _kept(keeper, getattr(cls, method), xids))
    snapbuild.compress = _kept_compress(keeper, snapbuild.compress)


def _kept(keeper: Keeper, plain: Callable[..., Any], xids: str) -> Callable[..., Any]:
    name = "purge_full" if xids == "fxip" else plain.__name__

    def kept(self: Any, *args: Any, variant: str | None = None, **rest: Any) -> Any:
        if variant not in (None, "candidate"):
            return plain(self, *args, variant=variant, **rest)
        given = {"xids": getattr(self, xids), "sorted": getattr(self, "sorted", True), "capacity": self.capacity}
        args = tuple(list(arg) if name == "insert" else arg for arg in args)
        with keeper(call=name, args=args, **given, **rest) as got:
            answer = plain(self, *args, variant=variant, **rest)
            got["xids"] = answer if name == "snapshot" else getattr(self, xids)
            return answer

    return kept


def _kept_compress(keeper: Keeper, plain: Callable[..., list[int]]) -> Callable[..., list[int]]:
    """The loop alone has no array of a class around it."""

    def kept(xids: Sequence[int], valid: Sequence[bool], *, tail: int = 0, variant: str) -> list[int]:
        if variant != "candidate":
            return plain(xids, valid, tail=tail, variant=variant)
        given = {"xids": list(xids), "args": (list(valid), tail), "sorted": False, "capacity": len(xids)}
        with keeper(call="known_assigned", **given) as got:
            answer = got["xids"] = plain(xids, valid, tail=tail, variant=variant)
            return answer

    return kept


def words(kind: Kind) -> list[str]:
    """All words of the contract that a call can break."""
    name = kind.name.removeprefix(f"{kind.stem}_")
    found = [table[name] for table in (REFUSALS, KEEPS, PERMANENT) if name in table]
    return [*found, ORDER] if name in ("purge", "purge_sorted") else found


def told(kind: Kind, call: Call) -> Told | None:
    """What is wrong with a call; None: nothing, or the call was of another kind."""
    given, name = call["given"], kind.name.removeprefix(f"{kind.stem}_")
    if given["call"] != name or not _is_sound(given):
        return None
    xids, args = given["xids"], given["args"]
    expected = RIGHT[name](xids, *args)
    got, breaks = call.get("got"), ""
    found: list[int] = []
    if got is not None:
        if "xids" in got:
            found = sorted(set(got["xids"])) if name == "insert" else got["xids"]
            if found == expected:
                return None
            breaks = ORDER if sorted(found) == sorted(expected) and name in ("purge", "purge_sorted") else KEEPS[name]
            if name in PERMANENT and not XID.is_normal(args[0] % XID.size):
                breaks = PERMANENT[name]
        else:
            breaks = REFUSALS[name]
    shown = {"given": xids} | ({"batch": args[0]} if name == "insert" else {})
    pivot = args[0] % XID.size if name.startswith("purge") else None
    words = shown | ({"xmin": args[0]} if pivot is not None else {})
    words |= {"valid": args[0], "tail": args[1]} if name == "known_assigned" else {}
    says = judge_xids.says(words, expected, found)
    if got is None:
        says = f"{says.partition(chr(10) + 'got')[0]}\nthe call did not come back"
    elif "xids" not in got:
        says = f"{says.partition(chr(10) + 'got')[0]}\ngot a refusal: {got}"
    drawn = judge_xids.picture(shown | {"expected": expected, "got": found}, pivot)
    return Told(says, breaks, drawn, _regression(kind, name, given, expected))


def _is_sound(given: dict[str, Any]) -> bool:
    """Nothing in a call is refused, so that the oracle has an answer."""
    xids, name, args = given["xids"], given["call"], given["args"]
    if name == "insert" and (len(xids) + len(args[0]) > given["capacity"] or not all(map(XID.is_normal, args[0]))):
        return False
    if not all(XID.is_normal(x % XID.size) for x in xids) or (name == "purge_sorted" and not given["sorted"]):
        return False
    return not given["sorted"] or all(a < b for a, b in pairwise(xids))


def _regression(kind: Kind, name: str, given: dict[str, Any], expected: list[int]) -> str:
    if name == "known_assigned":
        valid, tail = given["args"]
        call = f"compress({given['xids']}, {valid}, tail={tail}, variant=VARIANT)"
        return _test("compress", kind, name, f"    assert {call} == {expected}\n")
    full = name == "purge_full"
    cls, attribute = ("CommittedFull", "fxip") if full else ("Committed", "xip")
    claim = "" if full else f", sorted={given['sorted']}"
    method = "purge" if full else name
    options = [f"{key}={given[key]}" for key in ("consistent",) if key in given]
    arguments = ", ".join([*map(repr, given["args"]), *options, "variant=VARIANT"])
    call = f"array.{method}({arguments})"
    compare = {
        "snapshot": f"    assert {call} == {expected}\n",
        "insert": f"    {call}\n    assert sorted(set(array.{attribute})) == {expected}\n",
    }.get(name, f"    {call}\n    assert array.{attribute} == {expected}\n")
    array = f"    array = {cls}({given['xids']}, capacity={given['capacity']}{claim})\n"
    return _test(cls, kind, name, array + compare)


def _test(imports: str, kind: Kind, name: str, body: str) -> str:
    return (
        f"from pgquern.snapbuild import {imports}, variants\n\n"
        f'VARIANT = "candidate" if "candidate" in [v.name for v in variants("{name}")] else "{kind.like}"\n\n\n'
        f"def test_an_array_that_got_a_wrong_answer() -> None:\n{body}"
    )
