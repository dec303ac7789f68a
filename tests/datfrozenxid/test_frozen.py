# SPDX-License-Identifier: PostgreSQL
"""`pgquern frozen` on states made here: against the oracle, each holder, each verdict, and how long it takes."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from ref.datfrozenxid import Pair, Row, min_frozen_rows, update
from ref.xid import XID
from tests.datfrozenxid.made import mine, relations, state
from tests.datfrozenxid.strategies import around, tables
from tools.common.answer import safe
from tools.frozen.answer import judge
from tools.frozen.state import Database, Holder, Relation, State, StateError, literal, prepared, slot
from tools.frozen.words import document, lines, rates, span

SIZE, HALF = 2**32, 2**31
END = HALF - 1
WARNED, REFUSED, LATE = END - 40_000_000, END - 3_000_000, 1_600_000_000
SINCE = {"system": "7", "when": 500, "next_xid": 400, "next_multi": 50, "next_offset": 0}


def said(known: State, since: object = None) -> tuple[int, str]:
    """Whether something is to be done, and all that is said."""
    answer = judge(known)
    rate = rates(answer, since) if since else {}
    return int(bool(answer.findings)), "\n".join(map(safe, lines(answer, rate)))


def held(xid: int) -> Holder:
    return Holder("backend", "7", xid, "idle", "end it")


@settings(max_examples=settings().max_examples // 4)
@given(tables(max_size=14), st.data())
def test_it_answers_as_the_oracle(table: tuple[list[Row], Pair, Pair], data: st.DataObject) -> None:
    rows, start, sane = table
    stored = Pair(
        data.draw(st.sampled_from([*around(sane.xid), 0, 1, 2])), data.draw(st.sampled_from(around(sane.multi)))
    )
    horizon = Pair(start.xid, sane.multi)
    expected = update(stored, rows, horizon, sane)
    # What lies in the future holds nothing.
    known = state(mine(rows, stored), next_ids=sane, holders=[held(start.xid)])
    if known.start != horizon:
        known, horizon = replace(known, holders=[]), sane
        expected = update(stored, rows, horizon, sane)
    answer = judge(known)
    found = json.loads(json.dumps(document(answer, {})))
    if not rows:
        assert not answer.outcomes
        return
    outcome, (database,) = answer.outcomes["mine"], found["databases"]
    if outcome.minimum and outcome.minimum.xid in (1, 2):
        assert outcome.after is None
        assert min_frozen_rows(rows, horizon, sane) == outcome.minimum
        assert "PERMANENT" in [one.kind for one in answer.findings]
        return
    event("gives up" if expected.passed is None else "replaces" if expected.dirty else "stays")
    assert (outcome.future is not None) == (expected.passed is None)
    assert ("GIVES UP" in [one.kind for one in answer.findings]) == (expected.passed is None)
    assert outcome.after == expected.stored == tuple(database["after"])


def test_what_it_says_across_the_wrap() -> None:
    """4294967000 is older than 500."""
    rows = [Row("r", 500, 9), Row("m", 4294967000, 7), Row("t", 2**32 - 1, 8), Row("i", 0, 0), Row("r", 0, 0)]
    status, text = said(state(mine(rows, Pair(4294966000, 7))))
    assert (status, text.partition("\n")[0]) == (
        0,
        "all is well: 2,144 million XIDs and 2,144 million MultiXactIds are left; nothing that is known holds the"
        " horizon",
    )
    assert "a VACUUM there moves them to 4294967000 and 7" in text
    listed = [line.split() for line in text.partition("oldest tables, by relfrozenxid:")[2].splitlines()[1:4]]
    assert [(line[0], line[2], line[4]) for line in listed] == [
        ("4294967000", "1,296", "public.t1"),
        ("4294967295", "1,001", "public.t2"),
        ("500", "500", "public.t0"),
    ]


def test_a_stored_value_that_has_overtaken_a_table() -> None:
    status, text = said(state(mine([Row("r", 500, 9)], Pair(600, 60))))
    assert status == 1
    assert "OVERTAKEN: datfrozenxid 600 lies beyond relfrozenxid 500 of public.t0 (oid 16384)" in text
    assert "OVERTAKEN: datminmxid" not in text
    assert "WRONG: datminmxid 60 of database mine lies in the future (the next MultiXactId is 50)" in text
    assert "a VACUUM there moves them to 600 and 9" in text


@pytest.mark.parametrize(
    ("row", "column"), [(Row("r", 1001, 9), "relfrozenxid 1001"), (Row("m", 9, 51), "relminmxid 51")]
)
def test_a_value_in_the_future(row: Row, column: str) -> None:
    status, text = said(state(mine([Row("r", 500, 9), row], Pair(9, 6))))
    assert status == 1
    assert f"GIVES UP: {column} of public.t1 (oid 16385), database mine, lies in the future" in text
    assert "IN THE FUTURE by 1" in text
    advice = text.partition("What to do: ")[2].partition("\n")[0]
    assert advice.startswith("VACUUM (FREEZE) public.t1, in database mine")
    assert ("found xmin" in advice, "dump and reload" in advice) == (column.startswith("relfrozenxid"),) * 2


def test_a_name_starts_no_line_and_commands_no_terminal() -> None:
    names = [Relation(16384, "a\nb\x1b[31m", "r", 500, 9), Relation(16385, "é ü", "r", 501, 9)]
    text = said(state(Database("x", Pair(400, 9), relations=names)))[1]
    assert "x: a\\nb\\x1b[31m (oid 16384)" in text
    assert "é ü (oid 16385)" in text


@pytest.mark.parametrize(
    ("following", "xid", "start"),
    [(1000, 990, 990), (1000, 1000, 1000), (1000, 1005, 1000), (10, SIZE - 10, SIZE - 10)],
)
def test_where_the_search_for_the_minimum_starts(following: int, xid: int, start: int) -> None:
    """At the oldest of what runs; what lies in the future counts for nothing."""
    assert state(next_ids=Pair(following, 9), holders=[held(xid)]).start == (start, 9)
    assert state(next_ids=Pair(following, 9)).start == (following, 9)


# ---- who holds something back ------------------------------------------------------------------------


def test_the_transaction_itself_comes_before_snapshots_that_are_as_old() -> None:
    of = "idle in transaction, database app"
    snapshot = Holder("backend", "7", 700, f"{of}, backend_xmin 700", "end it")
    itself = Holder("backend", "9", 700, f"{of}, backend_xid 700", "end it", is_origin=True)
    for origin in (prepared("old", 700, "app", "database app"), itself):
        assert judge(state(holders=[snapshot, origin])).holders == [origin, snapshot]


LONG = Pair(400_000_000, 50)
HOLDERS: list[tuple[Holder | Relation, str, str]] = [
    (
        prepared("it's \\", 700, "app", "database app"),
        "prepared transaction it's \\ holds the horizon: it is 399,999,300 XIDs old",
        "ROLLBACK PREPARED E'it''s \\\\' (or COMMIT PREPARED), in database app",
    ),
    (
        slot("s", 800, 700, "logical")[0],
        "slot s holds the horizon: it is 399,999,300 XIDs old, more than autovacuum_freeze_max_age (200,000,000)"
        " (logical, catalog_xmin 700)",
        "if nobody reads it any more, SELECT pg_drop_replication_slot('s')",
    ),
    (
        slot("s", 700, 0, "physical", 33, physical=True)[0],
        "(physical, xmin 700)",
        "on the standby end its oldest query",
    ),
    (
        slot("s", 0, 700, "logical", 33)[0],
        "(logical, catalog_xmin 700)",
        "see that its consumer (process 33) reads on and confirms; or stop the consumer, and SELECT pg_drop",
    ),
    (held(700), "backend 7 holds the horizon", "end it"),
    (
        Relation(9, "pg_temp_3.t", "r", 700, 9, "pg_temp_3.t", True, 44),
        "temporary table pg_temp_3.t holds its datfrozenxid: it is 399,999,300 XIDs old",
        "DROP TABLE pg_temp_3.t, in database app; or SELECT pg_terminate_backend(44), which drops it",
    ),
    (
        Relation(9, "pg_toast_temp_3.pg_toast_8", "t", 700, 9, "pg_temp_3.t", True, 0),
        "(database app, orphaned: no session has it, relfrozenxid 700)",
        "DROP TABLE pg_temp_3.t, in database app.",
    ),
    (
        Relation(9, "pg_temp_3.t", "r", 700, 9, "pg_temp_3.t", True),
        "whether its session still lives is not known",
        "DROP TABLE pg_temp_3.t, in database app.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("holder", "words", "do"), HOLDERS)
def test_who_holds_back_is_named_first(holder: Holder | Relation, words: str, do: str) -> None:
    """With the command that ends it."""
    tables = relations([Row("r", 300_000_000, 9)]) + ([holder] if isinstance(holder, Relation) else [])
    database = Database("app", Pair(600, 9), relations=tables)
    status, text = said(state(database, next_ids=LONG, holders=[holder] if isinstance(holder, Holder) else []))
    first = text.partition("\n")[0]
    assert (status, first.startswith("HELD BACK: ")) == (1, True)
    assert words in first
    assert f"What to do: {do}" in first
    assert f"to end it: {do.rstrip('.')}" in text


@pytest.mark.parametrize(("age", "limit", "status"), [(200_000_000, {}, 0), (200_000_001, {}, 1), (300_000_000, 3, 0)])
def test_what_is_young_holds_nothing_back(age: int, limit: Any, status: int) -> None:
    """By autovacuum_freeze_max_age, as a VACUUM warns. The oldest is named, even so."""
    known = {"autovacuum_freeze_max_age": 300_000_000} if limit else {}
    found, text = said(state(mine([], Pair(900, 9)), next_ids=LONG, holders=[held(LONG.xid - age)], **known))
    assert (found, "HELD BACK: " in text) == (status, bool(status)), text
    assert text.partition("\n")[0].endswith(f"backend 7, {age:,} XIDs old") == (not status)


def test_a_slot_without_an_xid_holds_nothing() -> None:
    assert slot("s", 0, 0, "physical") == []
    assert slot("s", 5, SIZE - 5, "logical")[0].xid == SIZE - 5
    assert literal("a'b") == "'a''b'"


# ---- how near the end --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize(
    ("age", "word"),
    [(LATE, ""), (LATE + 1, "LATE"), (WARNED - 1, "LATE"), (WARNED, "WARNING"), (REFUSED - 1, "WARNING"),
     (REFUSED, "REFUSED"), (END, "REFUSED")],
)  # fmt: skip
def test_any_database_near_the_end(kind: int, age: int, word: str) -> None:
    """Beside healthy ones. All are listed, the oldest first, and what is left until when."""
    ages = [(age, 5), (5, age)][kind]
    following = Pair(HALF + 700, HALF + 700)
    old = Database("template0", Pair(following.xid - ages[0], following.multi - ages[1]), connects=False)
    known = state(Database("other", following), old, mine([Row("r", HALF, HALF)], Pair(HALF, HALF)), next_ids=following)
    status, text = said(known)
    first = text.partition("\n")[0]
    assert (status, first.startswith(f"{word}: " if word else "all is well: ")) == (int(word != ""), True), text
    assert ("ALTER DATABASE template0 ALLOW_CONNECTIONS true" in text) == (word != "")
    assert (" VACUUM in it" in text, "VACUUM (FREEZE) in it" in text) == (
        word == "REFUSED",
        word in ("LATE", "WARNING"),
    )
    listed = [line.split()[-1] for line in text.partition("databases, the oldest first")[2].splitlines()[1:4]]
    assert kind or listed[0] == "template0"
    assert f"{END - age:,}" in text
    until = {room["what"]: room["until"] for room in document(judge(known), {})["left"]}[["XID", "MultiXactId"][kind]]
    assert until == {"forced": [200_000_000, 400_000_000][kind] - age, "warns": WARNED - age, "refuses": REFUSED - age}


@pytest.mark.parametrize(("major", "status"), [(13, 0), (14, 1), (18, 1)])
def test_the_limits_of_the_servers_version(major: int, status: int) -> None:
    """13 warns 11 million XIDs before the end, and 10,000,100 MultiXactIds."""
    for near, ages in (
        (status, (END - 11_000_001, 0)),
        (status, (0, END - 10_000_101)),
        (1, (END - 11_000_000, 0)),
        (1, (0, END - 10_000_100)),
    ):
        text = said(state(Database("x", Pair(HALF - ages[0], HALF - ages[1])), next_ids=Pair(HALF, HALF), major=major))[
            1
        ]
        assert text.startswith("WARNING: ") == bool(near), text


def test_the_tables_to_vacuum() -> None:
    """Those that are older than autovacuum lets them become, the oldest first; of a TOAST table its owner."""
    tables = [
        Relation(1, "public.young", "r", 2_000_000_000, 9, "public.young"),
        Relation(2, "public.old", "r", 800, 9, "public.old"),
        Relation(3, "pg_toast.pg_toast_9", "t", 700, 9, "public.b"),
        Relation(4, "public.b", "r", 900, 9, "public.b"),
        Relation(5, "pg_temp_1.t", "r", 600, 9, "pg_temp_1.t", True),
    ]
    text = said(state(Database("My app", Pair(600, 9), relations=tables), next_ids=Pair(2_140_000_000, 50)))[1]
    warned = next(line for line in text.splitlines() if line.startswith("WARNING: "))
    assert warned.endswith(
        "What to do: first end what is HELD BACK here; then VACUUM (FREEZE) public.b, public.old, in database"
        ' "My app" as a superuser.'
    )


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Pair(1010, 9), "datfrozenxid 1010 of database x lies in the future (the next XID is 1000)"),
        (Pair(900, 59), "datminmxid 59 of database x lies in the future (the next MultiXactId is 50)"),
        (Pair(2, 9), "datfrozenxid 2 of database x is no normal XID"),
    ],
)
def test_a_database_with_a_value_that_cannot_be(other: Pair, words: str) -> None:
    for databases in ([Database("x", other), Database("app", Pair(900, 9))], [Database("x", other)]):
        status, text = said(state(*databases))
        assert (status, text.startswith(f"WRONG: {words}. What to do: VACUUM any table")) == (1, True), text


@pytest.mark.parametrize(("invalid", "status"), [(False, 1), (True, 0)])
def test_a_database_whose_drop_was_broken_off(invalid: bool, status: int) -> None:
    """No server counts it."""
    following = Pair(700 + REFUSED, 1)
    gone = Database("gone", Pair(700, 1), invalid=invalid)
    found, text = said(state(gone, Database("app", following), next_ids=following))
    assert (found, "(invalid: its DROP DATABASE was broken off" in text) == (status, invalid), text


def test_what_is_left_is_counted_across_the_wrap() -> None:
    """As by a server: the end is no permanent XID."""
    text = said(state(Database("x", Pair(HALF + 2, HALF + 2)), next_ids=Pair(SIZE - 1, SIZE - 1)))[1]
    assert " 5 XIDs before the end" in text
    assert " 2 MultiXactIds before the end" in text


@pytest.mark.parametrize(
    ("members", "word"),
    [(0, "all is well"), (HALF, "all is well"), (HALF + 1, "LATE: 1 members"), (SIZE - 9, "REFUSED: no new Multi")],
)
def test_the_members_of_multixactids(members: int, word: str) -> None:
    assert said(state(Database("x", Pair(900, 9)), members=members))[1].startswith(word)


# ---- how long ----------------------------------------------------------------------------------------


def test_how_long_at_the_rate_since_an_earlier_answer() -> None:
    """600 XIDs, no MultiXactId and 2^31 members in 500 s."""
    known = replace(state(Database("x", Pair(900, 9)), members=HALF // 2), next_offset=HALF)
    text = said(known, SINCE)[1]
    assert "at 1.2 a second" in text
    assert "at 4,294,967.3 a second" in text
    assert text.count("a second") == 2
    (line,) = [line for line in text.splitlines() if "at 1.2 a second" in line]
    assert line.split()[4:] == ["5", "years", "56", "years", "57", "years"]
    assert [span(n) for n in (0.4, 119, 120, 7200, 2 * 86400)] == ["0 seconds", "119 seconds", "2 minutes", "2 hours",
                                                                    "2 days"]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"system": "8"}, "another cluster"),
        ({"when": 1000}, "not earlier"),
        ({"next_xid": 1001}, "not earlier"),
        ({"next_multi": "x"}, "no document"),
    ],
)
def test_an_earlier_answer_that_is_none(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(StateError, match=words):
        said(state(Database("x", Pair(900, 9))), SINCE | wrong)
    with pytest.raises(StateError, match="no document"):
        said(state(Database("x", Pair(900, 9))), ["x"])


def test_an_answer_is_what_since_takes() -> None:
    before = json.loads(json.dumps(document(judge(state(Database("x", Pair(900, 9)))), {})))
    later = replace(state(Database("x", Pair(900, 9)), next_ids=Pair(1060, 50)), when=1060.0)
    assert rates(judge(later), before) == {"XID": 1.0, "MultiXactId": 0.0, "member": 0.0}
    assert XID.is_normal(before["start"][0])
