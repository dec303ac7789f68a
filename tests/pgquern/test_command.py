# SPDX-License-Identifier: PostgreSQL
"""The command `pgquern`: each of its commands on files that are sound, damaged, foreign and missing.

tests/STEM/commands.py makes the files of a stem's commands. tests/pgquern/test_packaging.py tests what pip installs.
"""

import importlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from tests.common.commands import Inputs
from tools.pgquern import __main__ as command
from tools.pgquern import house, program
from tools.pgquern.__main__ import Commands, main
from tools.pgquern.registry import GROUPS, Entry, entries

TOP = Path(__file__).parents[2]
ALL = entries(TOP)
LAUNCHER = TOP / "build/venv/bin/pgquern"
FOREIGN = {"text": b"nobody here is a page\n" * 500, "binary": bytes(range(256)) * 40, "empty": b""}


ON_FILES = [name for name, entry in ALL.items() if entry.group == "files"]


@pytest.fixture(autouse=True)
def _pictures_go_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def inputs(request: pytest.FixtureRequest, tmp_path: Path) -> Inputs:
    """Of the command that the test is about."""
    name = request.getfixturevalue("name")
    made = getattr(importlib.import_module(f"tests.{ALL[name].stem}.commands"), name.replace("-", "_"))(tmp_path)
    assert isinstance(made, Inputs)
    return made


def run(*words: str) -> Result:
    """As in a shell; a traceback fails the test."""
    done = CliRunner().invoke(main, words, prog_name="pgquern")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def strictly(text: str) -> Any:
    """One document of JSON as the standard has it: Python's own reader takes NaN and Infinity, too."""

    def no_number(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    return json.loads(text, parse_constant=no_number)


@cache
def launcher() -> Path:
    """As `make setup` makes it."""
    subprocess.run(["make", "-s", LAUNCHER.relative_to(TOP)], cwd=TOP, check=True)
    return LAUNCHER


def refused(done: Result) -> str:
    """What a refusal says: on stderr alone, with status 2."""
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert len(done.stderr.split()) > 4
    return done.stderr


def with_file(inputs: Inputs, path: Path) -> list[str]:
    """The words with another file."""
    words = [*(inputs.sound or inputs.damaged)]
    words[inputs.at] = str(path)
    return words


# ---- what there is -----------------------------------------------------------------------------------


def test_help_lists_each_command_in_its_group_and_loads_no_program() -> None:
    listing = "import sys, tools.pgquern.__main__ as m; m.main(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", listing], cwd=TOP, capture_output=True, text=True, check=True)
    said, _, modules = done.stdout.rpartition("\n  Completion: ")
    assert not {"numpy", "matplotlib", "rich", *(entry.program for entry in ALL.values())} & set(modules.split())
    for group, heading in GROUPS.items():
        listed = [line.split()[0] for line in said.partition(f"{heading}:\n")[2].partition("\n\n")[0].splitlines()
                  if line[2] != " "]  # fmt: skip
        assert listed == sorted(name for name, entry in ALL.items() if entry.group == group) != []


@pytest.mark.parametrize("name", ALL)
def test_the_help_of_a_command(name: str) -> None:
    done = run(name, "--help")
    assert done.exit_code == 0
    assert done.stdout.startswith(f"Usage: pgquern {name} ")
    assert "make " not in done.stdout.partition("Options:")[2]
    options = {option: one for one in program.command(ALL[name]).params for option in one.opts}
    assert getattr(options["--json"], "is_flag", False), "a script gets its answer by this flag"


@pytest.mark.parametrize("name", [name for name in ALL if not ALL[name].only])
def test_no_parameter_of_a_program_is_lost(name: str) -> None:
    entry = ALL[name]
    theirs = {parameter.name: parameter for parameter in program.load(entry).params}
    ours = {parameter.name: parameter for parameter in program.command(entry).params}
    assert set(ours) == set(theirs) - set(dict(entry.set))
    assert [name for name, one in ours.items() if isinstance(one, click.Argument)] == list(entry.arguments)
    options = {name: one.opts for name, one in ours.items() if isinstance(one, click.Option)}
    assert options == {name: theirs[name].opts for name in options}
    assert set(entry.files) | {parameter for _, parameter in entry.variables} <= set(theirs)


def test_the_version_names_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["version"]
    monkeypatch.setattr("tools.common.environment.commit", lambda folder: "0123456789" if folder == TOP else "another")
    assert run("--version").stdout == f"pgquern {project}, commit 0123456789\n"
    monkeypatch.setattr("tools.common.environment.commit", lambda folder: "")
    assert run("--version").stdout == f"pgquern {project}\n"


