# SPDX-License-Identifier: PostgreSQL
"""The ear on upstream: what is found in a checkout, what counts as a change, and what is recorded."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.common import matrix
from tools.drift import functions, source
from tools.drift.__main__ import found_of
from tools.drift.functions import CommentError, Followed

STEMS = [stem for stem in matrix.stems() if functions.load(stem)]
CODE = """
/* purge(int) in a comment:
purge(int x)
{
}
*/
#define LIMIT 3
#define TWICE(x) \\
\t((x) + \\
\t (x))

typedef struct Item
{
\tint\t\toff;\t\t/* where */
\tstruct
\t{
\t\tint\t\ta;
\t}\t\t\tinner;
} Item;

struct Plain
{
\tint\t\tb;
};

static void purge(int x);

static void
purge(int x)
{
\tif (x > 0)
\t{
\t\tkeep("/* no comment */", '"');
\t}
}

static inline bool
keep(const char *s,
\t int c)
{
\treturn purge(c), true;
}
"""


@pytest.mark.parametrize(
    ("name", "starts", "ends", "within"),
    [
        ("purge", "static void\npurge(int x)\n{", "\n}", '"/* no comment */"'),
        ("keep", "static inline bool\nkeep(const char *s,", "\n}", "return purge(c), true;"),
        ("Item", "typedef struct Item", "} Item;", "inner;"),
        ("Plain", "struct Plain", "};", "b;"),
        ("LIMIT", "#define LIMIT 3", "3", "3"),
        ("TWICE", "#define TWICE(x)", "(x))", "((x) +"),
    ],
)
def test_a_definition_is_found(name: str, starts: str, ends: str, within: str) -> None:
    text = source.definition(CODE, name)
    assert text.startswith(starts)
    assert text.endswith(ends)
    assert within in text
    assert "where" not in text


def test_what_is_only_declared_or_called_is_no_definition() -> None:
    assert source.definition("static void purge(int x);\n\nint\nf(void)\n{\n\tpurge(1);\n}\n", "purge") == ""
    assert source.definition(CODE, "unknown") == ""


def test_comments_and_white_space_do_not_count_and_code_does() -> None:
    text = source.definition(CODE, "purge")
    spaced = source.definition(CODE.replace("if (x > 0)", "if /* new */ (x   > 0)"), "purge")
    other = source.definition(CODE.replace("if (x > 0)", "if (x >= 0)"), "purge")
    assert source.checksum(text) == source.checksum(spaced) != source.checksum(other)


TEXT = "int\nf(void)\n{\n}"
SUM = source.checksum(TEXT)


def entry(**sums: str) -> Followed:
    return Followed("f", ["f.c"], ["ref/x.py"], {key[1:]: sum_ for key, sum_ in sums.items()})


@pytest.mark.parametrize(
    ("known", "text", "beside", "says", "changed"),
    [
        (entry(_17=SUM, _18=SUM), TEXT, "18", "as in 17, 18", False),
        (entry(_17=SUM, _18="x"), TEXT, "18", "not as in 18, but as in 17", True),
        (entry(_17="x", _18="y"), TEXT, "18", "as in no version that we know", True),
        (entry(_17=SUM, _18=SUM), "", "18", "not there; in 17, 18", True),
        (entry(_17=SUM), "", "18", "not there; in 17", False),
        (entry(_17=SUM), TEXT, "18", "not as in 18, but as in 17", True),
    ],
)
def test_what_counts_as_a_change(known: Followed, text: str, beside: str, says: str, changed: bool) -> None:
    found = found_of(known, text, beside)
    assert (found.says, found.changed) == (says, changed)


def test_what_comments_name_is_known() -> None:
    """And nothing else is: what no comment names any more has left the file."""
    followed = functions.load()
    assert [one.name for one in followed if not one.sums] == []
    assert [one.name for one in followed] == list(json.loads(functions.LISTING.read_text()))
    assert all(len(sum_) == 16 for one in followed for sum_ in one.sums.values())


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """A tree of ours with a model, a definition and a kernel whose comments name functions; nothing is recorded yet."""
    files = {
        "spec/upstream.json": "{}",
        "spec/row/row.tla": "(* As do_this.  Upstream: src/a.c, do_this,  *)\n(* do_that; src/a.h,   *)\n(* Item. *)\n",
        "ref/row.py": '"""Upstream: src/a.c, do_that."""\n',
        "csrc/row/row.c": "/*\n * Calls do_more,\n * as do_that does.\n */\nint do_less(int x);\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def checkout(top: Path, *names: str) -> Path:
    """With these functions in a.c, and a struct in a.h."""
    (top / "src").mkdir(parents=True)
    (top / "src" / "a.c").write_text("".join(f"void\n{name}(int x)\n{{\n}}\n\n" for name in names))
    (top / "src" / "a.h").write_text("typedef struct Item\n{\n\tint\t\toff;\n} Item;\n")
    return top


def test_what_is_followed_stands_in_comments(ours: Path) -> None:
    found = {one.name: one for one in functions.load("", ours)}
    assert {name: one.files for name, one in found.items()} == {
        "Item": ["src/a.h"], "do_that": ["src/a.c"], "do_this": ["src/a.c"]
    }  # fmt: skip
    assert found["do_that"].follows == ["csrc/row/row.c", "ref/row.py", "spec/row/row.tla"]
    assert [one.name for one in functions.load("row", ours)] == list(found)
    assert functions.load("other", ours) == []


def test_what_is_named_and_not_followed_is_told(ours: Path, tmp_path: Path) -> None:
    theirs = checkout(tmp_path / "pg", "do_this", "do_that", "do_more", "do_less")
    assert functions.overlooked(theirs, ours) == {"do_more": ["csrc/row/row.c"]}


def test_a_function_that_is_in_no_source_is_told(ours: Path, tmp_path: Path) -> None:
    functions.record("18", checkout(tmp_path / "pg", "do_that"), ours)
    assert {one.name for one in functions.load("", ours) if one.sums} == {"Item", "do_that"}
    said = [found_of(one, one.text(tmp_path / "pg"), "18") for one in functions.load("", ours)]
    assert [one.says for one in said if one.changed] == [
        "in no source: src/a.c has none of this name; correct the comment"
    ]


@pytest.mark.parametrize(
    "text", ["a.c, do_this", "src/a.c", "src/a.c do_this", "src/a.c, do_this and do_that", "as of 18"]
)
def test_a_comment_that_cannot_be_read_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "row.c"
    path.write_text(f"/* Upstream: {text}. */\n")
    with pytest.raises(CommentError, match=r"row\.c: .* cannot be read; write Upstream: src/FILE, NAME"):
        functions.said(path)


def drift(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.drift", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_an_empty_checkout_has_lost_all(tmp_path: Path) -> None:
    (tmp_path / "configure.ac").write_text("AC_INIT([PostgreSQL], [18.1], [x], [], [y])\n")
    told = drift("--postgres", str(tmp_path), "--stem", STEMS[0], "--json")
    found = json.loads(told.stdout)
    assert told.returncode == 1
    assert found["version"] == "18.1"
    in_18 = {one.name for one in functions.load(STEMS[0]) if "18" in one.sums}
    assert {one["name"] for one in found["functions"] if one["changed"]} == in_18 != set()


def test_a_version_is_recorded_in_its_place(ours: Path, tmp_path: Path) -> None:
    theirs = {
        major: checkout(tmp_path / major, *names)
        for major, names in {"13": ["do_this"], "14": ["do_this", "do_that"]}.items()
    }
    for major in ("14", "13"):
        functions.record(major, theirs[major], ours)
    written = json.loads((ours / functions.LISTING).read_text())
    assert {name: list(sums) for name, sums in written.items()} == {
        "Item": ["13-14"],
        "do_that": ["14"],
        "do_this": ["13-14"],
    }
    (theirs["13"] / "src" / "a.c").write_text("")
    functions.record("13", theirs["13"], ours)
    assert list(json.loads((ours / functions.LISTING).read_text())["do_this"]) == ["14"]
