# SPDX-License-Identifier: PostgreSQL
"""Coq source as tokens: its definitions, the brackets in them, and the operands of an operator.

There is no parser here, only what the changes in rules.py need. Where it is mistaken, Coq refuses the change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TOKEN = re.compile(
    r'"[^"]*"|0x[0-9a-fA-F]+|\d+|[A-Za-z_][\w\']*(?:\.[A-Za-z_][\w\']*)*|%\w+'
    r"|<->|->|<-|=>|:=|/\\|\\/|<=\?|<\?|=\?|>=\?|>\?|<=|>=|<>|&&|\|\||\+\+|::|\S"
)
DEFINITION = re.compile(
    r"^[ \t]*(?:#\[[^\]]*\]\s*)?(?:Local |Global )?(?:Definition|Fixpoint|Inductive|Record)\s+([\w']+)", re.M
)
INDUCTIVE = re.compile(r"\s*(?:#\[[^\]]*\]\s*)?(?:Inductive|Record)\b")
END = re.compile(r"\.(?=\s|\Z)")
WORDS = "match with end if then else let in fun forall exists fix as return struct where for"
KEYWORDS = frozenset(WORDS.split())
BINDERS: dict[str, tuple[str, ...]] = {
    "fun": ("=>",), "forall": (",",), "exists": (",",), "let": (":=",), "fix": (":=",)
}  # fmt: skip
"""What binds names, and where that ends."""
PAIRS = {"(": ")", "[": "]", "{": "}", "match": "end"}
TIGHT = {
    **dict.fromkeys(("^",), 30),
    **dict.fromkeys(("*", "/", "mod", "&&"), 40),
    **dict.fromkeys(("+", "-", "||"), 50),
    **dict.fromkeys(("::", "++"), 60),
    **dict.fromkeys(("=?", "<?", "<=?", "<", "<=", "=", "<>"), 70),
    **dict.fromkeys(("~",), 75),
    **dict.fromkeys(("/\\",), 80),
    **dict.fromkeys(("\\/",), 85),
    **dict.fromkeys(("->",), 99),
}
"""Operators, by the levels of their notations: a lower one binds tighter."""


@dataclass(frozen=True)
class Token:
    text: str
    begin: int
    end: int

    @property
    def is_name(self) -> bool:
        return (self.text[0].isalpha() or self.text[0] == "_") and self.text not in KEYWORDS and self.text != "mod"

    @property
    def is_number(self) -> bool:
        return self.text[0].isdigit()


@dataclass(frozen=True)
class Definition:
    """A definition in a source, from `begin` to before `end`, its full stop included. Its body is what is changed."""

    name: str
    begin: int
    body: int
    end: int


def blanked(text: str) -> str:
    """The source with spaces in place of its (nested) comments."""
    out, depth, at = list(text), 0, 0
    for token in re.finditer(r'\(\*|\*\)|"[^"]*"|.', text, re.S):
        depth += token.group() == "(*"
        if depth and token.group() != "\n":
            at = token.start()
            out[at : token.end()] = re.sub(r"[^\n]", " ", token.group())
        depth -= token.group() == "*)" and depth > 0
    return "".join(out)


def definitions(text: str) -> Iterator[Definition]:
    """The definitions of a source (blanked) that have a body: of `with` the first one's name stands for all."""
    for found in DEFINITION.finditer(text):
        stop = END.search(text, found.end())
        body = text.find(":=", found.end())
        if stop and -1 < body < stop.start():
            begin = found.start() + len(found.group()) - len(found.group().lstrip())
            yield Definition(found.group(1), begin, body + 2, stop.end())


