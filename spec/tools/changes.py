# SPDX-License-Identifier: PostgreSQL
"""Small changes of models, made by a machine: which there are in what a run executes, and the text with one made.

SANY, the parser of TLC, writes the syntax trees of a module and of all that it extends as XML, with the place of each
node. A change replaces the text of a node. All other text keeps its lines' columns, because the lists of conjuncts and
disjuncts of TLA+ depend on them.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from spec.tools import tlc
from spec.tools.models import ModelError, Run

CONJUNCTION, DISJUNCTION = ("$ConjList", "\\land"), ("$DisjList", "\\lor")
COMPARISONS = {"<": ("<", "<="), "\\leq": (r"<=|=<|\\leq", "<"), ">": (">", ">="), "\\geq": (r">=|\\geq", ">")}
STATE, ACTION = 1, 2
"""Levels of expressions: of a state, and of a step. Below are constants, above are temporal formulas."""
HEADING = re.compile(r"^(\w+)(?:\([^)\n]*\))? *==", re.MULTILINE)


@dataclass(frozen=True)
class Span:
    """Where a node is in the text of a module: from the offset `begin` to before `end`."""

    module: str
    begin: int
    end: int


@dataclass(frozen=True)
class Change:
    """One change: what becomes of a piece of a definition."""

    module: str
    definition: str
    kind: str
    old: str
    """The text of the smallest piece that shows the change, in one line."""
    edits: tuple[tuple[int, int, str], ...]
    """Offsets, and what stands there after."""
    number: int = 0
    """How many changes in the definition look the same and come before."""

    @property
    def checksum(self) -> str:
        """By which changes are chosen. It does not depend on where the definition is, nor on other definitions."""
        text = "\n".join((self.module, self.definition, self.kind, self.old, str(self.number)))
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def name(self) -> str:
        return f"{self.module}.{self.definition} {self.checksum}"

    @property
    def says(self) -> str:
        """The change, for people."""
        again = f" ({self.number + 1})" if self.number else ""
        return f"{self.kind}: {self.old if len(self.old) <= 100 else self.old[:97] + ' ..'}{again}"

    def applied(self, text: str) -> str:
        """The text of the module with the change made."""
        for begin, end, new in sorted(self.edits, reverse=True):
            text = replaced(text, begin, end, new)
        return text


def replaced(text: str, begin: int, end: int, new: str) -> str:
    """The text with `new` from `begin` to `end`. What follows in the line keeps its column."""
    column = end - text.rfind("\n", 0, end) - 1
    if "\n" not in text[begin:end] and len(new) <= end - begin:
        return text[:begin] + new.ljust(end - begin) + text[end:]
    return text[:begin] + new + ("" if text[end : end + 1] == "\n" else "\n" + " " * column) + text[end:]


def blank(text: str, begin: int, end: int) -> str:
    """Spaces in place of the text, and its line breaks."""
    return re.sub(r"[^\n]", " ", text[begin:end])


class Tree:
    """The syntax trees of a module and of all that it extends or instantiates."""

    def __init__(self, run: Run, build: Path) -> None:
        """Parse the module of `run`. Raises ModelError if SANY refuses it."""
        folders = [run.module.parent, run.module.parent.parent / "common", build / "model" / run.stem]
        java, jar = tlc.find(build)
        includes = [word for folder in folders for word in ("-I", str(folder.resolve()))]
        options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", str(jar)]
        said = subprocess.run(
            [java, *options, "tla2sany.xml.XMLExporter", "-o", *includes, run.module.name],
            cwd=run.module.parent,
            capture_output=True,
            text=True,
            check=False,
        )
        if said.returncode != 0 or "<?xml" not in said.stdout:
            raise ModelError(f"{run.module}: SANY gave no syntax tree: {(said.stderr + said.stdout)[-300:]}")
        root = ElementTree.fromstring(said.stdout[said.stdout.index("<?xml") :])
        self.entries: dict[str, Element] = {}
        for entry in root.iterfind("context/entry"):
            self.entries[entry[0].text or ""] = entry[1]
        modules = [node for node in self.entries.values() if node.tag == "ModuleNode"]
        top = next(node for node in modules if node.findtext("uniquename") == run.module.stem)
        # Of several definitions of one name, those of the module itself and of what it extends: others are instances.
        defined = [reference.findtext("UID") or "" for reference in top.iterfind("UserDefinedOpKindRef")]
        self.names = {self.entries[uid].findtext("uniquename") or "": uid for uid in defined}
        files = {path.stem: path for folder in reversed(folders) for path in folder.glob("*.tla")}
        self.files = {name: path for name, path in files.items() if f"<filename>{name}</filename>" in said.stdout}
        self.texts = {name: path.read_text() for name, path in self.files.items()}
        self.lines = {name: line_starts(text) for name, text in self.texts.items()}

    def operator(self, node: Element) -> str:
        """The name of the operator that is applied."""
        reference = node.find("operator/*/UID")
        entry = self.entries.get((reference.text or "") if reference is not None else "")
        return (entry.findtext("uniquename") or "") if entry is not None else ""

    def operands(self, node: Element) -> list[Element]:
        """What it is applied to."""
        found = node.find("operands")
        return list(found) if found is not None else []

    def span(self, node: Element) -> Span | None:
        """Where a node is; None outside of the models' modules."""
        module = node.findtext("location/filename") or ""
        if module not in self.lines:
            return None
        begin, end = (
            self.lines[module][int(node.findtext(f"location/line/{side}") or 0) - 1]
            + int(node.findtext(f"location/column/{side}") or 0)
            for side in ("begin", "end")
        )
        return Span(module, begin - 1, end)

    def executed(self, run: Run) -> list[Element]:
        """The definitions that the specification of a run needs, with those that the run replaces replaced."""
        settings = run.settings
        instead = {self.names.get(old): self.names.get(new) for old, new in settings.definitions.items()}
        roots = [settings.specification] if settings.specification else [settings.init, settings.next]
        waiting = [self.names[name] for name in roots if name]
        waiting += [uid for uid in instead.values() if uid]
        seen: set[str] = set()
        while waiting:
            uid = waiting.pop()
            uid = instead.get(uid) or uid
            node = self.entries.get(uid)
            if uid in seen or node is None or node.tag not in ("UserDefinedOpKind", "ModuleInstanceKind"):
                continue
            seen.add(uid)
            waiting += [reference.findtext("UID") or "" for reference in node.iter("UserDefinedOpKindRef")]
        return [self.entries[uid] for uid in sorted(seen, key=int)]


