# SPDX-License-Identifier: PostgreSQL
"""Which changes there are of a definition, each in one place."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from proofs.changes.source import Body, Definition, blanked, definitions

Edit = tuple[int, int, str]
"""Offsets, and what stands there after."""

INSTEAD = {
    "<?": ["<=?"], "<=?": ["<?"], "=?": ["<=?"], "<": ["<="], "<=": ["<"], "=": ["<>"], "<>": ["="],
    "&&": ["||"], "||": ["&&"], "/\\": ["\\/"], "\\/": ["/\\"], "+": ["-"], "-": ["+"], "*": ["+"], "/": ["*"],
    "true": ["false"], "false": ["true"], "True": ["False"], "False": ["True"], "forall": ["exists"],
    "exists": ["forall"], "negb": ["id"], "~": [""], "fst": ["snd"], "snd": ["fst"], "firstn": ["skipn"],
    "skipn": ["firstn"], "forallb": ["existsb"], "existsb": ["forallb"], "Forall": ["Exists"], "Exists": ["Forall"],
    "Z.max": ["Z.min"], "Z.min": ["Z.max"], "Nat.max": ["Nat.min"], "Nat.min": ["Nat.max"],
}  # fmt: skip
SWAPPED = ("-", "/", "mod", "^", "<?", "<=?", "<", "<=", "++")
"""Operators whose operands change places."""
UNIT = {"&&": "true", "||": "false", "/\\": "True", "\\/": "False"}
FORMERS = frozenset(["list", "option", "nat", "Z", "bool", "Prop", "Type", "Set", "prod", "Some"])
"""Their arguments cannot change places, nor stand for the whole: Coq would refuse it."""


@dataclass(frozen=True)
class Change:
    """One change of a definition."""

    file: str
    """From proofs/, as in "S/Spec.v"."""
    definition: str
    old: str
    """The lines that change, and what they become."""
    new: str
    edits: tuple[Edit, ...]
    number: int = 0
    """How many changes of the definition read the same and come before."""

    @property
    def checksum(self) -> str:
        """By which changes are chosen. It does not depend on where the definition is, nor on other definitions."""
        text = "\n".join((self.file, self.definition, self.old, self.new, str(self.number)))
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def name(self) -> str:
        return f"{Path(self.file).stem}.{self.definition} {self.checksum}"

    @property
    def says(self) -> str:
        """The change, for people."""
        return f"{self.old}  ->  {self.new}"

    def applied(self, text: str) -> str:
        """The source with the change made."""
        for begin, end, new in sorted(self.edits, reverse=True):
            text = text[:begin] + new + text[end:]
        return text


def find(file: str, text: str, claimed: Sequence[str], fields: Mapping[str, Sequence[str]]) -> list[Change]:
    """All changes of the claimed definitions of a file. fields: of each record's constructor the fields, in order."""
    code = blanked(text)
    found: list[Change] = []
    for definition in definitions(code):
        if definition.name in claimed:
            seen: dict[tuple[str, str], int] = {}
            for edits in sorted(set(edits_of(Body(code, definition), fields))):
                old, new = lines(code, definition, edits)
                if old != new:
                    number = seen.get((old, new), 0)
                    seen[old, new] = number + 1
                    found.append(Change(file, definition.name, old, new, edits, number))
    return found


def lines(text: str, definition: Definition, edits: Sequence[Edit]) -> tuple[str, str]:
    """The lines of the edits, before and after; each as one line."""
    begin = max(definition.begin, text.rfind("\n", 0, min(e[0] for e in edits)) + 1)
    end = min(definition.end, text.find("\n", max(e[1] for e in edits)))
    shifted = [(first - begin, last - begin, new) for first, last, new in edits]
    old = text[begin:end]
    return " ".join(old.split()), " ".join(Change("", "", "", "", tuple(shifted)).applied(old).split())


def fields_of(text: str) -> dict[str, list[str]]:
    """The constructors of the records of a source (blanked), with their fields."""
    found = {}
    for record in re.finditer(r"\bRecord\s[^.]*?:=\s*([\w']+)\s*\{(.*?)\}", text, re.S):
        found[record.group(1)] = re.findall(r"(?:^|;)\s*([\w']+)\s*:", record.group(2))
    return found


