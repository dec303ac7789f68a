# SPDX-License-Identifier: PostgreSQL
"""`pgquern frozen` on listings made here: against the oracle, and on listings that are damaged or of something else."""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import event, given, settings
from hypothesis import strategies as st

from ref.datfrozenxid import Pair, Row, min_frozen_rows, update
from ref.xid import XID
from tests.datfrozenxid.strategies import around, tables
from tools.frozen.__main__ import main
from tools.frozen.listing import COPIES

TOP = Path(__file__).parents[2]
SIZE, HALF = 2**32, 2**31
HEAD = ("oid", "relname", "relkind", "relfrozenxid", "relminmxid")
DATABASE_HEAD = ("datname", "datfrozenxid", "datminmxid", "age", "mxid_age", "current", "horizon_age")


def said(*options: str) -> tuple[int, str]:
    """Exit status, and all that is said."""
    done = CliRunner().invoke(main, list(options), catch_exceptions=False)
    return done.exit_code, done.output


def signed(x: int) -> int:
    return (x + HALF) % SIZE - HALF


def write(path: Path, head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return str(path)


def listings(folder: Path, rows: Sequence[Row], stored: Pair, next_ids: Pair, horizon_age: int = 0) -> list[str]:
    """The options for the two files, as psql writes them from a server that counts from these next ids."""
    classes = [(16384 + i, f"t{i}", *row) for i, row in enumerate(rows)] or [(1259, "none", "v", 0, 0)]
    dats = {"template1": next_ids, "mine": stored}
    databases = [
        (
            name,
            dat.xid,
            dat.multi,
            signed(next_ids.xid - dat.xid) if XID.is_normal(dat.xid) else HALF - 1,
            signed(next_ids.multi - dat.multi) if dat.multi else HALF - 1,
            "t" if name == "mine" else "f",
            horizon_age,
        )
        for name, dat in dats.items()
    ]
    return [
        "--classes", write(folder / "classes.csv", HEAD, classes),
        "--databases", write(folder / "databases.csv", DATABASE_HEAD, databases),
    ]  # fmt: skip


@settings(max_examples=settings().max_examples // 4)
@given(tables(max_size=14), st.data())
def test_it_answers_as_the_oracle(table: tuple[list[Row], Pair, Pair], data: st.DataObject) -> None:
    rows, start, sane = table
    stored = Pair(
        data.draw(st.sampled_from([*around(sane.xid), 0, 1, 2])), data.draw(st.sampled_from(around(sane.multi)))
    )
    horizon = Pair(start.xid, sane.multi)
    expected = update(stored, rows, horizon, sane)
    with TemporaryDirectory() as folder:
        options = listings(Path(folder), rows, stored, sane, (sane.xid - start.xid) % SIZE)
        status, text = said(*options, "--json")
        answer = json.loads(text)
    if answer["minimum"] and answer["minimum"][0] in (1, 2):
        assert (status, answer["after"]) == (1, None)
        assert min_frozen_rows(rows, horizon, sane) == tuple(answer["minimum"])
        return
    event("gives up" if expected.passed is None else "replaces" if expected.dirty else "stays")
    assert (answer["future"] is not None) == (expected.passed is None)
    assert status == int(expected.passed is None or answer["warnings"] != [])
    assert answer["after"] == list(expected.stored)
    assert answer["next_ids"] == list(sane)


def one(folder: Path, *rows: Row, stored: Pair, next_ids: Pair = Pair(1000, 50)) -> tuple[int, str]:  # noqa: B008
    return said(*listings(folder, rows, stored, next_ids))


def test_what_it_says(tmp_path: Path) -> None:
    """Across the wrap: 4294967000 is older than 500."""
    rows = [Row("r", 500, 9), Row("m", 4294967000, 7), Row("t", 2**32 - 1, 8), Row("i", 0, 0), Row("r", 0, 0)]
    status, text = one(tmp_path, *rows, stored=Pair(4294966000, 7))
    assert status == 0
    assert "minimum: relfrozenxid 4294967000, relminmxid 7" in text
    assert "datfrozenxid 4294966000 would be replaced by 4294967000, which is newer" in text
    assert "datminmxid 7 stays: the minimum is the same" in text
    held = [line.split() for line in text.partition("who holds relfrozenxid back:")[2].splitlines()[1:4]]
    assert [(line[0], line[2], line[3]) for line in held] == [
        ("4294967000", "1,296", "t1"),
        ("4294967295", "1,001", "t2"),
        ("500", "500", "t0"),
    ]


def test_why_a_stored_value_stays_or_goes(tmp_path: Path) -> None:
    status, text = one(tmp_path, Row("r", 500, 9), stored=Pair(600, 60))
    assert status == 1
    assert "OVERTAKEN: datfrozenxid 600 lies beyond relfrozenxid 500 of t0 (oid 16384)" in text
    assert "OVERTAKEN: datminmxid" not in text
    assert "datfrozenxid 600 stays: the minimum 500 is older, and it must not go back" in text
    assert "datminmxid 60 lies in the future (the next MultiXactId is 50): 9 replaces it" in text


@pytest.mark.parametrize(
    ("row", "column"), [(Row("r", 1001, 9), "relfrozenxid 1001"), (Row("m", 9, 51), "relminmxid 51")]
)
def test_a_value_in_the_future(tmp_path: Path, row: Row, column: str) -> None:
    status, text = one(tmp_path, Row("r", 500, 9), row, stored=Pair(600, 6))
    assert status == 1
    assert f"GIVES UP: {column} of t1 (oid 16385) lies in the future" in text
    assert "IN THE FUTURE by 1" in text
    advice = text.partition("What to do: ")[2]
    assert "run VACUUM FREEZE on that table" in advice
    assert ("found xmin" in advice, "dump and reload" in advice) == (column.startswith("relfrozenxid"),) * 2
    assert advice.find("dump and reload") < 0 or advice.find("VACUUM FREEZE") < advice.find("dump and reload")
    assert "minimum:" not in text


def test_pg_class_alone(tmp_path: Path) -> None:
    """The newest value stands for the next id."""
    path = write(tmp_path / "c.csv", HEAD, [(1, "a", "r", 4294967000, 7), (2, "b", "r", 500, 9), (3, "c", "t", 2, 9)])
    status, text = said("--classes", path)
    assert status == 1
    assert "no --databases was given" in text
    assert "minimum: relfrozenxid 2, relminmxid 7" in text
    assert "age     permanent  c" in text
    assert "age           796  a" in text
    assert "would be replaced" not in text
    path = write(tmp_path / "c.csv", HEAD, [(1, "a", "r", 10, 7), (2, "b", "r", 2**31, 9), (3, "c", "r", 3 * 2**30, 9)])
    status, text = said("--classes", path)
    assert (status, "more than half of the ring: give --databases" in text) == (2, True)


def test_the_command_alone_prints_the_queries() -> None:
    """As `pgquern frozen` runs it."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "tools.frozen.__main__"]
    done = subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert all(query in done.stderr for query in COPIES)
    assert all(query in said("--help")[1] for query in COPIES)


def test_a_name_starts_no_line_and_commands_no_terminal(tmp_path: Path) -> None:
    path = write(tmp_path / "c.csv", HEAD, [(16384, "a\nb\x1b[31m", "r", 500, 9), (16385, "é ü", "r", 501, 9)])
    text = said("--classes", path)[1]
    assert "'a\\nb\\x1b[31m' (oid 16384)" in text
    assert "é ü (oid 16385)" in text


def test_listings_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    good = f"{','.join(HEAD)}\n16384,t,r,500,9\n"
    for text, words in {
        "": "the header lacks oid, relname, relkind, relfrozenxid, relminmxid: make it in psql with \\copy",
        "a,b\n1,2\n": "the header lacks oid",
        good.partition("\n")[0] + "\n": "it has no row",
        good + "16385,u,r,12": "line 3: not as many fields as the header has",
        good + "16385,u,r,12,1,7": "line 3: not as many fields as the header has",
        good + "16385,u,r,12x,1": "row 3: relfrozenxid is '12x', no number from 0 to 4294967295",
        good + "16385,u,r,4294967296,1": "relfrozenxid is '4294967296'",
        good + "16385,u,r,,1": "relfrozenxid is ''",
        good + "16385,u,rr,12,1": "relkind is 'rr', not one letter",
        good + '16385,"u,r,12,1': "no CSV in UTF-8",
        good + f"16385,u,r,{'9' * 5000},1": f"relfrozenxid is '{'9' * 40}'",
        good + f"16385,{'u' * 2**16},r,12,1": "a line has more than 65,536 characters",
        good + "16384,u,r,12,1": "row 3: oid 16384 is there twice",
        "relminmxid," + good: "the header has a column twice",
    }.items():
        path.write_text(text)
        status, answer = said("--classes", str(path))
        assert (status, words in answer) == (2, True), answer
    path.write_bytes(b"\xff\xfe\x00\x01")
    assert "no CSV in UTF-8" in said("--classes", str(path))[1]
    assert "No such file" in said("--classes", str(tmp_path / "none"))[1]
    write(path, HEAD, [])
    os.truncate(path, 2**36)
    assert "a line has more than" in said("--classes", str(path))[1]
    assert "a line has more than" in said("--classes", "/dev/zero")[1]
    status, answer = said("--classes", str(path), "--connect", "dbname=x")
    assert (status, "alone" in answer) == (2, True)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("current", "f", "0 rows are of the current database"),
        ("age", "7", "the ages contradict each other"),
        ("mxid_age", "old", "mxid_age is 'old', no number"),
        ("datfrozenxid", "-1", "datfrozenxid is '-1', no number from 0"),
    ],
)
def test_a_damaged_listing_of_databases(tmp_path: Path, column: str, value: str, words: str) -> None:
    options = listings(tmp_path, [Row("r", 500, 9)], Pair(400, 9), Pair(1000, 50))
    path = Path(options[3])
    with path.open(newline="") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    rows[1][column] = value
    write(path, DATABASE_HEAD, [tuple(row.values()) for row in rows])
    status, text = said(*options)
    assert (status, words in text) == (2, True), text


def test_where_values_span_exactly_half_of_the_ring(tmp_path: Path) -> None:
    path = write(tmp_path / "c.csv", HEAD, [(1, "a", "r", 10, 7), (2, "b", "r", HALF + 10, 7)])
    status, text = said("--classes", path)
    assert (status, "more than half of the ring" in text) == (2, True)


def test_who_comes_first(tmp_path: Path) -> None:
    """A permanent XID, then by age, then by oid."""
    rows = [(4, "d", "r", 500, 9), (3, "c", "r", 500, 9), (2, "b", "r", 400, 9), (9, "p", "r", 2, 9)]
    rows.append((5, "x", "漢", 0, 0))
    answer = json.loads(said("--classes", write(tmp_path / "c.csv", HEAD, rows), "--json")[1])
    assert [one["oid"] for one in answer["back"]["relfrozenxid"]] == [9, 2, 3, 4]


@pytest.mark.parametrize(
    ("following", "age", "start"),
    [(1000, 10, 990), (1000, 0, 1000), (1000, -5, 1000), (1000, "", 1000), (10, 20, SIZE - 10), (4, 2, 4)],
)
def test_where_the_search_for_the_minimum_starts(tmp_path: Path, following: int, age: int | str, start: int) -> None:
    """At the oldest snapshot; a horizon in the future, or an XID that none can have, is that of no snapshot."""
    classes = write(tmp_path / "c.csv", HEAD, [(16384, "t", "r", 0, 0)])
    row = ("mine", SIZE - 100, 9, following + 100, 0, "True", age)
    databases = write(tmp_path / "d.csv", DATABASE_HEAD, [row])
    Path(classes).write_bytes(b"\xef\xbb\xbf" + Path(classes).read_bytes())  # the mark that Windows' editors set
    status, text = said("--classes", classes, "--databases", databases, "--json")
    assert status == 0, text
    assert json.loads(text)["start"] == [start, 9]


Listed = tuple[object, ...]
END = HALF - 1
WARNED, REFUSED = END - 40_000_000, END - 3_000_000


def databases(folder: Path, *rows: Listed, head: Sequence[str] = DATABASE_HEAD) -> tuple[int, str]:
    """The last row is that of this database, which has one table."""
    xid, multi = rows[-1][1], rows[-1][2]
    listed = [(*row, "t" if row is rows[-1] else "f", 0) for row in rows]
    return said(
        "--classes", write(folder / "c.csv", HEAD, [(50001, "old", "r", xid, multi)]),
        "--databases", write(folder / "d.csv", head, listed),
    )  # fmt: skip


def test_a_database_near_the_end_of_its_xids(tmp_path: Path) -> None:
    """The refusal of a server: an age of 2,144,483,647 and more."""
    classes = write(tmp_path / "c.csv", HEAD, [(50001, "old", "r", 700, 1)])
    listed = write(tmp_path / "d.csv", DATABASE_HEAD, [("app", 700, 1, 2146999500, 0, "t", 100)])
    status, text = said("--classes", classes, "--databases", listed)
    assert status == 1
    assert "REFUSED: no new XID: datfrozenxid 700 of database app, 484,147 XIDs before the end" in text
    assert "What to do: end old transactions" in text


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize(
    ("age", "word"),
    [(WARNED - 1, ""), (WARNED, "WARNING"), (REFUSED - 1, "WARNING"), (REFUSED, "REFUSED"), (END, "REFUSED")],
)
def test_any_database_near_the_end(tmp_path: Path, kind: int, age: int, word: str) -> None:
    """Beside a healthy one, which is this one. All are listed, the oldest first."""
    ages = [(age, 5), (5, age)][kind]
    following = Pair(HALF + 700, HALF + 700)
    old = ("template0", following.xid - ages[0], following.multi - ages[1], *ages)
    status, text = databases(
        tmp_path, ("other", following.xid, following.multi, 0, 0), old, ("app", HALF, HALF, 700, 700)
    )
    assert (status, f"{word}: " in text if word else "before the end" in text) == (int(word != ""), word != ""), text
    listed = [line.split()[-1] for line in text.partition("databases, the oldest first")[2].splitlines()[1:4]]
    assert sorted(listed) == ["app", "other", "template0"]
    assert kind or listed[0] == "template0"
    assert f"{END - age:,}" in text


@pytest.mark.parametrize(("version", "status"), [("130023", 0), ("140000", 1), ("180006", 1)])
def test_the_limits_of_the_servers_version(tmp_path: Path, version: str, status: int) -> None:
    """13 warns 11 million XIDs before the end, and 10,000,100 MultiXactIds."""
    head = (*DATABASE_HEAD[:5], "server_version_num", "current", "horizon_age")
    for healthy, ages in (
        (status == 0, (END - 11_000_001, 0)),
        (status == 0, (0, END - 10_000_101)),
        (False, (END - 11_000_000, 0)),
        (False, (0, END - 10_000_100)),
    ):
        row = ("app", HALF - ages[0], HALF - ages[1], *ages, version)
        assert databases(tmp_path, row, head=head)[0] == int(not healthy)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ((1010, 9, -10, 41), "datfrozenxid 1010 of database x lies in the future (the next XID is 1000)"),
        ((900, 59, 100, -9), "datminmxid 59 of database x lies in the future (the next MultiXactId is 50)"),
        ((2, 9, END, 41), "datfrozenxid 2 of database x is no normal XID"),
    ],
)
def test_another_database_with_a_value_that_cannot_be(tmp_path: Path, other: Listed, words: str) -> None:
    status, text = databases(tmp_path, ("x", *other), ("app", 900, 9, 100, 41))
    assert (status, f"WRONG: {words}" in text) == (1, True), text


def test_a_database_whose_drop_was_broken_off(tmp_path: Path) -> None:
    """No server counts it."""
    head = (*DATABASE_HEAD[:5], "datconnlimit", "current", "horizon_age")
    for limit, status in ((-1, 1), (-2, 0)):
        rows = [("gone", 700, 1, REFUSED, 0, limit), ("app", 700 + REFUSED, 1, 0, 0, -1)]
        found, text = databases(tmp_path, *rows, head=head)
        assert (found, "(invalid: its DROP DATABASE was broken off" in text) == (status, status == 0), text


def test_what_is_left_is_counted_across_the_wrap(tmp_path: Path) -> None:
    """As by a server: the end is no permanent XID."""
    status, text = databases(tmp_path, ("app", HALF + 2, HALF + 2, HALF - 3, HALF - 3))
    assert (status, " 5 XIDs before the end" in text, " 2 MultiXactIds before the end" in text) == (1, True, True), text


def test_an_old_horizon_holds_back(tmp_path: Path) -> None:
    classes = write(tmp_path / "c.csv", HEAD, [(50001, "old", "r", 700, 1)])
    for age, limit, status in ((200_000_001, "", 1), (200_000_000, "", 0), (300_000_000, 300_000_000, 0)):
        head, more = ((*DATABASE_HEAD, "autovacuum_freeze_max_age"), (limit,)) if limit else (DATABASE_HEAD, ())
        row = ("app", 700, 1, 400_000_000, 0, "t", age, *more)
        found, text = said("--classes", classes, "--databases", write(tmp_path / "d.csv", head, [row]))
        assert (found, "HELD BACK: " in text) == (status, bool(status)), text


def test_multixactids_taken_while_pg_database_is_read(tmp_path: Path) -> None:
    """mxid_age() counts from what is the next one at each row."""
    rows = [("x", 900, 9, 100, 41), ("app", 900, 9, 100, 44)]
    status, text = databases(tmp_path, *rows)
    assert (status, "next MultiXactId 53" in text) == (0, True), text


def test_pg_class_alone_near_the_end(tmp_path: Path) -> None:
    path = write(tmp_path / "c.csv", HEAD, [(1, "a", "r", 700, 7), (2, "b", "r", 700 + WARNED, 7)])
    status, text = said("--classes", path)
    assert (status, "WARNING: datfrozenxid 700 of database of this pg_class" in text) == (1, True), text
