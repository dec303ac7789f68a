# SPDX-License-Identifier: PostgreSQL
"""Values as TLC prints them: read, compared, and said in words.

TLC's numbers are int, its truth values bool, strings and model values str, sequences list, sets Members, records and
functions dict. Where a sequence is a key it is a tuple.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

TOKEN = re.compile(r'\s*(?:("(?:\\.|[^"\\])*")|(<<|>>|\|->|:>|@@|\.\.|[][{}(),])|(-?\d+)|([A-Za-z_]\w*))')
MANY = 8
"""Of a longer sequence only those members are named that have changed."""
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


class Members(tuple["Value", ...]):
    """A set, in the order in which TLC prints it."""


Value = bool | int | str | list["Value"] | dict["Value", "Value"] | tuple["Value", ...]


class Change(NamedTuple):
    """A variable, or a part of one, before and after a step. None: it was not there, or is there no more."""

    name: str
    old: str | None
    new: str | None


class Unreadable(ValueError):
    """The text is no value as TLC prints them."""


class Reader:
    """Reads one value after the other from a text."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def next(self) -> str:
        found = TOKEN.match(self.text, self.at)
        if not found:
            raise Unreadable(f"no value of TLC: {self.text[self.at : self.at + 40]!r}")
        self.at = found.end()
        return found[0].strip()

    def peek(self) -> str:
        found = TOKEN.match(self.text, self.at)
        return found[0].strip() if found else ""

    def expect(self, token: str) -> None:
        if (got := self.next()) != token:
            raise Unreadable(f"{token} is missing before {got} in a value of TLC")

    def value(self) -> Value:
        token = self.next()
        if token == "<<":
            return list(self.until(">>"))
        if token == "{":
            return Members(self.until("}"))
        if token == "[":
            return self.record()
        if token == "(":
            return self.function()
        if token[0] == '"':
            return re.sub(r"\\(.)", lambda match: ESCAPED.get(match[1], match[1]), token[1:-1])
        if token[0].isdigit() or token[0] == "-":
            return self.number(int(token))
        if token in ("TRUE", "FALSE"):
            return token == "TRUE"
        if token[0].isalpha() or token[0] == "_":
            return token
        raise Unreadable(f"{token} begins no value of TLC")

    def number(self, first: int) -> Value:
        """A number, or an interval of them."""
        if self.peek() != "..":
            return first
        self.expect("..")
        return Members(range(first, int(self.next()) + 1))

    def until(self, end: str) -> Iterator[Value]:
        """Values with commas between them."""
        while self.peek() != end:
            yield self.value()
            if self.peek() != end:
                self.expect(",")
        self.expect(end)

    def record(self) -> Value:
        found: dict[Value, Value] = {}
        while self.peek() != "]":
            name = self.next()
            self.expect("|->")
            found[name] = self.value()
            if self.peek() != "]":
                self.expect(",")
        self.expect("]")
        return found

    def function(self) -> Value:
        found: dict[Value, Value] = {}
        while True:
            key = as_key(self.value())
            self.expect(":>")
            found[key] = self.value()
            if self.peek() != "@@":
                break
            self.expect("@@")
        self.expect(")")
        return found


def read(text: str) -> Value:
    """The one value that the text is."""
    reader = Reader(text)
    value = reader.value()
    if reader.text[reader.at :].strip():
        raise Unreadable(f"after a value of TLC there is more: {reader.text[reader.at :].strip()[:40]!r}")
    return value


def as_key(value: Value) -> Value:
    """The value as the key of a dict."""
    match value:
        case list():
            return tuple(map(as_key, value))
        case Members():
            return Members(map(as_key, value))
        case dict():
            return tuple((as_key(key), as_key(each)) for key, each in value.items())
    return value


def words(value: Value, inside: bool = False) -> str:
    """A value for people: lists without quotes, an empty one as "none", truth as yes and no."""
    match value:
        case bool():
            return "yes" if value else "no"
        case dict():
            if not value:
                return "none"
            if list(value.values()) == [True]:  # [none |-> TRUE] and the like, where there is no record
                return words(next(iter(value)))
            return "{" + ", ".join(f"{words(key, True)}: {words(each, True)}" for key, each in value.items()) + "}"
        case list() | tuple():
            said = ", ".join(words(each, True) for each in value)
            if not value:
                return "none"
            return f"({said})" if inside and len(value) > 1 else said
    return str(value) if value != "" else "none"


def differences(old: Value, new: Value, name: str) -> Iterator[Change]:
    """What differs, as deep inside as it can be named: fields, members that came and went, what was appended."""
    if type(old) is type(new) and old == new:
        return
    match old, new:
        case dict(), dict() if old.keys() & new.keys() or not (old and new):
            for key in [*old, *(key for key in new if key not in old)]:
                inner = f"{name}.{key}" if isinstance(key, str) else f"{name}[{words(key)}]"
                if key not in new:
                    yield Change(inner, words(old[key]), None)
                elif key not in old:
                    yield Change(inner, None, words(new[key]))
                else:
                    yield from differences(old[key], new[key], inner)
        case list(), list() if len(new) > len(old) and new[: len(old)] == old:
            for number in range(len(old), len(new)):
                yield Change(f"{name}[{number + 1}]", None, words(new[number]))
        case list(), list() if len(new) == len(old) and (
            len(old) > MANY or all(isinstance(each, dict) for each in [*old, *new])
        ):
            for number, (before, after) in enumerate(zip(old, new, strict=True), 1):
                yield from differences(before, after, f"{name}[{number}]")
        case _:
            yield Change(name, words(old), words(new))
