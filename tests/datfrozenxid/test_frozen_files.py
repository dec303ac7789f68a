# SPDX-License-Identifier: PostgreSQL
"""`pgquern frozen` on a data directory, by majors; and how it takes what cannot be used."""

import json
import os
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from ref.datfrozenxid import Pair, Row
from tests.datfrozenxid.made import data_directory, pg_database_row, prepared_file
from tests.snapbuild.test_snap_slots import state as slot_file
from tools.common.relation_file import Ids
from tools.frozen.__main__ import main
from tools.frozen.files import two_phase
from tools.snap.slots import Slot

NOW = 1_700_000_000
IDS = Ids(True, 0, 400_000_000, 700, 70_000, 65_537, 2, 9_000, 0, NOW, 77)
ROWS = (Row("r", 100_000_700, 65_600), Row("t", 100_000_800, 65_601), Row("m", 400_000_000, 70_000))


def said(*words: str | Path) -> tuple[int, str]:
    """Exit status, and all that the command says."""
    done = CliRunner().invoke(main, list(map(str, words)), catch_exceptions=False)
    return done.exit_code, done.output


def made(top: Path, major: int, ids: Ids = IDS) -> Path:
    """A prepared transaction, a slot, an old temporary table; template0, and a database that is half gone."""
    others = [
        pg_database_row(major, 4, "template0", Pair(650, 65_540), connects=False),
        pg_database_row(major, 5, "gone", Pair(4, 1), limit=-2),
    ]
    temporary = Row("r", 100_000_900, 65_600)
    data = data_directory(top, major, ROWS, Pair(640, 65_537), ids, temporary=temporary, others=others)
    name = f"{2 << 32 | 100_001_000:016X}" if major > 16 else f"{100_001_000:08X}"
    (data / "pg_twophase" / name).write_bytes(prepared_file(major, "it's", 100_001_000, 1))
    for one in (Slot("s", 1, 0, 300_000_000, 8, 8, False), Slot("lost", 1, 0, 4, 8, 8, True)):
        (data / "pg_replslot" / one.name).mkdir()
        (data / "pg_replslot" / one.name / "state").write_bytes(slot_file(one))
    (data / "pg_multixact" / "offsets").mkdir(parents=True)
    (data / "pg_multixact" / "offsets" / "0001").write_bytes(struct.pack("<II", 0, 4_000))
    (data / "postgresql.conf").write_text("autovacuum_freeze_max_age = 200000001 # often\n")
    (data / "postgresql.auto.conf").write_text("autovacuum_freeze_max_age = '210000000'\n")
    return data


@pytest.mark.parametrize("major", range(13, 19))
def test_what_the_files_say(major: int, tmp_path: Path) -> None:
    status, text = said("--where", made(tmp_path / "data", major), "--json")
    found = json.loads(text)
    assert status == 1
    kinds = [(one["kind"], one["says"].partition(" holds")[0]) for one in found["findings"]]
    assert kinds == [
        ("HELD BACK", "temporary table pg_temp_3.tt"),
        ("HELD BACK", "prepared transaction it's"),
    ]
    assert found["findings"][1]["do"] == "ROLLBACK PREPARED 'it''s' (or COMMIT PREPARED), in database template1"
    assert "since 2031-09-09 01:46:40 UTC" in found["findings"][1]["says"]
    assert [(one["name"], one["age"]) for one in found["holders"]] == [
        ("pg_temp_3.tt", 299_999_100), ("it's", 299_999_000), ("s", 100_000_000),
    ]  # fmt: skip
    assert (found["next_xid"], found["next_multi"], found["when"]) == (2 << 32 | 400_000_000, 70_000, NOW)
    assert (found["members"], found["next_offset"], found["system"], found["unknown"]) == (
        5_000, 9_000, "77", ["the tables of template0: pg_class cannot be read"],
    )  # fmt: skip
    assert found["settings"]["autovacuum_freeze_max_age"] == 210_000_000
    databases = {one["name"]: one for one in found["databases"]}
    assert {name: (one["dat"], one["connects"], one["invalid"]) for name, one in databases.items()} == {
        "template1": ([640, 65_537], True, False),
        "template0": ([650, 65_540], False, False),
        "gone": ([4, 1], True, True),
    }
    tables = databases["template1"]["tables"]["relfrozenxid"]
    assert [(one["name"], one["table"], one["relfrozenxid"]) for one in tables] == [
        ("public.t0", "public.t0", 100_000_700),
        ("public.t1", "public.t0", 100_000_800),
        ("pg_temp_3.tt", "pg_temp_3.tt", 100_000_900),
        ("public.t2", "public.t2", 400_000_000),
    ]
    assert databases["template1"]["after"] == [100_000_700, 65_600]