def test_bash_completes_after_the_line_that_help_tells() -> None:
    """And the two other shells that it names get a script."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    clean["PATH"] = f"{launcher().parent}:{os.environ['PATH']}"
    said = " ".join(run("--help").stdout.partition("Completion: ")[2].split())
    (line,) = re.findall(r"^(eval .*) in ~/\.bashrc; else zsh_source or fish_source\.$", said)
    asks = "COMP_WORDS=(pgquern trace); COMP_CWORD=1; _pgquern_completion pgquern; echo ${COMPREPLY[@]}"
    done = subprocess.run(["bash", "-c", f"{line}; {asks}"], env=clean, capture_output=True, text=True)
    assert done.stdout.split() == [name for name in ALL if name.startswith("trace")], done.stderr
    for shell in ("zsh", "fish"):
        environment = clean | {"_PGQUERN_COMPLETE": f"{shell}_source"}
        script = subprocess.run(["pgquern"], env=environment, capture_output=True, text=True, check=True).stdout
        assert f"_PGQUERN_COMPLETE={shell}_complete" in script


# ---- files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in ON_FILES if not ALL[name].clone])
def test_a_sound_file(name: str, inputs: Inputs, tmp_path: Path) -> None:
    """Told in words, and to a script; and its folder stays as it was."""
    assert inputs.sound
    before = {path for path in tmp_path.rglob("*") if "cache" not in path.parts}
    done = run(name, *inputs.sound)
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    assert done.stdout
    done = run(name, *inputs.sound, "--json")
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    assert inputs.verdict(strictly(done.stdout)) == inputs.good != inputs.bad
    assert {path for path in tmp_path.rglob("*") if "cache" not in path.parts} == before


@pytest.mark.parametrize("name", ON_FILES)
def test_a_damaged_file(name: str, inputs: Inputs) -> None:
    """A refusal is told in words alone, and nothing on stdout could be taken for an answer."""
    done = run(name, *inputs.damaged)
    assert (done.exit_code, inputs.says in done.output) == (inputs.code, True), done.output
    to_script = run(name, *inputs.damaged, "--json")
    if inputs.code == 2:
        assert refused(to_script) == refused(done)
    else:
        assert (to_script.exit_code, to_script.stderr) == (inputs.code, "")
        assert inputs.verdict(strictly(to_script.stdout)) == inputs.bad


@pytest.mark.parametrize("name", ON_FILES)
def test_a_missing_file(name: str, inputs: Inputs, tmp_path: Path) -> None:
    missing = tmp_path / "nowhere"
    assert str(missing) in refused(run(name, *with_file(inputs, missing)))
    if ALL[name].arguments and any(one.required for one in program.command(ALL[name]).params):
        assert "Missing argument" in refused(run(name))


@pytest.mark.parametrize("content", FOREIGN)
@pytest.mark.parametrize("name", ON_FILES)
def test_a_foreign_file(name: str, inputs: Inputs, content: str, tmp_path: Path) -> None:
    """Any bytes may be a page that was overwritten; an empty file, a relation or a recovery that read nothing."""
    foreign = tmp_path / "foreign"
    foreign.write_bytes(FOREIGN[content])
    done = run(name, *with_file(inputs, foreign))
    assert done.exit_code in {"text": (2,), "binary": (1, 2), "empty": (0, 1, 2)}[content], done.output
    if done.exit_code == 2:
        refused(done)


DRAWING = [
    name
    for name in ON_FILES
    if "picture.of_file(" in Path(*ALL[name].program.split(".")).with_suffix(".py").read_text()
]


@pytest.mark.parametrize("home", ["file", "nobody", "link"])
@pytest.mark.parametrize("name", DRAWING)
def test_the_verdict_comes_though_no_picture_can_be_written(
    name: str, home: str, inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in the place of the folder; a user of whom no home is known; a link that another has laid there."""
    (tmp_path / "file").write_text("kept")
    if home == "link":
        drawn = Path(
            strictly(run(name, *with_file(inputs, Path(inputs.damaged[0])), "--json").stdout)["picture"] or "none"
        )
        drawn.unlink(missing_ok=True)
        drawn.parent.mkdir(parents=True, exist_ok=True)
        drawn.symlink_to(tmp_path / "file")
    elif home == "file":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    else:
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home is known")))
    words = with_file(inputs, Path(inputs.damaged[0]))
    done, to_script = run(name, *words), run(name, *words, "--json")
    assert (done.exit_code, to_script.exit_code) == (inputs.code, inputs.code), done.output
    assert inputs.says in done.stdout
    document = strictly(to_script.stdout)
    assert (inputs.verdict(document), document["picture"]) == (inputs.bad, None)
    assert done.stderr.startswith("no picture was drawn: ")
    assert to_script.stderr.startswith("no picture was drawn: ")
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize("name", DRAWING)
def test_two_files_of_one_name_have_two_pictures(name: str, inputs: Inputs, tmp_path: Path) -> None:
    drawn = set[str]()
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        shutil.copy(inputs.damaged[0], folder / "16384")
        for file in (folder / "16384", folder / "again"):
            (folder / "again").unlink(missing_ok=True)
            (folder / "again").hardlink_to(folder / "16384")
            drawn.add(strictly(run(name, str(file), "--json").stdout)["picture"])
    assert len(drawn) == 4
    assert all(Path(one).is_relative_to(tmp_path / "cache/pgquern") for one in drawn)