def line_starts(text: str) -> list[int]:
    """The offset of each line."""
    return [0, *(match.end() for match in re.finditer("\n", text))]


def find(tree: Tree, definitions: Sequence[Element], modules: Sequence[str]) -> list[Change]:
    """All changes of the definitions, in these modules."""
    found: dict[tuple[str, tuple[tuple[int, int, str], ...]], Change] = {}
    for definition in definitions:
        for change in Finder(tree).of(definition):
            if change.module in modules:
                found.setdefault((change.module, change.edits), change)
    seen: dict[tuple[str, str, str, str], int] = {}
    numbered = []
    for change in sorted(found.values(), key=lambda change: (change.module, change.edits)):
        key = (change.module, change.definition, change.kind, change.old)
        numbered.append(Change(*key, change.edits, seen.get(key, 0)))
        seen[key] = seen.get(key, 0) + 1
    return numbered


class Finder:
    """Walks over a definition, and yields the changes of each node."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def of(self, node: Element) -> Iterator[Change]:
        """The changes of a node and of those below."""
        if node.tag == "OpApplNode":
            yield from self.applied(node)
        elif node.tag == "NumeralNode":
            yield from self.numeral(node)
        indices = self.indices(node)
        for child in node:
            if child.tag not in ("location", "operator", "params"):
                yield from (change for below in inside(child) if below not in indices for change in self.of(below))

    def indices(self, node: Element) -> list[Element]:
        """Numerals that are indices, as in page[1]: another one is no change by one."""
        if node.tag == "OpApplNode" and self.tree.operator(node) == "$FcnApply":
            return [operand for operand in self.tree.operands(node)[1:] if operand.tag == "NumeralNode"]
        return []

    def change(self, kind: str, shown: Span, *edits: tuple[int, int, str]) -> Change:
        text = self.tree.texts[shown.module]
        headings = [match[1] for match in HEADING.finditer(text, 0, shown.begin + 1)]
        old = " ".join(re.sub(r"\\\*.*", "", text[shown.begin : shown.end]).split())
        return Change(shown.module, headings[-1] if headings else "", kind, old, edits)

    def instead(self, kind: str, node: Element, new: str) -> Iterator[Change]:
        """Other text in place of a node."""
        if span := self.tree.span(node):
            yield self.change(kind, span, (span.begin, span.end, new))

    def only(self, kind: str, node: Element, kept: Element) -> Iterator[Change]:
        """One operand in place of its node."""
        span, inner = self.tree.span(node), self.tree.span(kept)
        if span and inner and span.begin <= inner.begin and inner.end <= span.end:
            text = self.tree.texts[span.module]
            before = (span.begin, inner.begin, blank(text, span.begin, inner.begin))
            after = (inner.end, span.end, blank(text, inner.end, span.end))
            # Parentheses around the operand are no nodes: those that it leaves open stay.
            opened, closed = text[span.begin : inner.begin].count("("), text[inner.end : span.end].count(")")
            if opened == closed == 0 or kept.tag != "OpApplNode":
                yield self.change(kind, span, before, after)

    def numeral(self, node: Element) -> Iterator[Change]:
        """A number that is off by one."""
        value = int(node.findtext("IntValue") or 0)
        yield from self.instead("one more", node, str(value + 1))
        if value > 0:
            yield from self.instead("one less", node, str(value - 1))

    def applied(self, node: Element) -> Iterator[Change]:
        """The changes of the application of an operator itself."""
        name, operands = self.tree.operator(node), self.tree.operands(node)
        level = int(node.findtext("level") or 0)
        if level > ACTION:
            return
        if name in CONJUNCTION:
            for operand in operands:
                if int(operand.findtext("level") or 0) <= STATE and self.tree.operator(operand) not in CONJUNCTION:
                    yield from self.instead("conjunct left out", operand, "TRUE")
                    yield from self.negated(operand)
        elif name in DISJUNCTION:
            for operand in operands:
                if self.tree.operator(operand) not in DISJUNCTION:
                    yield from self.instead("branch left out", operand, "FALSE")
        elif name == "$IfThenElse":
            yield from self.instead("always THEN", operands[0], "TRUE")
            yield from self.instead("always ELSE", operands[0], "FALSE")
        elif name in COMPARISONS:
            yield from self.between(node, *COMPARISONS[name])
        elif name == "..":
            yield from self.after("begins one later", node, operands[0], " + 1")
            yield from self.after("ends one earlier", node, operands[1], " - 1")
        elif name in ("\\union", "\\intersect", "\\o"):
            yield from self.only("only the first", node, operands[0])
            yield from self.only("only the second", node, operands[1])
        elif name == "\\":
            yield from self.only("nothing taken out", node, operands[0])
        elif name == "=>":
            yield from self.only("condition left out", node, operands[1])
        elif name == "\\lnot":
            yield from self.only("not left out", node, operands[0])
        elif name == "$SetEnumerate" and len(operands) > 1:
            yield from self.listed("element left out", node, operands)
        elif name == "$SubsetOf":
            yield from self.instead("all elements", operands[0], "TRUE")
        elif name in ("$BoundedForall", "$BoundedExists") and level <= STATE and (span := self.tree.span(node)):
            word, new = ("\\A", "\\E") if name == "$BoundedForall" else ("\\E", "\\A")
            if self.tree.texts[span.module].startswith(word, span.begin):
                yield self.change(f"{word} becomes {new}", span, (span.begin, span.begin + 2, new))
        elif name in ("TRUE", "FALSE") and not operands:
            yield from self.instead("the opposite", node, "FALSE" if name == "TRUE" else "TRUE")
        elif name == "$Except" and len(operands) > 2:
            yield from self.listed("component not updated", node, operands[1:])
        elif name == "$Except":
            yield from self.only("component not updated", node, operands[0])
        elif name == "=" and level == ACTION:
            yield from self.update(node, *operands)

    def negated(self, node: Element) -> Iterator[Change]:
        """A guard, negated."""
        if span := self.tree.span(node):
            yield self.change("negated", span, (span.begin, span.begin, "~("), (span.end, span.end, ")"))

    def between(self, node: Element, old: str, new: str) -> Iterator[Change]:
        """Another comparison between two operands."""
        left, right = (self.tree.span(operand) for operand in self.tree.operands(node))
        if (span := self.tree.span(node)) and left and right:
            match = re.compile(old).search(self.tree.texts[span.module], left.end, right.begin)
            if match:
                yield self.change(f"{match[0]} becomes {new}", span, (match.start(), match.end(), new))

    def after(self, kind: str, node: Element, operand: Element, new: str) -> Iterator[Change]:
        """More text after an operand."""
        span, inner = self.tree.span(node), self.tree.span(operand)
        if span and inner:
            yield self.change(kind, span, (inner.end, inner.end, new))

    def listed(self, kind: str, node: Element, parts: Sequence[Element]) -> Iterator[Change]:
        """A list between commas, without one of its parts."""
        spans = [span for part in parts if (span := self.tree.span(part))]
        for i, span in enumerate(spans):
            text = self.tree.texts[span.module]
            begin, end = (spans[i - 1].end, span.end) if i else (span.begin, spans[1].begin)
            yield self.change(kind, span, (begin, end, blank(text, begin, end)))

    def update(self, node: Element, left: Element, right: Element) -> Iterator[Change]:
        """x' = x in place of x' = e."""
        where, value = self.tree.span(left), self.tree.span(right)
        if where and value and self.tree.operator(left) == "'" and (span := self.tree.span(node)):
            variable = self.tree.texts[where.module][where.begin : where.end].rstrip("'").strip()
            if self.tree.texts[value.module][value.begin : value.end] != variable:
                yield self.change("not updated", span, (value.begin, value.end, variable))


def inside(node: Element) -> list[Element]:
    """The nodes of expressions in one that only holds them."""
    if node.tag in ("OpApplNode", "NumeralNode"):
        return [node]
    return [below for child in node for below in inside(child)]
