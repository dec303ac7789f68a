# SPDX-License-Identifier: PostgreSQL
"""What our code follows of upstream: what its comments say after the word Upstream.

    Upstream: src/backend/storage/page/bufpage.c, PageInit; src/include/storage/itemid.h, ItemIdData.

spec/upstream.json has what each was when a major version branched off; `pgquern drift --accept` writes it.
"""

import json
import re
from collections import defaultdict
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from tools.drift import source

LISTING = Path("spec/upstream.json")
OURS = ("spec/**/*.tla", "proofs/**/*.v", "ref/*.py", "csrc/**/*.[ch]")
COMMENT = {
    ".tla": r"\(\*.*?\*\)|\\\*[^\n]*",
    ".v": r"\(\*.*?\*\)",
    ".py": r'""".*?"""|#[^\n]*',
    ".c": r"/\*.*?\*/",
    ".h": r"/\*.*?\*/",
}
FRAME = re.compile(r'^[ \t]*(?:\(\*+|/?\*+(?!\))|#|\\\*)|[ \t]*(?:\*+[)/]?|"{3})[ \t]*$', re.MULTILINE)
SAYS = re.compile(r"\bUpstream: (.*?)(?:\.(?=\s|$)|$)", re.MULTILINE)
PART = re.compile(r"(src/[\w/]+\.[ch])((?:, \w+)+)")
NAME = re.compile(r"\b(?=\w*(?:_|[a-z][A-Z]))[A-Za-z]\w{5,}\b")


class CommentError(Exception):
    """A comment says what it follows in a way that we cannot read; says where, and how to write it."""


class Followed(NamedTuple):
    """A function, macro or struct of upstream, and what of ours follows it."""

    name: str
    files: list[str]
    """From the top of a checkout: where it stands, or stood in another major version."""
    follows: list[str]
    """Files of ours whose comments name it: look there first."""
    sums: dict[str, str]
    """By major version, the checksum of its text at that version's branch point; versions that lack it are left out."""

    def text(self, top: Path) -> str:
        """Its definition in a checkout; "" if there is none."""
        paths = [top / file for file in self.files]
        found = (source.definition(path.read_text(errors="replace"), self.name) for path in paths if path.exists())
        return next((text for text in found if text), "")

    def same_as(self, sum_: str) -> list[str]:
        """The major versions that have this text."""
        return [major for major, known in self.sums.items() if known == sum_]


def comments(path: Path) -> str:
    """Of a file of ours, one after the other, each in one line and without its frame."""
    found = re.findall(COMMENT[path.suffix], path.read_text(), re.DOTALL)
    if path.suffix in (".tla", ".py"):  # a comment of several lines may be several comments
        found = ["\n".join(found)]
    return "\n".join(" ".join(FRAME.sub("", text).split()) for text in found)


def said(path: Path) -> list[tuple[str, str]]:
    """File and name of each that a comment says it follows. Raises CommentError."""
    found = []
    for text in SAYS.findall(comments(path)):
        for part in text.split("; "):
            if not (read := PART.fullmatch(part)):
                raise CommentError(
                    f'{path}: "Upstream: {text}." cannot be read; write Upstream: src/FILE, NAME, NAME; src/FILE, NAME.'
                )
            found += [(read[1], name) for name in read[2].removeprefix(", ").split(", ")]
    return found


@cache
def named(top: Path) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Of all that comments say they follow, the files of upstream; and of each name in a comment, the files of ours."""
    files, words = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for path in sorted(path for pattern in OURS for path in top.glob(pattern)):
        for file, name in said(path):
            files[name] += [] if file in files[name] else [file]
        for word in {name for _, name in said(path)} | set(NAME.findall(comments(path))):
            words[word].append(str(path.relative_to(top)))
    return dict(files), dict(words)


def is_of(path: str, stem: str) -> bool:
    """Whether a file of ours is a stem's own."""
    return stem in ("", Path(path).parent.name, Path(path).stem)


def load(stem: str = "", top: Path = Path()) -> list[Followed]:
    """All that is followed, by name; `stem` narrows to what a file of that stem follows. Raises CommentError."""
    known = {name: each(sums) for name, sums in json.loads((top / LISTING).read_text()).items()}
    files, words = named(top.resolve())
    return [
        Followed(name, files[name], words[name], known.get(name, {}))
        for name in sorted(files)
        if any(is_of(path, stem) for path in words[name])
    ]


def overlooked(checkout: Path, top: Path = Path()) -> dict[str, list[str]]:
    """Functions of a checkout that comments of ours name, and none says to follow; and where."""
    files, words = named(top.resolve())
    return {name: words[name] for name in sorted(source.functions(checkout) & set(words) - set(files))}


def each(sums: dict[str, str]) -> dict[str, str]:
    """One entry a version. In the file several in a row that are the same are one: 13-18."""
    ranges = [(key.partition("-"), sum_) for key, sum_ in sums.items()]
    return {str(n): sum_ for (a, _, b), sum_ in ranges for n in range(int(a), int(b or a) + 1)}


def in_rows(sums: dict[str, str]) -> dict[str, str]:
    """The other way round."""
    there = sorted(int(major) for major in sums)
    same = [(sums[str(number)], number - place) for place, number in enumerate(there)]
    rows = [[str(n) for n, _ in row] for _, row in groupby(zip(there, same, strict=True), itemgetter(1))]
    return {"-".join(dict.fromkeys([row[0], row[-1]])): sums[row[0]] for row in rows}


def record(major: str, checkout: Path, top: Path = Path()) -> None:
    """Writes what each is in a checkout of one major version; what is not followed any more loses its entry."""
    written = {}
    for entry in load("", top):
        text = entry.text(checkout)
        known = {key: sum_ for key, sum_ in entry.sums.items() if key != major}
        written[entry.name] = in_rows(known | ({major: source.checksum(text)} if text else {}))
    rows = [f"{json.dumps(name)}: {json.dumps(sums)}" for name, sums in written.items()]
    (top / LISTING).write_text("{\n" + ",\n".join(rows) + "\n}\n")
