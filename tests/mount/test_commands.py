# SPDX-License-Identifier: PostgreSQL
"""The commands: mount, its status, unmount after a crash and without one, and what they refuse."""

import json
import os
import signal
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.mount.mounted import Mount
from tools.mount.__main__ import main as mount
from tools.mount.unmount import main as unmount


def run(command: click.Command, *words: object) -> str:
    done = CliRunner().invoke(command, [*map(str, words)])
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(command: click.Command, *words: object) -> str:
    done = CliRunner().invoke(command, [*map(str, words)])
    assert (done.exit_code, done.stdout) == (2, "")
    return done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data/base/5").mkdir(parents=True)
    (tmp_path / "data/PG_VERSION").write_text("18\n")
    (tmp_path / "mnt").mkdir()
    return tmp_path


def test_mounted_killed_recovered_mounted_unmounted(folder: Path) -> None:
    data, point = folder / "data", folder / "mnt"
    assert json.loads(run(mount, data, point, "--json"))["data"] == str(data)
    with Mount(data, point).ended():
        with (point / "base/5/16384").open("wb", buffering=0) as file:
            file.write(b"p" * 8192)
            os.fsync(file.fileno())
        assert json.loads(run(mount, "--status", "--json", point))["pages_protected"] == 1
        assert "pages protected             1" in run(mount, "--status", data)
        Mount(data, point).end(signal.SIGKILL)
        assert not (data / "PG_VERSION").exists()
        run(unmount, data)
        assert (data / "base/5/16384").read_bytes() == b"p" * 8192
        for path in (point, data):
            assert sorted(path.name for path in data.iterdir()) == ["PG_VERSION", "base"]
            run(mount, data, point)
            run(unmount, path)
    assert sorted(path.name for path in data.iterdir()) == ["PG_VERSION", "base"]


def test_an_empty_folder_in_which_no_initdb_has_run(folder: Path) -> None:
    (folder / "empty").mkdir()
    run(mount, folder / "empty", folder / "mnt")
    assert "an ordinary data directory again" in run(unmount, folder / "mnt")
    assert not list((folder / "empty").iterdir())


def test_what_is_refused(folder: Path) -> None:
    assert "is not mounted" in refused(mount, "--status", folder)
    assert "MOUNTPOINT is missing" in refused(mount, folder / "data")
    assert "correct the path" in refused(unmount, folder / "nosuch")
    assert "correct the path" in refused(unmount, folder / "mnt")
    assert Mount(folder / "data", folder / "data/base").start().returncode == 2