def test_matplotlib_keeps_what_it_keeps_in_our_folder(tmp_path: Path) -> None:
    """And writes nothing to a home."""
    (home := tmp_path / "home").mkdir()
    kept = tmp_path / "cache"
    environment = {"HOME": str(home), "XDG_CACHE_HOME": str(kept), "TMPDIR": str(home), "PATH": os.environ["PATH"]}
    made = importlib.import_module(f"tests.{ALL['trace-check'].stem}.commands").trace_check(tmp_path)
    command = [launcher(), "trace-check", *made.sound, "--picture", picture := tmp_path / "timeline.png"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr, picture.is_file()) == (0, "", True)
    assert not list(home.iterdir())
    assert (kept / "pgquern/matplotlib").is_dir()


@pytest.mark.parametrize("called", ["[/red]\udcff\udcfe", "[red]$\\q$a\nb\x1b[1m"])
@pytest.mark.parametrize("name", ["check-pages", "look", "snap"])
def test_a_file_may_have_any_name(name: str, inputs: Inputs, called: str, tmp_path: Path) -> None:
    """Of bytes that are no UTF-8, too. What looks like markup or a formula is shown as it is."""
    assert inputs.sound
    file = tmp_path / f"{called}{Path(inputs.sound[0]).suffix}"
    file.parent.mkdir(exist_ok=True)  # one name has a slash
    file.write_bytes(Path(inputs.sound[0]).read_bytes())
    words = run(name, str(file))
    assert words.exit_code == 0, words.output
    assert str(file).encode(errors="backslashreplace").decode() in words.stdout
    to_script = run(name, str(file), "--json")
    assert to_script.exit_code == 0, to_script.output
    document = strictly(to_script.stdout)
    assert (document[0] if isinstance(document, list) else document)["file"] == str(file)


@pytest.mark.parametrize("name", ["advise"])
def test_a_listing_comes_by_a_pipe(name: str, inputs: Inputs, tmp_path: Path) -> None:
    """As `pgquern advise <(pg_waldump ...)` gives it: it can be read once. And a time in it may be none."""
    assert inputs.sound
    lines = Path(inputs.sound[0]).read_text().splitlines(keepends=True)
    for at, time in ((1, "2026-01-01 10:00:00"), (-1, "2026-01-01 10:01:00")):
        line = re.sub(r"rmgr: \S+", "rmgr: Transaction", lines[at])
        lines[at] = re.sub(r"desc: .*", f"desc: COMMIT {time} UTC", line)
    (file := tmp_path / "wal").write_text("".join(lines))
    readable, writable = os.pipe()
    os.write(writable, file.read_bytes())
    os.close(writable)
    piped = strictly(run(name, f"/dev/fd/{readable}", "--json").stdout)
    os.close(readable)
    assert piped == strictly(run(name, str(file), "--json").stdout)
    assert piped["wal_seconds"] == 60
    file.write_text("".join(lines).replace("2026-01-01 10:01:00", "2026-13-01 10:01:00"))
    assert "2026-13-01 10:01:00" in refused(run(name, str(file), "--json"))


@pytest.mark.parametrize("words", [["--channels", "100000000"], ["--service", "1e300"], ["--service", "nan"]])
@pytest.mark.parametrize("name", ["advise"])
def test_what_a_device_cannot_be(name: str, words: list[str], inputs: Inputs) -> None:
    assert inputs.sound
    refused(run(name, *inputs.sound, "--json", *words))


@pytest.mark.parametrize("name", ["advise"])
def test_a_kind_of_picture_that_there_is_not(name: str, inputs: Inputs, tmp_path: Path) -> None:
    assert inputs.sound
    assert "cannot be drawn" in refused(run(name, *inputs.sound, "--json", "--picture", str(tmp_path / "no.such")))


