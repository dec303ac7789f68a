# SPDX-License-Identifier: PostgreSQL
"""A candidate's last call on ids of relations: kept by the judge, and told; see tools/judge/last.py."""

from typing import Any

from _pgquern import lib
from pgquern import datfrozenxid

from ref import datfrozenxid as ref
from ref.datfrozenxid import FutureError, Pair, Row
from ref.xid import XID
from tests.datfrozenxid.strategies import MULTIXACTS, XIDS
from tools.judge import xids as judge_xids
from tools.judge.kinds import Kind
from tools.judge.last import Call, Keeper, Told

KINDS = ("min_frozen", "min_frozen_strided", "need_update")

RIGHT = {
    "min_frozen": "writes the oldest of the n values and start to *minimum.",
    "min_frozen_strided": "Both columns are scanned as by datfrozenxid_min_frozen, row by row,",
    "need_update": "for each column, shall the minimum replace the stored value?",
}
FUTURE = {
    "min_frozen": "If a value lies in the future:",
    "min_frozen_strided": "with the first row in which a value lies in the future.",
    "need_update": "Refused, with index 0:",
}
"""The words of the contract that are broken: by an answer, or by a refusal."""


def keep(keeper: Keeper) -> None:
    """From now on the calls of the candidate are kept."""
    for name in KINDS:
        setattr(datfrozenxid, name, _kept(keeper, name))


def _kept(keeper: Keeper, name: str) -> Any:
    plain = getattr(datfrozenxid, name)

    def kept(*args: Any, variant: str | None = None, **rest: Any) -> Any:
        if variant not in (None, "candidate"):
            return plain(*args, variant=variant, **rest)
        args = (list(args[0]), *args[1:])
        with keeper(call=name, args=args, rest=rest) as got:
            answer = plain(*args, variant=variant, **rest)
            got["answer"] = answer
            return answer

    return kept


def _right(name: str, args: Any, rest: dict[str, Any]) -> tuple[int, ...]:
    """The oracle's answer, or where a value lies in the future."""
    try:
        if name == "min_frozen":
            return (ref.min_frozen(args[0], args[1], args[2], MULTIXACTS if rest.get("multixact") else XIDS),)
        if name == "min_frozen_strided":
            rows, start, sane = args
            return tuple(ref.min_frozen_rows([Row(*row) for row in rows], Pair(*start), Pair(*sane)))
        both = zip(*args, (XIDS, MULTIXACTS), strict=True)
        return tuple(int(ref.need_update(*ids)) for ids in both)
    except FutureError as future:
        return ("in the future, at", future.index)  # type: ignore[return-value]


def words(kind: Kind) -> list[str]:
    """All words of the contract that a call can break."""
    return [table[kind.name.removeprefix(f"{kind.stem}_")] for table in (RIGHT, FUTURE)]


def told(kind: Kind, call: Call) -> Told | None:
    """What is wrong with a call; None: nothing, or the call was of another kind."""
    given, name = call["given"], kind.name.removeprefix(f"{kind.stem}_")
    if given["call"] != name:
        return None
    args, rest = given["args"], given["rest"]
    expected = _right(name, args, rest)
    got = call.get("got")
    found: tuple[Any, ...] = ("the call did not come back",)
    if got is not None and "answer" in got:
        answer = got["answer"]
        found = tuple(map(int, answer)) if isinstance(answer, list) else (int(answer),)
    elif got is not None and "code" in got:
        future = got["code"] in (lib.PGQ_DATFROZENXID_FUTURE_XID, lib.PGQ_DATFROZENXID_FUTURE_MULTI)
        found = ("in the future, at" if future else f"refused with code {got['code']}, at", got["index"])
    elif got is not None:
        found = (str(got),)
    if found == expected:
        return None
    names = {"min_frozen": ("values", "start", "last_sane"), "min_frozen_strided": ("rows", "start", "last_sane")}
    words = dict(zip(names.get(name, ("stored", "minimum", "last_sane")), args, strict=True)) | rest
    lines = [f"{key} = {judge_xids.brief(value)}" for key, value in words.items()]
    says = "\n".join([*lines, f"expected {expected}, got {found}"])
    breaks = FUTURE[name] if "in the future, at" in (expected[0], found[0]) else RIGHT[name]
    return Told(
        says,
        "" if got is None else breaks,
        _picture(name, args, says, expected, found),
        _regression(kind, name, args, rest, expected),
    )


def _picture(name: str, args: Any, says: str, expected: Any, found: Any) -> str:
    answered = isinstance(found, tuple) and not isinstance(found[0], str) and not isinstance(expected[0], str)
    if name != "min_frozen" or not answered:
        return ""
    at = [i for i, value in enumerate(args[0]) if value == expected[0]]
    where = f"The oldest stands at {at[:4]}, counted from 0. " if at else "The oldest is the one to begin with. "
    lists = {"given": args[0], "expected": list(expected), "got": list(found)}
    return judge_xids.picture(lists, args[2] % XID.size, "the last sane one") + f"<p class='dim'>{where}</p>"


def _as_tuples(value: Any) -> Any:
    """JSON has lists only."""
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def _regression(kind: Kind, name: str, args: Any, rest: dict[str, Any], expected: Any) -> str:
    shown = [_as_tuples(arg) for arg in args]
    given = ", ".join([*map(repr, shown), *(f"{key}={value!r}" for key, value in rest.items()), "variant=VARIANT"])
    if isinstance(expected[0], str):
        imports = "import pytest\nfrom pgquern import PgquernError\n"
        body = (
            f"    with pytest.raises(PgquernError) as refused:\n        {name}({given})\n"
            f"    assert refused.value.index == {expected[1]}\n"
        )
    else:
        imports, wanted = "", expected if len(expected) > 1 else expected[0]
        body = f"    assert {name}({given}) == {wanted}\n"
    return (
        f"{imports}from pgquern.datfrozenxid import {name}, variants\n\n"
        f'VARIANT = "candidate" if "candidate" in [v.name for v in variants("{name}")] else "{kind.like}"\n\n\n'
        f"def test_ids_that_got_a_wrong_answer() -> None:\n{body}"
    )
