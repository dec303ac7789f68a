# SPDX-License-Identifier: PostgreSQL
"""What is said in English of the models: sentences of steps, of broken properties, and of a run's start.

They stand in spec/STEM/STEM.story, by module. A sentence goes on in lines that are indented:

    module NAME
    INNER variable, variable
    VIA Definition, Definition
    NOTE bounds if condition | sentence
    ScanClass STEP w \\in Workers if cached[w] | vacuum in {DbOf[w]} -> pg_class | reads the row of {my[w].table}
    Advances BROKEN bounds if condition | sentence

DEFINITION STEP bounds if condition of formula | who -> whom | sentence. The formula is the definition itself unless
`of` names another one. Of several sentences the first counts whose condition holds. What stands in braces is an
expression of the module, in which primes mean the state after the step. TLC evaluates it for the step that is drawn.
SMALL in the place of STEP: small steps in a row of one actor are drawn as one. BROKEN is of a property, and says what
is wrong in the state, or step, that violates it (of a specification: what a deadlock means); the comment over the
property in the module is the rule. NOTE: what holds at the start. INNER: variables, or fields of one, whose changes are
not drawn. VIA: definitions that are no steps of their own: those that they name are.

    $who = {IF b THEN "backend" ELSE "VACUUM"}

is a piece of text that stands wherever $who does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from spec.tools.models import ModelError

DEFINITION = re.compile(r"^(?:RECURSIVE )?(\w+)(\(.*?\))? *== *(.*)$")
SAID = re.compile(r"(\w+) (STEP|SMALL|BROKEN) (.*)|()(NOTE) (.*)")
EXTENDS = re.compile(r"^EXTENDS +((?:\w+ *, *\n? *)*\w+)", re.MULTILINE)
BLOCK = re.compile(r"\(\*.*?\*\)|\\\*[^\n]*", re.DOTALL)
BOUND = re.compile(r"(\w+) *\\in (.+)", re.DOTALL)
OPENING, CLOSING = "([{", ")]}"
NAME = re.compile(r"\\?[A-Za-z_]\w*")
BOUND_HERE = re.compile(r"((?:\w+ *, *)*\w+) *\\(?:not)?in\b")
GIVEN = {
    *("TRUE", "FALSE", "BOOLEAN", "STRING", "IF", "THEN", "ELSE", "LET", "IN", "CASE", "OTHER", "CHOOSE", "LAMBDA"),
    *("DOMAIN", "UNION", "SUBSET", "EXCEPT", "ENABLED", "UNCHANGED", "Nat", "Int", "Seq", "Len", "Head", "Tail"),
    *("Append", "SubSeq", "SelectSeq", "Cardinality", "IsFiniteSet", "ToString", "Permutations"),
}
"""Words of TLA+, and what its standard modules define."""


@dataclass(frozen=True)
class Text:
    """A sentence with expressions in it: even parts are words, odd ones expressions."""

    parts: tuple[str, ...]

    @staticmethod
    def of(text: str) -> Text:
        """The text's parts. Braces within an expression belong to it."""
        parts, depth = [""], 0
        for letter in text.strip():
            if (letter, depth) in (("{", 0), ("}", 1)):
                parts.append("")
            else:
                parts[-1] += letter
            depth += (letter == "{") - (letter == "}")
        if depth:
            raise ModelError(f"a brace stays open in '{text.strip()}'")
        return Text(tuple(parts))

    @property
    def expressions(self) -> tuple[str, ...]:
        return self.parts[1::2]

    def filled(self, values: Sequence[str]) -> str:
        """The sentence with these values in the place of its expressions."""
        taken = iter(values)
        said = "".join(next(taken) if number % 2 else part for number, part in enumerate(self.parts))
        return " ".join(said.split())


@dataclass(frozen=True)
class Sentence:
    """One sentence."""

    kind: str
    definition: str
    """Of which it is."""
    formula: str
    """What must be true of the step; "TRUE" for a property and a note."""
    bounds: tuple[tuple[str, str], ...]
    condition: str
    texts: tuple[Text, ...]
    """Of a step: who, whom (if it says so), and the sentence. Else the sentence alone."""

    @property
    def expressions(self) -> tuple[str, ...]:
        return tuple(each for text in self.texts for each in text.expressions)

    def tla(self) -> str:
        """A set in TLA+: for each choice of the bounds with which it holds, its expressions' values as strings."""
        inner = f"{{<<{', '.join(f'ToString({each})' for each in self.expressions)}>>}}"
        if self.condition:
            inner = f"(IF {self.condition} THEN {inner} ELSE {{}})"
        # The formula is asked as soon as all its names are bound: what depends on the step comes after.
        needed = max((at for at, (name, _) in enumerate(self.bounds, 1) if word(name, self.formula)), default=0)
        for at in range(len(self.bounds), -1, -1):
            if at == needed:
                inner = f"(IF {self.formula} THEN {inner} ELSE {{}})"
            if at:
                name, among = self.bounds[at - 1]
                inner = f"UNION {{{inner} : {name} \\in {among}}}"
        return inner

    def filled(self, values: Sequence[str]) -> list[str]:
        """Its texts with the values of all their expressions."""
        said, at = [], 0
        for text in self.texts:
            said.append(text.filled(values[at : at + len(text.expressions)]))
            at += len(text.expressions)
        return said


