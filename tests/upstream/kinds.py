# SPDX-License-Identifier: PostgreSQL
"""What goes into a server: tests/STEM/upstream/*.toml, a file for each of our kernels and each mend."""

from __future__ import annotations

import difflib
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from email.utils import formatdate
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tests.upstream import text as c
from tests.upstream.text import Edit, TextError
from tools.drift import functions, source
from tools.drift.functions import Followed

HEADER = "pgquern.h"
HOW_TO_BUILD = (
    "Build with\n  ./configure CPPFLAGS=-I/path/to/pgquern/csrc LIBS=/path/to/pgquern/build/lib/libpgquern.a\n\n"
)


class Function(BaseModel):
    """A function of upstream, and what becomes of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    majors: list[str]
    """As at the branch point of each of these, as spec/upstream.json knows it."""
    also: list[str] = []
    """SHA-256 of the texts of later minors that were read, too."""
    body: str = ""
    """In the place of the whole body."""
    include: list[str] = []
    """Headers of upstream that the file may lack."""
    remove: bool = False
    """Nobody calls it any more."""
    edit: list[Edit] = []


class Variant(BaseModel):
    """The functions of some versions of upstream that are changed together."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    function: list[Function]


class Broken(BaseModel):
    """The suite that must fail if the kernel's answers are wrong."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    suite: str
    only: str = ""
    """Of its TAP tests."""


class Kind(BaseModel):
    """A kernel in the place of something of upstream; or, without a symbol, a mend."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    stem: str
    says: str
    symbol: str = ""
    """What the server calls, of libpgquern."""
    broken: Broken | None = None
    finding: str = ""
    """A mend's: the folder in tests/findings/ whose `reproduce` must find nothing."""
    alone: bool = False
    """Put in only where it is named: another kind changes the same lines, or it is a proposal of others."""
    variant: list[Variant]


def load(top: Path = Path("tests")) -> dict[str, Kind]:
    """All of them by name, in the order of rows and names."""
    found = {}
    for path in sorted(top.glob("*/upstream/*.toml")):
        table = tomllib.loads(path.read_text())
        found[path.stem] = Kind.model_validate({"name": path.stem, "stem": path.parts[-3], **table})
    return found


def chosen(kinds: dict[str, Kind], names: str) -> list[Kind]:
    """Those that are named, or all. Raises ValueError for a name that there is not."""
    wanted = names.split() or [name for name, kind in kinds.items() if not kind.alone]
    if unknown := [name for name in wanted if name not in kinds]:
        raise ValueError(f"there is no {' '.join(unknown)}; there are: {' '.join(kinds)}")
    return [kinds[name] for name in wanted]


class Unexpected(Exception):
    """A function is not as any of our texts expects it; says which, and what to do."""


def entry_of(kind: Kind, function: Function) -> Followed:
    """What we know of it, and where it stands."""
    for entry in functions.load(kind.stem):
        if entry.name == function.name:
            return entry
    raise Unexpected(f"no comment of {kind.stem} says that it follows {function.name}")


def misfit(kind: Kind, function: Function, top: Path) -> str:
    """Why a function of a checkout is not what we expect; "" if it is."""
    entry = entry_of(kind, function)
    text = entry.text(top)
    if not text:
        return f"{function.name} is not in {' or '.join(entry.files)}"
    sum_ = source.checksum(text)
    known = {entry.sums[major]: major for major in function.majors}
    if sum_ in known or sum_ in function.also:
        return ""
    return (
        f"{function.name} ({entry.files[0]}) is not as in {', '.join(function.majors)}. Read it; if our text fits it, "
        f'add "{sum_}" to `also` in tests/{kind.stem}/upstream/{kind.name}.toml'
    )


def fitting(kind: Kind, top: Path) -> Variant:
    """The variant whose functions are all as they are in this checkout."""
    reasons = []
    for variant in kind.variant:
        wrong = [reason for function in variant.function if (reason := misfit(kind, function, top))]
        if not wrong:
            return variant
        reasons.append("; ".join(wrong))
    # The nearest one: a function that is there, and differs, tells more than one that is not there.
    raise Unexpected(min(reasons, key=lambda reason: " is not in " in reason))


def changed(text: str, function: Function) -> str:
    """The file's text with this function changed."""
    if function.remove:
        return c.removed(text, function.name)
    _, start, end = c.span(text, function.name)
    body = text[start:end]
    if function.body:
        body = "{\n" + function.body.strip("\n") + "\n}\n"
    for edit in function.edit:
        body = c.edited(body, edit)
    return text[:start] + body + text[end:]


def put_in(kinds: Sequence[Kind], top: Path) -> tuple[dict[Path, str], dict[str, str]]:
    """The files of a checkout that change, with their new texts; and why a kind is left out, by its name."""
    texts: dict[Path, str] = {}
    left_out = {}
    for kind in kinds:
        try:
            texts |= with_kind(kind, top, texts)
        except (Unexpected, TextError) as error:
            left_out[kind.name] = str(error)
    return texts, left_out


def mail(chosen: Sequence[Kind], texts: Mapping[Path, str], top: Path, facts: Sequence[str]) -> str:
    """The same as a mail for `git am`: what each kind does, and a paragraph for each fact."""
    subject, *more = (kind.says for kind in chosen)
    kernels = [HOW_TO_BUILD.rstrip()] if any(HEADER in text for text in texts.values()) else []
    paragraphs = ["\n".join(textwrap.wrap(fact, 72, break_long_words=False)) for fact in (*more, *facts)]
    diff = patch(texts, top)
    return (
        f"From {'0' * 40} Mon Sep 17 00:00:00 2001\nFrom: pgquern <pgquern@localhost>\n"
        f"Date: {formatdate()}\nSubject: [PATCH] {subject}\n\n"
        + "\n\n".join([*paragraphs, *kernels])
        + f"\n---\n{diff[diff.index('--- a/') :]}-- \npgquern\n"
    )


def with_kind(kind: Kind, top: Path, texts: Mapping[Path, str]) -> dict[Path, str]:
    """The files that one kind changes; `texts` has those that were changed before it."""
    done: dict[Path, str] = {}
    for function in fitting(kind, top).function:
        files = [Path(file) for file in entry_of(kind, function).files if (top / file).exists()]
        path = next(file for file in files if source.definition((top / file).read_text(), function.name))
        text = done.get(path) or texts.get(path) or (top / path).read_text()
        for header in (*function.include, *([HEADER] if kind.symbol else [])):
            if f'#include "{header}"' not in text:
                text = c.with_include(text, header)
        done[path] = changed(text, function)
    return done


def patch(texts: Mapping[Path, str], top: Path) -> str:
    """What a hacker would apply to this checkout with `patch -p1`."""
    head = "Kernels of pgquern in the place of upstream's. " + HOW_TO_BUILD
    lines = [head] if any(HEADER in text for text in texts.values()) else []
    for path in sorted(texts):
        old, new = (text.splitlines(keepends=True) for text in ((top / path).read_text(), texts[path]))
        lines += difflib.unified_diff(old, new, f"a/{path}", f"b/{path}")
    return "".join(lines)