def test_a_cluster_that_was_not_shut_down(tmp_path: Path) -> None:
    """What is newer than its last checkpoint is no fault; the oldest transaction of then is named."""
    ids = replace(IDS, shut_down=False, next_xid=399_999_990, next_multi=69_990, oldest_active=399_999_000)
    found = json.loads(said("--where", made(tmp_path / "data", 18, ids), "--json")[1])
    assert {one["kind"] for one in found["findings"]} == {"HELD BACK"}
    assert (found["next_xid"] & 0xFFFFFFFF, found["next_multi"]) == (400_000_000, 70_000)
    assert found["holders"][-1]["kind"] == "transaction"
    assert found["holders"][-1]["age"] == 1_000
    assert "2023-11-14 22:13:20 UTC" in found["unknown"][0]
    data = made(tmp_path / "none_ran", 18, replace(ids, oldest_active=ids.next_xid))
    assert "transaction" not in {one["kind"] for one in json.loads(said("--where", data, "--json")[1])["holders"]}
    # A slot has moved on since, too.
    (data / "pg_replslot" / "s" / "state").write_bytes(slot_file(Slot("s", 1, 0, 400_000_005, 8, 8, False)))
    found = json.loads(said("--where", data, "--json")[1])
    assert (found["next_xid"] & 0xFFFFFFFF, found["holders"][-1]["age"]) == (400_000_005, 0)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda content: content[:60], "60 bytes, fewer"),
        (lambda content: content[:-1] + b"\x00", "checksum"),
        (lambda content: b"\x00" + content[1:], "no file of a prepared transaction"),
        (lambda content: content + b"\x00", "no file of a prepared transaction"),
    ],
)
def test_a_damaged_file_of_a_prepared_transaction(damage: object, words: str, tmp_path: Path) -> None:
    """It is named, and does not hide the rest."""
    assert callable(damage)
    content = prepared_file(18, "x" * 7, 900, 1)
    assert two_phase(content, 18)[:3] == ("x" * 7, 900, 1)
    data = made(tmp_path / "data", 18)
    (data / "pg_twophase" / "1").write_bytes(damage(content))
    text = said("--where", data)[1]
    assert words in text.partition("not known: pg_twophase/1: ")[2].partition("\n")[0]
    assert "HELD BACK: prepared transaction it's" in text
    (data / "pg_replslot" / "s" / "state").write_bytes(b"")
    assert "not known: WRONG: slot s: 0 bytes" in said("--where", data)[1]


def test_what_cannot_be_used(tmp_path: Path) -> None:
    """Each refusal says what to give."""
    data = made(tmp_path / "data", 18)
    earlier = tmp_path / "earlier.json"
    earlier.write_text(said("--where", data, "--json")[1])
    (broken := tmp_path / "broken.json").write_text("{")
    for words, told in (
        ([data, "--since", earlier], "not earlier than this answer"),
        ([data, "--since", broken], "no document that pgquern frozen --json has printed"),
        ([data, "--since", tmp_path / "none"], "No such file"),
        ([tmp_path], "can be read is in it: give a cluster's data directory, as the user that owns it"),
        ([tmp_path / "none"], "there is no such folder: give a cluster's data directory"),
        ([broken], "it is no folder"),
        ([f"host={tmp_path} dbname=x"], "the server says: "),
        ([f"postgresql:///x?host={tmp_path}"], "Give a connection string"),
        (["host"], "the server says: "),
        (["a=b"], "the server says: "),
    ):
        status, text = said("--where", *words)
        assert (status, told in text) == (2, True), text
    (data / "PG_VERSION").rename(data / "PG_VERSION.mounted-by-pgquern")
    status, text = said("--where", data)
    assert (status, "is mounted by pgquern mount" in text) == (2, True), text
    (data / "PG_VERSION.mounted-by-pgquern").rename(data / "PG_VERSION")
    for name, told in (("global/1262", "pg_database cannot be read"), ("global/pg_control", "no global/pg_control")):
        os.remove(data / name)
        status, text = said("--where", data)
        assert (status, told in text) == (2, True), text
    assert said("--where", made(tmp_path / "old", 12))[1].startswith("Error: ")