def word(name: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def split(text: str, by: str) -> list[str]:
    """The text's pieces between separators that stand in no bracket."""
    pieces, depth, at = [""], 0, 0
    while at < len(text):
        if depth == 0 and text.startswith(by, at):
            pieces.append("")
            at += len(by)
            continue
        depth += (text[at] in OPENING) - (text[at] in CLOSING)
        depth += {"<<": 1, ">>": -1}.get(text[at : at + 2], 0)
        pieces[-1] += text[at]
        at += 1
    return [piece.strip() for piece in pieces if piece.strip()]


def sentence(kind: str, text: str, definition: str, parameters: str) -> Sentence:
    """A sentence as it is written, of a definition with these parameters."""
    head, *said = [piece.strip() for piece in f" {text} ".split(" | ")]
    is_step = kind in ("STEP", "SMALL")
    if len(said) != (2 if is_step else 1):
        form = "bounds | who | sentence" if is_step else "bounds | sentence"
        raise ModelError(f"'{kind} {text}' of {definition} must have the form '{form}'")
    named = definition + parameters if is_step else "TRUE"
    head, _, formula = f" {head} ".partition(" of ")
    bounds, _, condition = head.partition(" if ")
    found = [BOUND.fullmatch(bound) for bound in split(bounds, ",")]
    if not all(found):
        raise ModelError(f"'{kind} {text}' of {definition}: bounds are written as 'x \\in S, y \\in T'")
    who = said[0].split(" -> ") if len(said) == 2 else []
    texts = tuple(Text.of(each) for each in [*who, said[-1]])
    pairs = tuple((bound[1], bound[2].strip()) for bound in found if bound)
    return Sentence(kind, definition, formula.strip() or named, pairs, condition.strip(), texts)


@dataclass
class Definition:
    name: str
    body: str = ""
    comment: str = ""
    """The plain comment over its paragraph."""


@dataclass
class Module:
    """What is read of the text of one module."""

    path: Path
    sentences: list[Sentence] = field(default_factory=list)
    inner: set[str] = field(default_factory=set)
    ways: set[str] = field(default_factory=set)
    """Definitions that only lead to steps."""
    definitions: dict[str, Definition] = field(default_factory=dict)

    @cached_property
    def text(self) -> str:
        return self.path.read_text()

    def variables(self) -> dict[str, str]:
        """The variables, each with the comment beside it."""
        return self.declared("VARIABLES?")

    def declared(self, by: str) -> dict[str, str]:
        """What is declared by such a word, each with the comment beside it."""
        found: dict[str, str] = {}
        for block in re.findall(rf"^{by}\b(.*(?:\n(?:[ \t].*)?)*)", self.text, re.MULTILINE):
            names: list[str] = []
            for line in block.splitlines():
                code, _, comment = line.partition("\\*")
                if here := re.findall(r"\w+", code):
                    names = here
                    found |= dict.fromkeys(names, "")
                for name in names:
                    found[name] = f"{found[name]} {comment.strip()}".strip()
        return found


def load(path: Path) -> Module:
    """Reads a module, and what is said of it."""
    module, comment, parameters = Module(path), "", dict[str, str]()
    now: Definition | None = None
    for line in module.text.splitlines():
        if heading := DEFINITION.match(line):
            now = Definition(heading[1], heading[3], comment)
            module.definitions[now.name], parameters[now.name] = now, heading[2] or ""
        elif line.startswith(("(*", "\\*")):
            now, comment = None, f"{'' if now else comment} {plain(line)}"
        elif line.strip() and now:
            now.body += "\n" + line
        else:
            now, comment = None, ""
    story = path.parent / f"{path.parent.name}.story"
    for number, line in lines_of(story, path.stem) if story.is_file() else ():
        try:
            keep(module, line, parameters)
        except ModelError as error:
            raise ModelError(f"{story}:{number}: {error}") from error
    return module


def lines_of(story: Path, module: str) -> Iterator[tuple[int, str]]:
    """What a story says of a module, each with the number of its line."""
    words: dict[str, str] = {}
    here = False
    text = re.sub(r"\n +", lambda match: "\0 ", story.read_text())  # a line that goes on; it counts all the same
    number = 1
    for line in text.split("\n"):
        whole, first = re.sub(r"\$(\w+)", lambda match: words.get(match[1], match[0]), line.replace("\0", "")), number
        number += 1 + line.count("\0")
        if meant := re.match(r"(\$\w+) = (.*)", line.replace("\0", "")):
            words[meant[1][1:]] = meant[2]
        elif line.startswith("module "):
            here = line.split()[1] == module
        elif here and whole.strip() and not line.startswith("\\*"):
            yield first, whole


def keep(module: Module, line: str, parameters: dict[str, str]) -> None:
    """Take over one line."""
    kind, _, names = line.partition(" ")
    if kind in ("INNER", "VIA"):
        into = module.inner if kind == "INNER" else module.ways
        into |= set(re.findall(r"[\w.]+", names))
        return
    said = SAID.fullmatch(line)
    if not said:
        raise ModelError(f"'{line}' is no sentence; write DEFINITION STEP, SMALL or BROKEN, or NOTE")
    name, kind, text = said[1] or "", said[2] or said[5], said[3] or said[6]
    if name and name not in parameters:
        raise ModelError(f"{module.path.name} has no definition {name}")
    module.sentences.append(sentence(kind, text, name, parameters.get(name, "")))


def plain(line: str) -> str:
    """The words of a line of a comment."""
    return re.sub(r"^(\(\*+|\\\*)|\*+\)\s*$", "", line).strip()


def modules(path: Path, common: Path) -> list[Module]:
    """The module and all of ours that it extends, the deepest last."""
    found: dict[str, Module] = {}
    waiting = [path]
    while waiting:
        here = waiting.pop(0)
        if here.stem not in found and here.is_file():
            found[here.stem] = load(here)
            extended = EXTENDS.search(found[here.stem].text)
            for name in re.findall(r"\w+", extended[1]) if extended else []:
                waiting += [folder / f"{name}.tla" for folder in (path.parent, common)]
    return list(found.values())


def without_comments(text: str) -> str:
    return BLOCK.sub("", text)


def unsaid(found: Sequence[Module], start: str) -> list[str]:
    """The actions under this definition, a specification or Next, that no sentence is about: definitions that give a
    variable its next value. A definition that is marked as VIA is none, and what it names is looked at."""
    definitions = {name: each for module in reversed(found) for name, each in module.definitions.items()}
    variables = {name for module in found for name in module.variables()}
    steps = [each for module in found for each in module.sentences if each.kind in ("STEP", "SMALL")]
    said = {each.definition for each in steps if each.formula.partition("(")[0] == each.definition}
    ways = {name for module in found for name in module.ways}
    formulas = [squeezed(each.formula) for each in steps if each.definition not in said]

    def missing(name: str, seen: set[str]) -> Iterator[str]:
        if name in seen or name in said or name not in definitions:
            return
        seen.add(name)
        body = squeezed(without_comments(definitions[name].body))
        for formula in formulas:
            body = body.replace(formula, " ")
        passes = name in ways or "[][" in body
        if not passes and any(variable in variables for variable in re.findall(r"\b(\w+)' ?(?:=|\\in)", body)):
            yield name
        for other in re.findall(r"\w+", body):
            if takes_a_step(other):
                yield from missing(other, seen)

    memory: dict[str, bool] = {}

    def takes_a_step(name: str) -> bool:
        """Whether a definition, or one in it, has primes."""
        if name not in memory:
            memory[name] = False
            body = without_comments(definitions[name].body) if name in definitions else ""
            memory[name] = "'" in body or any(takes_a_step(other) for other in set(re.findall(r"\w+", body)))
        return memory[name]

    return list(dict.fromkeys(missing(start, set())))


def unknown(found: Sequence[Module]) -> list[str]:
    """The names in sentences that none of the modules has."""
    names = GIVEN | {name for module in found for name in module.definitions}
    for module in found:
        names |= set(module.declared("VARIABLES?")) | set(module.declared("CONSTANTS?"))
    said: list[str] = []
    for one in (each for module in found for each in module.sentences):
        bound = {name for name, _ in one.bounds}
        for text in (one.formula, one.condition, *(among for _, among in one.bounds), *one.expressions):
            bare = re.sub(r'"[^"]*"', '""', text)
            here = bound | {name for many in BOUND_HERE.findall(bare) for name in re.findall(r"\w+", many)}
            bare = re.sub(r"\w+ *\|->", " ", bare)
            for name in NAME.finditer(bare):
                field = bare[: name.start()].endswith((".", "!"))
                if name[0] not in names | here and not field and not name[0].startswith("\\"):
                    said.append(f"{one.definition}: {name[0]}")
    return said


def squeezed(text: str) -> str:
    return " ".join(text.split())
