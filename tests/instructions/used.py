# SPDX-License-Identifier: PostgreSQL
"""The instructions that csrc/ uses: intrinsics, each with the immediates that it has there, and assembler.

An immediate is the last argument of an intrinsic that stands in the table with one. It may be a number, a constant of
the same file or of a header beside it, or a macro of the intrinsics' headers.
"""

import ast
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

SOURCES = Path("csrc")

INTRINSIC = re.compile(r"\b(?:_mm\d*_\w+|_[a-z]+_u(?:32|64)|__builtin_(?:popcount|ctz|clz|bswap)\w*)\b")
ASSEMBLER = re.compile(r'__asm__\s*(?:volatile)?\s*\(\s*"(\w*)')
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
CONSTANT = re.compile(r"(?:#define[ \t]+([A-Z][A-Z0-9_]*)[ \t]+|\b([A-Z][A-Z0-9_]*) = )([^,;{}\n]+)")
NEON = re.compile(r"neon\.[ch]$")
NEON_INTRINSIC = re.compile(r"\bv[a-z]\w*_[usf](?:8|16|32|64)\b|\b__builtin_(?:popcount|ctz|clz|bswap)\w*\b")

NO_MEANING = {
    "xgetbv": "asks which registers the operating system saves; no data of a kernel goes through it",
    "__builtin_ctz": "C of the compiler, for every machine; no value at 0, and nobody asks for it",
    "__builtin_ctzll": "C of the compiler, for every machine; no value at 0, and nobody asks for it",
}
"""What has no meaning in Coq, and why."""


class UnreadError(ValueError):
    """An immediate that is no constant, as far as this can see."""


OPERATORS: Mapping[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.LShift: operator.lshift,
    ast.BitOr: operator.or_,
}


def shuffle(*lanes: int) -> int:
    """_MM_SHUFFLE."""
    z, y, x, w = lanes
    return z << 6 | y << 4 | x << 2 | w


def value(text: str, constants: Mapping[str, str]) -> int:
    """What a constant expression of C is. UnreadError if it is none."""

    def of(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int(x)):
                return x
            case ast.Name(id=name) if name in constants:
                return value(constants[name], constants)
            case ast.Name(id=name) if re.fullmatch("_MM_PERM_[A-D]{4}", name):
                return shuffle(*("ABCD".index(letter) for letter in name[-4:]))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return OPERATORS[type(op)](of(left), of(right))
            case ast.Call(func=ast.Name(id="_MM_SHUFFLE"), args=args):
                return shuffle(*map(of, args))
        raise UnreadError(f"{text}: no constant that can be read; write a number, or read it in {Path(__file__).name}")

    try:
        return of(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError as error:
        raise UnreadError(f"{text}: no constant expression") from error


def arguments(text: str, start: int) -> list[str]:
    """The arguments of a call whose bracket opens at `start`."""
    depth, begin, found = 0, start + 1, []
    for at in range(start, len(text)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[at], 0)
        if depth == 0 or (depth == 1 and text[at] == ","):
            found.append(text[begin:at])
            begin = at + 1
        if depth == 0:
            return found
    raise UnreadError(f"{text[start : start + 40]}: the bracket is not closed")


def in_text(
    text: str, with_immediate: Collection[str], *, headers: str = "", pattern: re.Pattern[str] = INTRINSIC
) -> Iterator[str]:
    """The instructions of a source, each as often as it stands there, with its immediate behind it if it has one.

    headers: the text of those that may have its constants. pattern: what an intrinsic looks like.
    """
    code = COMMENT.sub(" ", text)
    found_constants = CONSTANT.findall(COMMENT.sub(" ", headers) + code)
    constants = {macro or enum: said for macro, enum, said in found_constants}
    for found in pattern.finditer(code):
        name = found.group()
        if name in with_immediate:
            if not (bracket := re.compile(r"\s*\(").match(code, found.end())):
                raise UnreadError(f"{name}: not called where it is named, so its immediate is not known")
            yield f"{name} {value(arguments(code, bracket.end() - 1)[-1], constants)}"
        else:
            yield name
    yield from ASSEMBLER.findall(code)


def used(table: Collection[str], sources: Path = SOURCES) -> dict[str, list[str]]:
    """Each instruction that the sources use, and the files that do. table: what has a meaning."""
    with_immediate = {name.split()[0] for name in table if " " in name}
    files: dict[str, list[str]] = defaultdict(list)
    for path in sorted(sources.rglob("*.[ch]")):
        headers = "".join(header.read_text() for header in sorted(path.parent.glob("*.h")))
        pattern = NEON_INTRINSIC if NEON.search(path.name) else INTRINSIC
        for name in dict.fromkeys(in_text(path.read_text(), with_immediate, headers=headers, pattern=pattern)):
            files[name].append(str(path.relative_to(sources)))
    return dict(files)
