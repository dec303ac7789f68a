# SPDX-License-Identifier: PostgreSQL
"""A checkout of PostgreSQL: its version, and the text of one function, macro or struct in it."""

import hashlib
import re
from pathlib import Path

from tools.common.options import option

VERSION = re.compile(r"^AC_INIT\(\[PostgreSQL\], \[(\w+[\w.]*)\]", re.MULTILINE)
LITERAL = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?\*/|//[^\n]*', re.DOTALL)
HEAD = re.compile(r"^(?:static inline [\w *]+?)?(\w+)\(", re.MULTILINE)


class CheckoutError(Exception):
    """What was named is no checkout of PostgreSQL; says what to do."""


def version(top: Path) -> str:
    """As configure.ac (configure.in until 13) has it, such as "18.1" or "20devel"."""
    for name in ("configure.ac", "configure.in"):
        path = top / name
        if path.exists() and (found := VERSION.search(path.read_text(errors="replace"))):
            return found[1]
    correct = option("POSTGRES")
    raise CheckoutError(
        f"{top} is no checkout of PostgreSQL: it has no configure.ac that names a version; correct {correct}"
    )


def without_comments(text: str) -> str:
    """Comments become a blank; strings stay."""
    return LITERAL.sub(lambda found: " " if found[0].startswith("/") else found[0], text)


def definitions(text: str, name: str) -> list[str]:
    """The definitions of `name`, without comments, whatever #if they stand behind.

    As upstream's pgindent leaves a file: the name of a function starts a line, and a brace alone on a line ends it; a
    struct or enum ends with its name; a macro goes on over lines that end with a backslash.
    """
    text, word = without_comments(text), re.escape(name)
    for pattern in (
        rf"^(?:[\w*][^\n;{{}}()#]*\n)?{word}\([^;{{]*\)\s*\n\{{\n.*?^\}}",
        rf"^typedef (?:struct|enum|union)[^;{{]*\{{(?:(?!^\}}).)*^\}} *{word};",
        rf"^(?:struct|enum) {word}\s*\{{.*?^\}};",
        rf"^#define {word}\b(?:[^\n]*\\\n)*[^\n]*",
    ):
        if found := [at[0] for at in re.finditer(pattern, text, re.MULTILINE | re.DOTALL)]:
            return found
    return []


def definition(text: str, name: str) -> str:
    """The first one; "" if there is none."""
    return next(iter(definitions(text, name)), "")


def functions(top: Path) -> set[str]:
    """The names of all functions of the server."""
    paths = [path for suffix in "ch" for path in (top / "src").rglob(f"*.{suffix}")]
    return {name for path in paths for name in HEAD.findall(path.read_text(errors="replace"))}


def checksum(text: str) -> str:
    """Of a definition, 16 hexadecimal digits: the same whatever its comments and its white space are."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16]