@pytest.mark.parametrize("words", [[], ["--json"]])
@pytest.mark.parametrize("name", ["snap"])
def test_a_reader_that_goes_away_gets_no_verdict(name: str, inputs: Inputs, words: list[str]) -> None:
    """As of what a shell says was ended by SIGPIPE."""
    assert inputs.sound
    readable, writable = os.pipe()
    os.close(readable)
    done = subprocess.run([launcher(), name, *inputs.sound, *words], stdout=writable, stderr=subprocess.PIPE)
    os.close(writable)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_command_that_is_stopped_gives_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(**_: object) -> None:
        raise KeyboardInterrupt

    found = program.load(ALL["snap"])
    monkeypatch.setattr(program, "load", lambda _: click.Command("snap", params=found.params, callback=stopped))
    done = run("snap", "any", "--json")
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "Aborted!\n")


# ---- commands of a clone -----------------------------------------------------------------------------


def test_a_candidate_that_is_missing_is_told_before_anything_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house, "make", lambda *_: pytest.fail("it compiles"))
    assert "nowhere.c: there is no such file" in refused(run("judge", "some kind", "nowhere.c"))


def test_what_make_compiles_with_goes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program gets absolute paths and make's flags, make its variables; the exit status is the program's."""
    given, made = dict[str, object](), list[object]()

    def judged(**values: object) -> None:
        given.update(values, cwd=Path.cwd())
        sys.exit(4)

    (tmp_path / "their.c").touch()
    found = program.load(ALL["judge"])
    monkeypatch.setattr(program, "load", lambda _: click.Command("judge", params=found.params, callback=judged))
    real = house.make

    def make(*words: Any, **how: Any) -> str:
        made.append(words)
        return real("judge-flags", **how)

    monkeypatch.setattr(house, "make", make)
    monkeypatch.chdir(tmp_path)
    done = run("judge", "some kind", "their.c", "--full")
    assert done.exit_code == 4
    assert (given["kind"], given["source"], given["cwd"]) == ("some kind", str(tmp_path / "their.c"), TOP)
    assert "-O2" in str(given["cflags"])
    assert "-fsanitize=address" in str(given["cflags_asan"])
    assert isinstance(given["isa"], list)
    assert made[0] == ("judge-ready", (("KIND", "some kind"), ("FULL", "1")))
    assert done.stderr == f"paths below are seen from {TOP}\n"


def test_a_checkout(tmp_path: Path) -> None:
    assert "there is no such file or folder" in refused(run("drift", str(tmp_path / "nowhere")))
    assert "is no checkout of PostgreSQL" in refused(run("drift", str(tmp_path)))
    (tmp_path / "configure.ac").write_text("AC_INIT([PostgreSQL], [18.1], [x], [], [y])\n")
    done = run("drift", str(tmp_path), "--json")
    assert (done.exit_code, json.loads(done.stdout)["version"]) == (1, "18.1")
    (tmp_path / "configure.ac").write_bytes(b"AC_INIT([PostgreSQL], [18.1], [x], [], [y])\n# \xff\n")
    assert run("drift", str(tmp_path), "--json").stdout == done.stdout


def test_a_model() -> None:
    assert "say STEM, one of " in refused(run("show"))
    stem = next(path.parent.name for path in sorted(TOP.glob("spec/*/models.toml")))
    assert "RUN, with the name of one run that must fail" in run("show", stem).stdout
    assert refused(run("show", "no such subject"))
    listed = strictly(run("show", stem, "--json").stdout)["runs"]
    assert [f"{one['run']}: {one['says']}" for one in listed] == run("show", stem).stdout.splitlines()[:-1] != []
    assert refused(run("show", "no such subject", "--json"))


# ---- what is missing ---------------------------------------------------------------------------------


def test_an_unknown_command_is_told_with_what_is_near() -> None:
    near = next(name for name in ON_FILES if len(name) > 5)
    assert f"did you mean {near}?" in refused(run(near[:-1]))


def test_a_library_that_is_missing_breaks_one_command_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = Entry("lacking", "files", "Lacks a library.", "tests.no_such_module")
    commands = Commands(ALL | {"lacking": lacking}, name="pgquern")
    done = CliRunner().invoke(commands, ["lacking", "--help"])
    assert (done.exit_code, "lacking needs tests.no_such_module, which is not installed: " in done.stderr) == (2, True)
    assert CliRunner().invoke(commands, ["--help"]).exit_code == 0
    assert CliRunner().invoke(commands, ["judge-template", "--help"]).exit_code == 0


@pytest.mark.parametrize("is_clone", [True, False])
def test_what_needs_the_clone_says_so_elsewhere(is_clone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house, "IS_SET_UP", False)
    monkeypatch.setattr(house, "IS_CLONE", is_clone)
    for name in (name for name, entry in ALL.items() if entry.clone):
        said = refused(run(name, "any", "--words"))
        assert f"{name} needs " in said
        assert "`make setup`" in said
        assert run(name, "--help").exit_code == 0


def test_make_that_fails_is_told() -> None:
    with pytest.raises(house.Failed, match="no-such-target` makes, and that failed"):
        house.make("no-such-target")


# ---- as people start it ------------------------------------------------------------------------------


def test_the_launcher_runs_anywhere(tmp_path: Path) -> None:
    """Modules that lie where it is run are not taken, and a pipe that closes is no error."""
    for name in ("tools", "click", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken from the wrong place')\n")
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run([launcher(), "--version"], cwd=tmp_path, env=clean, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("pgquern ")
    done = subprocess.run(f"{LAUNCHER} --help | head -1", shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.stdout.startswith("Usage: pgquern ")
    # With a full disk, and with no stderr, which make would hand to a compiler.
    full = (2, "Error: [Errno 28] No space left on device\n")
    for words, says in (("--help > /dev/full", full), ("snap --help 2>&-", (0, ""))):
        done = subprocess.run(f"{LAUNCHER} {words}", shell=True, cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == says


def test_a_copied_clone_runs_its_own_code_and_its_first_call_finds_what_it_compiled(tmp_path: Path) -> None:
    """It has a venv, and nothing of build/ffi before make has made it."""
    clone = tmp_path / "it's a clone"
    for name in ("ref", "tools", "csrc/ffi"):
        shutil.copytree(TOP / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    venv = clone / "build/venv"
    shutil.copytree(launcher().parent, venv / "bin", symlinks=True)
    shutil.copy(TOP / "build/venv/pyvenv.cfg", venv)
    (venv / "lib").symlink_to(TOP / "build/venv/lib")
    (clone / "Makefile").write_text(f"kernels:\n\tcp -r {TOP}/build/ffi build/ffi\n")
    (clone / "pyproject.toml").write_text('project.version = "of the copy"\n')
    (tmp_path / "16384").touch()
    (link := tmp_path / "by a link").symlink_to(venv / "bin/pgquern")
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    for words, says in ((["--version"], "pgquern of the copy"), (["look", "16384"], "16384: 0 pages")):
        done = subprocess.run([link, *words], cwd=tmp_path, env=clean, capture_output=True, text=True)
        assert (done.returncode, done.stdout.startswith(says)) == (0, True), done.stderr


@pytest.mark.parametrize("installed", [False, True])
def test_ctrl_c_while_modules_are_imported_is_told_by_the_signal_alone(installed: bool, tmp_path: Path) -> None:
    """click, which the command imports first, is one that takes long here."""
    (tmp_path / "click.py").write_text("import time\nprint('now', flush=True)\ntime.sleep(60)\n")
    theirs = "import pgquern.__main__ as m; m.CLONE = m.Path('/nowhere'); m.main()"
    ours = "import runpy; runpy.run_module('tools.pgquern', run_name='__main__', alter_sys=True)"
    code = f"import sys; sys.path.insert(0, '{tmp_path}'); {theirs if installed else ours}"
    words = ["env", "--default-signal=INT", "--block-signal=INT", sys.executable, "-c", code]
    process = subprocess.Popen(words, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "now\n"
    process.send_signal(signal.SIGINT)
    assert (process.communicate()[1], process.returncode) == ("", -signal.SIGINT)


def test_no_memory_and_a_fault_of_ours_are_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python itself would end with 1."""
    found = program.load(ALL["snap"])
    for error, says in ((MemoryError(), "more memory than there is"), (KeyError("a fault"), "KeyError: 'a fault'")):

        def fails(error: BaseException = error, **_: object) -> None:
            raise error

        monkeypatch.setattr(
            program, "load", lambda _, fails=fails: click.Command("snap", params=found.params, callback=fails)
        )
        monkeypatch.setattr(sys, "argv", ["pgquern", "snap", "any"])
        said = io.StringIO()
        monkeypatch.setattr(sys, "stderr", said)
        with pytest.raises(SystemExit) as ended:
            command.start()
        assert (ended.value.code, says in said.getvalue()) == (2, True), said.getvalue()
