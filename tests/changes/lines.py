# SPDX-License-Identifier: PostgreSQL
"""The source of changes of C, Python and OCaml: one line becomes another, by universalmutator's rules.

The changes come in an order that a checksum gives: an edit elsewhere moves nothing.
"""

import ast
import contextlib
import io
import zlib
from collections import Counter
from functools import cache
from pathlib import Path

from universalmutator import mutator

from tests.changes.change import Change

UNIVERSAL = "universal.rules"
RULES = {
    ".py": [UNIVERSAL, "python.rules"],
    ".c": [UNIVERSAL, "c_like.rules", "c.rules"],
    ".h": [UNIVERSAL, "c_like.rules", "c.rules"],
}


@cache
def of_file(file: str) -> list[Change]:
    """All changes of a file, from its first line to its last; of those that differ in spaces alone, the first."""
    lines = Path(file).read_text().splitlines(keepends=True)
    rules = RULES.get(Path(file).suffix, [UNIVERSAL])
    with contextlib.redirect_stdout(io.StringIO()):  # it tells which rules it has read
        made = mutator.mutants_regexp(lines, rules, ignorePatterns=[])
    seen, nth, begins = Counter[str](), [], [0]
    for line in lines:
        seen[line.strip()] += 1
        nth.append(seen[line.strip()])
        begins.append(begins[-1] + len(line))
    found: dict[object, Change] = {}
    for line, new, *_ in made:
        old = lines[line - 1]
        key = file, old.strip(), new.strip(), nth[line - 1]
        rank = f"{zlib.crc32(repr(key).encode()):08x}"
        says = f"{old.strip()}  ->  {' '.join(new.split())}"
        edit = (begins[line - 1], begins[line], new)
        found.setdefault(key, Change(file, (edit,), f"{file} {rank}", says, rank))
    return [*found.values()]


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