def edits_of(body: Body, fields: Mapping[str, Sequence[str]]) -> Iterator[tuple[Edit, ...]]:
    """The edits of each change of a body. Patterns stay."""
    for i, token in enumerate(body.tokens):
        if i in body.patterns and token.text not in ("forall", "exists"):
            continue
        for new in INSTEAD.get(token.text, ()):
            yield ((token.begin, token.end, new),)
        if token.is_number:
            yield from numbers(body, i)
        elif token.text in SWAPPED or token.text in UNIT or token.text == "->":
            yield from operands(body, i)
        elif token.text == "if":
            yield from conditions(body, i)
        elif token.text == "match" and i in body.partner:
            yield from branches(body, i)
        elif token.is_name and token.text not in FORMERS:
            yield from calls(body, i, [field for some in fields.values() for field in some])
            yield from updates(body, i, fields.get(token.text, ()))


def instead(body: Body, first: int, last: int, new: str) -> tuple[Edit, ...]:
    """Other text from one token to before another."""
    return ((body.tokens[first].begin, body.tokens[last - 1].end, new),)


def swapped(body: Body, a: tuple[int, int], b: tuple[int, int]) -> Iterator[tuple[Edit, ...]]:
    """Two pieces change places."""
    first, second = body.said(*a), body.said(*b)
    if first != second:
        yield instead(body, *a, second) + instead(body, *b, first)


def numbers(body: Body, i: int) -> Iterator[tuple[Edit, ...]]:
    """A number is off by one."""
    value = int(body.at(i), 0)
    for new in (value + 1, value - 1):
        if new >= 0:
            yield instead(body, i, i + 1, hex(new) if body.at(i).startswith("0x") else str(new))


def operands(body: Body, i: int) -> Iterator[tuple[Edit, ...]]:
    """Operands change places, or one of them counts no more; a premise is left out."""
    first, last = body.left(i), body.right(i)
    operator = body.at(i)
    if first is None or last is None:
        return
    if operator == "->":
        if any(t.is_name and t.text not in FORMERS for t in body.tokens[first:i]):
            yield ((body.tokens[first].begin, body.tokens[i].end, ""),)
    elif operator in UNIT:
        yield instead(body, first, i, UNIT[operator])
        yield instead(body, i + 1, last, UNIT[operator])
    else:
        yield from swapped(body, (first, i), (i + 1, last))
    if operator == "++":
        yield instead(body, first, i, "nil")
        yield instead(body, i + 1, last, "nil")


def conditions(body: Body, i: int) -> Iterator[tuple[Edit, ...]]:
    """A condition is always true, always false, or the opposite."""
    depth, then = 1, i
    while depth and then + 1 < len(body.tokens):
        then += 1
        depth += (body.at(then) == "if") - (body.at(then) == "then")
    if then > i + 1 and not depth:
        yield instead(body, i + 1, then, "true")
        yield instead(body, i + 1, then, "false")
        yield instead(body, i + 1, then, f"negb ({body.said(i + 1, then)})")


def branches(body: Body, i: int) -> Iterator[tuple[Edit, ...]]:
    """Two neighbouring branches change places, or one becomes the other."""
    results = [(arrow + 1, last) for _, arrow, last in body.branches(i) if last > arrow + 1]
    for a, b in pairwise(results):
        yield from swapped(body, a, b)
        if body.said(*a) != body.said(*b):
            yield instead(body, *a, body.said(*b))
            yield instead(body, *b, body.said(*a))


def calls(body: Body, i: int, fields: Sequence[str]) -> Iterator[tuple[Edit, ...]]:
    """Two neighbouring arguments change places; an argument stands for the whole call, but no record for its field."""
    arguments = body.arguments(i)
    for a, b in pairwise(arguments):
        yield from swapped(body, a, b)
    if arguments and body.at(i) not in fields and (body.at(i)[0].islower() or body.at(i) == "S" or "." in body.at(i)):
        for argument in arguments:
            yield instead(body, i, arguments[-1][1], body.said(*argument))


def updates(body: Body, i: int, fields: Sequence[str]) -> Iterator[tuple[Edit, ...]]:
    """A field that a record takes anew stays as it was, where others of its fields do."""
    arguments = body.arguments(i)
    if len(arguments) != len(fields):
        return
    said = [" ".join(body.said(*argument).split()) for argument in arguments]
    kept = [found.group(1) for text, field in zip(said, fields, strict=True)
            if (found := re.fullmatch(rf"\({re.escape(field)} ([\w']+)\)", text))]  # fmt: skip
    for argument, text, field in zip(arguments, said, fields, strict=True):
        for old in sorted(set(kept)):
            if text != f"({field} {old})":
                yield instead(body, *argument, f"({field} {old})")