class Body:
    """The tokens of a definition's body."""

    def __init__(self, text: str, definition: Definition) -> None:
        self.text, self.definition = text, definition
        found = TOKEN.finditer(text, definition.body, definition.end - 1)
        self.tokens = [Token(token.group(), token.start(), token.end()) for token in found]
        self.partner: dict[int, int] = {}
        waiting: list[int] = []
        for i, token in enumerate(self.tokens):
            if token.text in PAIRS:
                waiting.append(i)
            elif waiting and token.text == PAIRS[self.tokens[waiting[-1]].text]:
                self.partner[i] = waiting.pop()
                self.partner[self.partner[i]] = i
        self.patterns = self._patterns()

    def at(self, i: int) -> str:
        """The text of a token; nothing before the first and after the last."""
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def said(self, first: int, last: int) -> str:
        """The text from one token to before another."""
        return self.text[self.tokens[first].begin : self.tokens[last - 1].end]

    def _patterns(self) -> set[int]:
        """Tokens that bind names: patterns, and what stands behind fun, forall, exists, let, fix, as and return."""
        found: set[int] = set()
        for i, token in enumerate(self.tokens):
            ends = BINDERS.get(token.text, ())
            if token.text == "match" and i in self.partner:
                for first, last, _ in self.branches(i):
                    found.update(range(first, last))
            elif token.text in ("as", "return"):
                ends = ("in", "with", "then")
            elif token.text == "'" or (self.at(i + 1) == "←" and token.is_name):  # of stdpp: '(a, b) ← e; x ← e;
                ends = ("←", ":=", "=>")
            if ends:
                found.update(range(i + 1, self.next_of(i + 1, ends)))
                found.update({i} if token.is_name else ())
        return found

    def next_of(self, i: int, texts: tuple[str, ...]) -> int:
        """The first token from i on, outside of brackets that open there, that is one of these."""
        while i < len(self.tokens) and self.at(i) not in texts:
            i = self.partner[i] + 1 if self.partner.get(i, -1) > i else i + 1
        return i

    def branches(self, match: int) -> list[tuple[int, int, int]]:
        """Of each branch: its pattern's first token, its arrow, and what comes after its last token."""
        found, end = [], self.partner[match]
        i = self.next_of(match + 1, ("with",)) + 1
        while i < end:
            arrow = self.next_of(i, ("=>",))
            if arrow >= end:
                break
            last = arrow + 1
            while last < end and self.at(last) != "|":
                last = self.partner[last] + 1 if self.partner.get(last, -1) > last else last + 1
            found.append((i, arrow, last))
            i = last + 1
        return found

    def atom(self, i: int) -> int | None:
        """After the name, number or brackets that begin at i; None if none does."""
        if not 0 <= i < len(self.tokens):
            return None
        token = self.tokens[i]
        if token.is_name or token.is_number or token.text.startswith('"'):
            end = i + 1
        elif self.partner.get(i, -1) > i and token.text != "match":
            end = self.partner[i] + 1
        else:
            return None
        return end + 1 if self.at(end).startswith("%") and len(self.at(end)) > 1 else end

    def is_operand_end(self, i: int) -> bool:
        """Whether an atom ends with this token."""
        if not 0 <= i < len(self.tokens):
            return False
        token = self.tokens[i]
        return (
            token.is_name
            or token.is_number
            or token.text in (")", "]", "}", "end")
            or token.text.startswith(('"', "%"))
        )

    def arguments(self, head: int) -> list[tuple[int, int]]:
        """What a name is applied to, if it is the head of an application."""
        if not self.tokens[head].is_name or self.is_operand_end(head - 1):
            return []
        found, i = [], head + 1
        while (end := self.atom(i)) is not None:
            found.append((i, end))
            i = end
        return found

    def left(self, operator: int) -> int | None:
        """The first token of an operator's left operand."""
        level, i = TIGHT[self.at(operator)], operator
        while i > 0 and (self.is_operand_end(i - 1) or TIGHT.get(self.at(i - 1), 100) < level):
            i = self.partner.get(i - 1, i - 1)
        return i if i < operator and self.is_operand_end(operator - 1) and i not in self.patterns else None

    def right(self, operator: int) -> int | None:
        """After the last token of an operator's right operand."""
        level, i = TIGHT[self.at(operator)], operator + 1
        while i < len(self.tokens):
            if self.at(i) == "match" and i in self.partner:
                i = self.partner[i] + 1
            elif (end := self.atom(i)) is not None:
                i = end
            elif TIGHT.get(self.at(i), 100) < level:
                i += 1
            else:
                break
        return (
            i
            if i > operator + 1
            and self.is_operand_end(i - 1)
            and self.at(i) not in KEYWORDS - {"then", "else", "in", "with", "end"}
            else None
        )
