# SPDX-License-Identifier: PostgreSQL
"""The ear on upstream: what is found in a checkout, what counts as a change, and what is recorded."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tools.drift import functions, source
from tools.drift.__main__ import compared_with, found_of
from tools.drift.functions import Followed

STEMS = functions.stems()
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
NEWER = source.checksum(TEXT + " ")


def entry(**sums: str) -> Followed:
    return Followed(name="f", files=["f.c"], follows=["ref/x.py"], sha256={key[1:]: sum_ for key, sum_ in sums.items()})


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
    found = found_of("s", known, text, beside)
    assert (found.says, found.changed) == (says, changed)


@pytest.mark.parametrize("stem", STEMS)
def test_what_is_listed_is_there(stem: str) -> None:
    listed = functions.load(stem)
    assert len({one.name for one in listed}) == len(listed)
    for one in listed:
        assert one.sha256, f"{one.name} is in no version: correct its name or its files"
        assert all(len(known) == 64 for known in one.sha256.values())
        assert [path for path in one.follows if not Path(path).exists()] == []


def test_an_unknown_version_is_compared_with_the_newest() -> None:
    newest = compared_with("99")
    assert int(newest) >= 19
    assert compared_with("15") == "15"
    assert compared_with(newest) == newest


def drift(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.drift", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_an_empty_checkout_has_lost_all(tmp_path: Path) -> None:
    (tmp_path / "configure.ac").write_text("AC_INIT([PostgreSQL], [18.1], [x], [], [y])\n")
    told = drift("--postgres", str(tmp_path), "--stem", STEMS[0], "--json")
    found = json.loads(told.stdout)
    assert told.returncode == 1
    assert found["version"] == "18.1"
    in_18 = {one.name for one in functions.load(STEMS[0]) if "18" in one.sha256}
    assert {one["name"] for one in found["functions"] if one["changed"]} == in_18 != set()


def test_what_is_no_checkout_is_told(tmp_path: Path) -> None:
    told = drift("--postgres", str(tmp_path))
    assert told.returncode == 2
    assert "is no checkout of PostgreSQL" in " ".join(told.stderr.split())
    assert "correct --postgres" in " ".join(told.stderr.split())


def test_a_version_is_recorded_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "upstream.toml"
    tables = "".join(
        f'\n[[function]]\nname = "{name}"\nfiles = ["f.c"]\nfollows = ["x"]\n[function.sha256]\n13 = "{"a" * 64}"\n'
        for name in ("f", "g")
    )
    path.write_text(f"# head\n{tables}")
    monkeypatch.setattr(functions, "LISTING", str(path))
    functions.record("s", "18", {"f": "b" * 64})
    functions.record("s", "13", {"g": "c" * 64})
    assert path.read_text().startswith('# head\n\n[[function]]\nname = "f"\n')
    found = {one["name"]: one["sha256"] for one in tomllib.loads(path.read_text())["function"]}
    assert found == {"f": {"18": "b" * 64}, "g": {"13": "c" * 64}}
    functions.record("s", "14", {"g": "c" * 64})
    assert f'13-14 = "{"c" * 64}"' in path.read_text()
    before = path.read_text()
    functions.record("s", "13", {"g": "c" * 64})
    assert path.read_text() == before
