# SPDX-License-Identifier: PostgreSQL
"""Finds a function in upstream's C text, and a statement in it, and puts text of ours there.

Nothing of upstream is kept here or in the tables beside: a function is known by its name and the checksum of its text,
a statement by the words that it begins with.
"""

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tools.drift.source import LITERAL

BESIDE_COMMENT = re.compile(r"/\*(?:(?!\*/).)*\*/[ \t]*\n[ \t]*\Z", re.DOTALL)


class TextError(Exception):
    """Upstream's text is not what an edit needs; says what is missing where."""


class Edit(BaseModel):
    """One change of a function's body."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    at: str
    """How the statement begins, from the start of a line; white space does not count."""
    nth: int = 1
    """Which one, of those that begin so."""
    put: Literal["instead", "before", "after"]
    text: str = ""
    """Ours, as upstream would indent it; none removes the statement. Its comment goes with it."""


def blanked(text: str) -> str:
    """The same length, with blanks where comments and the insides of strings are."""

    def blank(found: re.Match[str]) -> str:
        whole = found[0]
        inside = whole if whole.startswith("/") else whole[1:-1]
        blanks = re.sub(r"[^\n]", " ", inside)
        return blanks if whole.startswith("/") else whole[0] + blanks + whole[-1]

    return LITERAL.sub(blank, text)


def span(text: str, name: str) -> tuple[int, int, int]:
    """Where a function's definition begins, where its body begins, and where it ends."""
    word = re.escape(name)
    found = re.search(
        rf"^(?:[\w*][^\n;{{}}()#]*\n)?{word}\([^;{{]*\)\s*\n(\{{\n.*?^\}}\n)", blanked(text), re.MULTILINE | re.DOTALL
    )
    if not found:
        raise TextError(f"there is no function {name}")
    return found.start(), found.start(1), found.end()


def statement(text: str, begins: str, nth: int) -> tuple[int, int]:
    """Where the n-th statement that begins so starts, and where it ends: after its semicolon, or after its block."""
    clean = blanked(text)
    pattern = r"\s*".join(re.escape(word) for word in re.findall(r"\w+|[^\w\s]", begins))
    found = list(re.finditer(rf"^[ \t]*(?={pattern})", clean, re.MULTILINE))
    if len(found) < nth:
        raise TextError(f"{len(found)} statements begin with `{begins}`, number {nth} is needed")
    start = found[nth - 1].end()
    depth = 0
    for at in range(start, len(clean)):
        char = clean[at]
        depth += (char in "({[") - (char in ")}]")
        if depth == 0 and char in ";}":
            return start, at + 1
    raise TextError(f"the statement that begins with `{begins}` has no end")


def edited(body: str, edit: Edit) -> str:
    """The body after one change."""
    start, end = statement(body, edit.at, edit.nth)
    start = body.rindex("\n", 0, start) + 1  # whole lines
    end = body.index("\n", end) + 1
    lines = edit.text.rstrip("\n") + "\n" if edit.text else ""
    if edit.put == "after":
        return body[:end] + lines + body[end:]
    if edit.put == "before":
        return body[:start] + lines + body[start:]
    comment = BESIDE_COMMENT.search(body[:start])
    before = body[: comment.start()].rstrip(" \t") if comment else body[:start]
    gap = not lines and before.endswith(("\n\n", "{\n"))
    return before + lines + (body[end:].lstrip("\n") if gap else body[end:])


def removed(text: str, name: str) -> str:
    """Without a function, and without the comment above it."""
    start, _, end = span(text, name)
    comment = BESIDE_COMMENT.search(text[:start])
    return text[: comment.start() if comment else start].rstrip("\n") + "\n\n" + text[end:].lstrip("\n")


def with_include(text: str, header: str) -> str:
    """With one more #include, behind the last one that stands under no condition."""
    depth, at, where = 0, 0, -1
    for line in text.splitlines(keepends=True):
        word = re.match(r"\s*#\s*(\w+)", line)
        depth += {"if": 1, "ifdef": 1, "ifndef": 1, "endif": -1}.get(word[1], 0) if word else 0
        at += len(line)
        if word and word[1] == "include" and depth <= int(guarded(text)):
            where = at
    if where < 0:
        raise TextError("the file includes nothing")
    return f'{text[:where]}#include "{header}"\n{text[where:]}'


def guarded(text: str) -> bool:
    """Whether the whole file is a header under an #ifndef of its own."""
    return bool(re.match(r"\s*#ifndef (\w+)\s+#define \1\b", blanked(text)))
