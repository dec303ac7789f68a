# SPDX-License-Identifier: PostgreSQL
"""The kinds that a candidate can be judged as, read off the public headers and the tables of variants.

tests/<stem>/judge.toml says for each kind which variant a candidate stands beside (`like`: it takes that row's other
fields, such as an order), and which tests loop over all variants (`loops`), beside those with a variant in their name.

A component is no single function. What its candidate defines stands in tests/<stem>/candidate.h, with the contract;
tests/<stem>/candidate.c makes a variant of it, and `world` judges it, with faults and threads. `without`: tests that do
not hold for any variant. `beside`: further arrays in the table's file, with the candidate's element, which `declares`
declares.
"""

import re
import textwrap
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tools.common.matrix import with_cell

SOURCES = Path("csrc")
STATUS = """\
/*
 * The types, and what the words mean, stand in that header. To accept: return (pgq_status){PGQ_OK, 0}. To refuse, and
 * leave all as it is: (pgq_status){CODE, index}; csrc/common/errors.def and the one beside the header have the codes.
 */

"""
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
    asks: tuple[str, ...] = ()
    """Calls of the system's that it may make: its keeper is asked, and answers."""
    costs: int = 1
    """A native input takes as long as so many of another kind."""
    sizes: tuple[tuple[int, int], ...] = ()
    """Of the inputs with which it is timed: about so many elements, of which so many of a hundred are kept."""
    cut: tuple[str, ...] = ()
    """Names of upstream's that judge_upstream_KIND.c wraps, if a tree of PostgreSQL's is judged."""
    before: dict[str, str] = field(default_factory=dict)
    """By a major version of PostgreSQL's, the variant beside which an older tree stands if none is named."""
    untimed: bool = False
    """What wraps it does as much itself: its speed says nothing."""
    functions: tuple[str, ...] = ()
    """Of a component: what its candidate defines, as candidate.h declares it. Empty: a kernel, one function."""
    world: Path | None = None
    """The world that judges a component."""
    threads: bool = False
    """Threads call a component: data races are looked for."""
    without: tuple[str, ...] = ()
    """Tests of the variants that are there, which do not hold for others."""
    beside: dict[str, str] = field(default_factory=dict)
    """Further arrays of the table's file with an element for each variant, and the candidate's element."""
    declares: str = ""
    """What these elements need to be declared."""

    @property
    def folder(self) -> Path:
        """Of the stem's tests."""
        return Path("tests", self.stem)

    @property
    def inputs(self) -> Path | None:
        """How inputs of a kernel are made natively, for a process of its own."""
        found = self.folder / f"judge_{self.name}.h"
        return found if found.exists() else None

    @property
    def cage(self) -> Path | None:
        """How the calls of a component go to a process of its own."""
        found = self.folder / "judge_cage.h"
        return found if self.functions and found.exists() else None

    @property
    def wrapper(self) -> Path:
        """What makes a kernel of upstream's own function."""
        return self.folder / f"judge_upstream_{self.name}.c"

    @property
    def calls(self) -> Path | None:
        """A program of many calls of a component."""
        return self.folder / "judge_calls.c" if self.functions and (self.folder / "judge_calls.c").exists() else None

    @property
    def header(self) -> str:
        """As it is included."""
        return f"../tests/{self.stem}/candidate.h" if self.functions else f"{self.stem}/{self.stem}.h"

    @property
    def signature(self) -> str:
        return "\n    ".join(self.functions) or self.declaration("candidate")

    @property
    def defines(self) -> list[str]:
        """The names of what a candidate defines."""
        return [re.findall(r"(\w+)\(", function)[0] for function in self.functions] or ["candidate"]

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

    @property
    def traits(self) -> str:
        """What else the table says of the row `like`, such as an order; empty: nothing."""
        return ", ".join(re.sub(r'^"\w+",\s*"[^"]*"', "", self.row).strip(", ").split(", ")[:-2])

    def table(self) -> Path:
        return SOURCES / self.stem / "variants.c"

    def with_candidate(self) -> str:
        """The table's source with one more row."""
        row = re.sub(r'^"\w+",\s*"[^"]*"', '"candidate", "on trial"', self.row).rpartition(",")[0]
        text = self.table().read_text()
        at = re.search(rf"^const \w+ pgq_{self.name}_variants\[\] = {{\n.*?(?=^}};)", text, re.MULTILINE | re.DOTALL)
        assert at is not None
        # Last: some callers know the first row for upstream's.
        declared = f"{self.declaration(CALL)}; {self.declares}".rstrip()
        text = f"{text[: at.start()]}{declared}\n{at[0]}    {{{row}, {CALL}}},\n{text[at.end() :]}"
        for array, element in self.beside.items():
            text, n = re.subn(rf"(\b{array}\[\] = {{[^}}]*)}}", rf"\1, {element}}}", text)
            assert n == 1, array
        return text

    def template(self) -> str:
        """A C file to start from: the contract, and a body that passes: a call of ours, or a simple component."""
        contract = textwrap.indent(self.contract, " * ", lambda _: True).replace(" * \n", " *\n").rstrip()
        if self.functions:
            simple = (self.folder / "judge" / self.name / "right.c").read_text().partition("\n")[2]
            return (
                f"/* A candidate for {self.name}. Judge it: pgquern judge {self.name} this-file */\n"
                f'#include "{self.header}"\n\n'
                f"/*\n * The contract, from {self.folder / 'candidate.h'}:\n *\n{contract}\n */\n\n{simple}"
            )
        call = f"{self.variant}({self.names})"
        traits = f"/* It is judged as a variant of {self.traits}, as ours is; LIKE= names another one. */\n\n"
        return (
            f"/* A candidate for the kind {self.name}. Judge it: pgquern judge {self.name} this-file */\n"
            f'#include "{self.header}"\n\n'
            f"/*\n * The contract, from csrc/{self.header}:\n *\n{contract}\n */\n\n"
            f"{STATUS if self.result == 'pgq_status' else ''}{traits if self.traits else ''}"
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
    return at[1], _squeeze(at[2]), _comment(header[: at.start()])


def _comment(before: str) -> str:
    """The comment that ends there."""
    assert before.rstrip().endswith("*/"), before[-200:]
    lines = before[before.rindex("/*") + 2 : before.rindex("*/")].strip("\n").splitlines()
    return "\n".join(re.sub(r"^ \*( |$)", "", line) for line in lines).strip()


def _component(header: str) -> tuple[str, tuple[str, ...]]:
    """Of candidate.h: the contract, and the functions that a candidate defines."""
    functions = re.findall(r"^\w[^;{}#/]*?\bcandidate_\w+\([^;]*\);", header, re.MULTILINE)
    return _comment(header[: header.index(functions[0])]), tuple(_squeeze(one).rstrip(";") for one in functions)


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
    sizes = tuple((n, percent) for n in entry.get("sizes", []) for percent in entry.get("percents", [50]))
    kernel = Kind(
        name, stem, *function, like, _row(at[2], like), loops, tuple(entry.get("asks", [])), entry.get("costs", 1),
        sizes, tuple(entry.get("cut", [])), entry.get("before", {}), entry.get("untimed", False),
        without=tuple(f"tests/{stem}/{node}" for node in entry.get("without", [])),
    )  # fmt: skip
    if "world" not in entry:
        return kernel
    contract, functions = _component(Path("tests", stem, "candidate.h").read_text())
    return replace(
        kernel, contract=contract, functions=functions, world=Path("tests", stem, entry["world"]),
        beside=entry.get("beside", {}), declares=entry.get("declares", ""), threads=entry.get("threads", False),
    )  # fmt: skip


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
