# SPDX-License-Identifier: PostgreSQL
"""The kinds that a candidate can be judged as, read off the public headers and the tables of variants.

tests/<stem>/judge.toml says for each kind which variant a candidate stands beside (`like`: it takes that row's other
fields, such as an order), and which tests loop over all variants (`loops`), beside those with a variant in their name.
"""

import re
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.rows import with_cell

SOURCES = Path("csrc")
CALL = "pgq_judge_candidate"
"""The function in the table: it calls the candidate, and is watched."""


class JudgeError(Exception):
    """A judge that is asked in a wrong way: one sentence, with what to do next."""


@dataclass(frozen=True)
class Kind:
    """A kind of kernel, and its tests."""

    name: str
    stem: str
    result: str
    arguments: str
    """As the header has them, on one line."""
    contract: str
    """The comment above the function's type, as it stands."""
    like: str
    row: str
    """The initializer of the table's row `like`, without braces."""
    loops: tuple[str, ...]
    bench: tuple[dict[str, Any], ...] = ()
    """Selectors of the configurations of the row's benchmark in which its variants are measured."""

    @property
    def header(self) -> str:
        return f"{self.stem}/{self.stem}.h"

    @property
    def signature(self) -> str:
        return self.declaration("candidate")

    @property
    def variant(self) -> str:
        """The function of the row `like`."""
        return self.row.rpartition(",")[2].strip()

    def declaration(self, name: str) -> str:
        return f"{self.result} {name}({self.arguments})"

    @property
    def names(self) -> str:
        """The arguments' names, with commas."""
        found = (re.search(r"(\w+)\s*(\[\w*\])?$", argument) for argument in self.arguments.split(","))
        return ", ".join(match[1] for match in found if match)

    def table(self) -> Path:
        return SOURCES / self.stem / "variants.c"

    def with_candidate(self) -> str:
        """The table's source with one more row."""
        row = re.sub(r'^"\w+",\s*"[^"]*"', '"candidate", "on trial"', self.row).rpartition(",")[0]
        text = self.table().read_text()
        at = re.search(rf"^const \w+ pgq_{self.name}_variants\[\] = {{\n.*?(?=^}};)", text, re.MULTILINE | re.DOTALL)
        assert at is not None
        # Last: some callers know the first row for upstream's.
        return f"{text[: at.start()]}{self.declaration(CALL)};\n{at[0]}    {{{row}, {CALL}}},\n{text[at.end() :]}"

    def template(self) -> str:
        """A C file to start from: the contract, and a body that calls a variant of ours."""
        contract = textwrap.indent(self.contract, " * ", lambda _: True).replace(" * \n", " *\n").rstrip()
        call = f"{self.variant}({self.names})"
        return (
            f"/* A candidate for the kind {self.name}. Judge it: make judge KIND={self.name} SRC=this file */\n"
            f'#include "{self.header}"\n\n'
            f"/*\n * The contract, from csrc/{self.header}:\n *\n{contract}\n */\n\n"
            f"/* Ours, in plain C: replace its call below. */\n{self.declaration(self.variant)};\n\n"
            f"{self.signature}\n{{\n    return {call};\n}}\n"
        )


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _function(header: str, row_type: str) -> tuple[str, str, str]:
    """Of the type of a table's rows: the function's result, its arguments, and the comment above its type."""
    struct = re.search(rf"typedef struct {row_type} \{{(.*?)\}} {row_type};", header, re.DOTALL)
    assert struct is not None, row_type
    name = re.search(r"(\w+) fn;", struct[1])
    assert name is not None, row_type
    at = re.search(rf"^typedef ([\w ]+?\**)\s*\(\*{name[1]}\)\(([^;]*)\);", header, re.MULTILINE)
    assert at is not None, name[1]
    comment = header[: at.start()].rstrip()
    assert comment.endswith("*/"), f"no contract above {name[1]}"
    lines = comment[comment.rindex("/*") + 2 : -2].strip("\n").splitlines()
    return at[1], _squeeze(at[2]), "\n".join(re.sub(r"^ \*( |$)", "", line) for line in lines).strip()


def _row(rows: str, like: str) -> str:
    """The initializer of a row, without braces."""
    at = re.search(rf'\{{("{like}",.*?)\}}', rows, re.DOTALL)
    if at is None:
        raise JudgeError(f"There is no variant {like!r} of this kind: choose one of {', '.join(_names(rows))}.")
    return _squeeze(at[1])


def _names(rows: str) -> list[str]:
    return re.findall(r'\{"(\w+)"', rows)


def _listed(stem: str, name: str, entry: dict[str, Any], like: str) -> Kind:
    table = (SOURCES / stem / "variants.c").read_text()
    at = re.search(rf"^const (\w+) pgq_{name}_variants\[\] = {{\n(.*?)\n}};", table, re.MULTILINE | re.DOTALL)
    assert at is not None, name
    like = like or entry["like"]
    function = _function((SOURCES / stem / f"{stem}.h").read_text(), at[1])
    loops = tuple(f"tests/{stem}/{node}" for node in entry.get("loops", []))
    return Kind(name, stem, *function, like, _row(at[2], like), loops, tuple(entry.get("bench", [])))


def _entries() -> dict[str, tuple[str, dict[str, Any]]]:
    """By kind: its stem, and what tests/<stem>/judge.toml says of it."""
    return {
        name: (stem, entry)
        for stem in with_cell("tests/{stem}/judge.toml")
        for name, entry in tomllib.loads(Path("tests", stem, "judge.toml").read_text())["kinds"].items()
    }


def kinds() -> dict[str, Kind]:
    """All kinds that tests/<stem>/judge.toml lists, by name."""
    return {name: _listed(stem, name, entry, "") for name, (stem, entry) in _entries().items()}


def kind_of(name: str, like: str = "") -> Kind:
    """The kind of that name; like: another variant than usual. JudgeError: there is none."""
    known = _entries()
    if name not in known:
        raise JudgeError(f"There is no kind {name!r} to judge: choose one of {', '.join(sorted(known))}.")
    return _listed(known[name][0], name, known[name][1], like)
