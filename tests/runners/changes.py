# SPDX-License-Identifier: PostgreSQL
"""The one-line changes that a machine makes of a stem's sources, and the list of those that may survive.

The changes are those of universalmutator's rules for C and Python. They come in an order that a checksum gives: of two
samples the larger one holds the smaller one, and an edit elsewhere moves nothing.
"""

import ast
import contextlib
import io
import tomllib
import zlib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError
from universalmutator import mutator

from tools.common import matrix

RULES = {".py": ["universal.rules", "python.rules"]}
RULES_OF_C = ["universal.rules", "c_like.rules", "c.rules"]


class ListError(ValueError):
    """A survivors.toml that does not fit the sources, with what to change."""


@dataclass(frozen=True)
class Change:
    """Line `line` of `file` becomes `new`, which may be two lines."""

    file: str
    """From the top, as in "csrc/S/scalar.c"."""
    line: int
    nth: int
    """Which of the file's lines that read the same, from 1."""
    old: str
    new: str

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What a list names it by: spaces at the ends of a line do not count."""
        return self.file, self.old.strip(), self.new.strip(), self.nth

    @property
    def rank(self) -> int:
        """Its place in the order."""
        return zlib.crc32(repr(self.key).encode())

    @property
    def layer(self) -> str:
        return layer_of(self.file)

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.file}:{self.line}: {self.old.strip()}  ->  {' '.join(self.new.split())}"

    def text(self) -> str:
        """The file's text with the change made."""
        lines = Path(self.file).read_text().splitlines(keepends=True)
        lines[self.line - 1] = self.new
        return "".join(lines)


def layer_of(file: str) -> str:
    """What the report calls the layer of a source."""
    return "oracle" if file.endswith(".py") else "C"


def changed(stem: str) -> list[str]:
    """All stems that have sources to change, and the ground under them, which has oracles alone; or only `stem`."""
    ground = [name for name in matrix.GROUND if stem in ("", name)]
    return [*matrix.with_cell("tests/{stem}/mutants.toml", stem), *ground]


def files(stem: str) -> list[str]:
    """The sources that are changed: the stem's oracle, and its C but for the public header, which holds no code.

    What the stem has from a template in csrc/common is its C, too.
    """
    found = [path for path in Path("csrc", stem).glob("*.[ch]") if path.name != f"{stem}.h"]
    text = "".join(path.read_text() for path in found)
    found += [path for path in Path("csrc/common").glob("*_template.h") if f'"common/{path.name}"' in text]
    return [f"ref/{stem}.py", *sorted(map(str, found))]


@cache
def of_file(file: str) -> list[Change]:
    """All changes of a file, from its first line to its last; of those that differ in spaces alone, the first."""
    lines = Path(file).read_text().splitlines(keepends=True)
    with contextlib.redirect_stdout(io.StringIO()):  # it tells which rules it has read
        made = mutator.mutants_regexp(lines, RULES.get(Path(file).suffix, RULES_OF_C), ignorePatterns=[])
    seen, nth = Counter[str](), []
    for line in lines:
        seen[line.strip()] += 1
        nth.append(seen[line.strip()])
    changes = [Change(file, line, nth[line - 1], lines[line - 1], new) for line, new, *_ in made]
    return [*{change.key: change for change in reversed(changes)}.values()][::-1]


def of_row(stem: str) -> list[Change]:
    """All changes of a stem's sources, in the order of the samples."""
    return sorted((change for file in files(stem) for change in of_file(file)), key=lambda c: (c.rank, c.key))


class Unsaid(ast.NodeTransformer):
    """Takes out what has no effect when a function runs: documentation, types, protocols."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return ast.Pass() if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        for inner in ast.walk(node):
            if isinstance(inner, ast.AnnAssign):
                inner.annotation = ast.Constant(None)  # nobody evaluates it there
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        if any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases):
            node.body = [ast.Pass()]
        return self.generic_visit(node)


def meaning(text: str) -> str | None:
    """A Python source as the interpreter takes it; equal if the sources do the same. None if it does not compile."""
    try:
        compile(text, "changed", "exec")
        return ast.dump(Unsaid().visit(ast.parse(text)))
    except (SyntaxError, ValueError):
        return None


class Survivor(BaseModel):
    """A change that no test has to catch, and why."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    old: str
    new: str
    nth: int = 1
    reason: str

    @property
    def key(self) -> tuple[str, str, str, int]:
        """As of a change."""
        return self.file, self.old.strip(), self.new.strip(), self.nth


def survivors(stem: str) -> dict[tuple[str, str, str, int], str]:
    """The reasons in tests/<stem>/survivors.toml. Raises ListError if an entry is no change that is made today."""
    path = Path("tests", stem, "survivors.toml")
    listed = tomllib.loads(path.read_text()).get("survivor", []) if path.exists() else []
    try:
        entries = [Survivor.model_validate(entry) for entry in listed]
    except ValidationError as error:
        raise ListError(f"{path}: {error}") from error
    for entry in entries:
        if entry.file not in files(stem):
            raise ListError(f"{path}: {entry.file} is no source of this stem; correct `file`, or remove the entry")
        if entry.key not in {change.key for change in of_file(entry.file)}:
            raise ListError(
                f"{path}: no change of {entry.file} makes line {entry.nth} of those that read\n  {entry.old.strip()}\n"
                f"to\n  {entry.new.strip()}\ncorrect `old`, `new` or `nth` if the line has only moved or been renamed; "
                "remove the entry if it is gone"
            )
    return {entry.key: entry.reason for entry in entries}
