# SPDX-License-Identifier: PostgreSQL
"""The judge of candidates: each listed candidate gets its verdict, and a wrong use is told in a sentence."""

import json
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from click.testing import CliRunner, Result
from pgquern.variants import Variant

from bench.goals import Goals, Roles
from tools.common import watch
from tools.common.matrix import with_cell
from tools.judge import __main__ as judge
from tools.judge import build as judge_build
from tools.judge import child as judge_child
from tools.judge import objects as judge_objects
from tools.judge import run as judge_run
from tools.judge import source as judge_source
from tools.judge import speed as judge_speed
from tools.judge import verdict as judge_verdict
from tools.judge import world as judge_world
from tools.judge.build import Candidate
from tools.judge.kinds import JudgeError, Kind, kind_of, kinds

PLACES = [Path("tests", stem) for stem in with_cell("tests/{stem}/judge.toml")]


SLOW = "one_in_a_million"
"""It needs a million inputs: most of a minute."""
AT_ONCE = ("it has ", "it calls ", "it defines ", "candidate is ", "weak symbol", "section ")


def candidates() -> Iterator[ParameterSet]:
    """Each with its verdict. The first right one and the first wrong one of a kind, and what an object file gives
    away, are judged by `make test ONLY=tools`, the others by `make test-candidates`."""
    seen = set()
    for place in PLACES:
        for entry in tomllib.loads((place / "judge.toml").read_text()).get("candidates", []):
            source = place / "judge" / entry["file"]
            first = (source.parent, entry["verdict"] == "PASS") not in seen and source.stem != SLOW
            seen |= {(source.parent, entry["verdict"] == "PASS")} if first else set()
            settings = {"speed": "no"} | entry
            words = [
                text for word, value in settings.items() if word in ("like", "speed") for text in (f"--{word}", value)
            ]
            marks = [] if first or entry["why"].startswith(AT_ONCE) else [pytest.mark.every_candidate]
            yield pytest.param(source, words, entry["verdict"], entry["why"], id=entry["file"], marks=marks)


KINDS = kinds()
CANDIDATES = list(candidates())
FIRST = next(iter(KINDS))


def run(kind: str, source: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return finished([sys.executable, "-m", "tools.pgquern", "judge", kind, source, *words])


def finished(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """What a command tells. SKIPPED where nobody may stop another's system calls: no kernel is judged there."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "stops no system calls" in done.stdout + done.stderr:
        pytest.skip("this kernel stops no system calls for a keeper (seccomp)")
    return done


def program(*words: str) -> Result:
    """The program alone, for its exit code; nothing is compiled as long as the use is wrong."""
    return CliRunner().invoke(judge.main, words)


@pytest.mark.tools
@pytest.mark.parametrize(("source", "words", "verdict", "why"), CANDIDATES)
def test_each_candidate_gets_its_verdict(source: Path, words: list[str], verdict: str, why: str) -> None:
    if platform.machine() != "x86_64" and "__asm__" in source.read_text():
        pytest.skip("its assembler is that of x86-64")
    told = run(source.parent.name, source, "--seed", "1", *words)
    assert f"{verdict} " in told.stdout, told.stdout + told.stderr
    found = json.loads(Path("build/judge", f"{source.stem}.json").read_text())
    assert found["verdict"]["word"] == verdict
    assert why in found["verdict"]["why"] + found["verdict"]["test"]
    assert (told.returncode == 0) == (verdict == "PASS")
    page = Path("build/judge", f"{source.stem}.html").read_text()
    assert f">{verdict}</span>" in page
    assert f"pgquern judge {source.parent.name} {source.resolve()}" in page
    if found["told"] and found["told"]["breaks"]:
        assert "<mark>" in page
        folder = Path("build/judge", source.stem)
        assert regression(folder, Path("build/ffi")) == pytest.ExitCode.OK
        assert regression(folder, folder / "plain") == pytest.ExitCode.TESTS_FAILED


def test_a_right_policy_passes() -> None:
    """In each run of the tests: those of `tiercache` go by the names of policies, twice a new one failed them all."""
    source = Path("tests/tiercache/judge/tiercache_policy/right.c")
    told = run("tiercache_policy", source, "--speed", "no", "--seed", "1")
    assert "PASS " in told.stdout, told.stdout + told.stderr


@pytest.mark.tools
@pytest.mark.parametrize("word", ["PASS", "FAIL"])
def test_a_script_gets_the_verdict(word: str) -> None:
    """On stdout, and nothing else; what is done meanwhile, on stderr."""
    source = next(one.values[0] for one in CANDIDATES if one.values[1:3] == (["--speed", "no"], word))
    assert isinstance(source, Path)
    words = [source.parent.name, str(source), "--speed", "no", "--seed", "1", "--json"]
    told = finished([sys.executable, "-m", "tools.pgquern", "judge", *words])
    found = json.loads(told.stdout)
    assert (told.returncode, found["verdict"]["word"]) == (judge.CODES[word], word), told.stderr
    assert found == json.loads(Path("build/judge", f"{source.stem}.json").read_text())
    assert Path(found["page"]).is_file()
    assert [step["name"] in told.stderr for step in found["steps"]] == [True] * len(found["steps"]) != []


CFLAGS = ["-O2", "-std=c11", "-D_GNU_SOURCE", "-fPIC", "-Icsrc"]


def right_ones(kind: Kind) -> list[Path]:
    """Its right candidates, but for the one that needs another variant beside it."""
    passed = [
        param.values[0] for param in CANDIDATES if param.values[2] == "PASS" and param.values[1] == ["--speed", "no"]
    ]
    return [path for path in passed if isinstance(path, Path) and path.parent.name == kind.name]


NATIVE = [kind for kind in KINDS.values() if not kind.functions]
RIGHT: list[tuple[Kind, Path | None]] = [(kind, path) for kind in NATIVE for path in (None, *right_ones(kind))]


@pytest.mark.tools
@pytest.mark.parametrize(
    ("kind", "source"), RIGHT, ids=[f"{kind.name}-{source.stem if source else 'template'}" for kind, source in RIGHT]
)
def test_what_is_right_gets_through_native_inputs(tmp_path: Path, kind: Kind, source: Path | None) -> None:
    """Each template, and each right candidate; and nothing of their object files is refused."""
    (tmp_path / "template.c").write_text(kind.template())
    candidate = Candidate(kind, source or tmp_path / "template.c", tmp_path)
    judge_build.write_sources(candidate)
    judge_build.compile_candidate(candidate, CFLAGS, tmp_path / "candidate.o")
    assert judge_build.examine(candidate, tmp_path / "candidate.o") == ""
    hosts = judge_build.Hosts.build(candidate, CFLAGS)
    for theirs in (hosts.theirs, hosts.traps):
        inputs = 20000 // kind.costs
        done = finished([str(hosts.driver), "check", "1", str(inputs), str(theirs), str(hosts.ours)])
        found = judge_run.of_native(done.returncode, done.stdout + done.stderr)
        assert found.verdict is None
        assert found.inputs >= inputs


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> judge_build.Hosts:
    """Those of a need_update; of_body puts another body in the place of its own."""
    candidate = with_body(tmp_path_factory.mktemp("need_update"), "return (pgq_status){0};")
    judge_build.write_sources(candidate)
    judge_build.compile_candidate(candidate, CFLAGS, candidate.folder / "candidate.o")
    return judge_build.Hosts.build(candidate, CFLAGS)


def with_body(folder: Path, body: str) -> Candidate:
    kind = next(kind for name, kind in KINDS.items() if name.endswith("need_update"))
    source = folder / "body.c"
    source.write_text(
        f'#include "{kind.header}"\n#include <stdlib.h>\nlong syscall(long, ...);\n'
        f"{kind.declaration(kind.variant)};\nstatic int by_int(const void *a, const void *b)\n"
        f"{{\n    return *(const int *)a - *(const int *)b;\n}}\n{kind.signature}\n{{\n    {body}\n}}\n"
    )
    return Candidate(kind, source, folder)


def of_body(hosts: judge_build.Hosts, body: str) -> judge_verdict.Verdict | None:
    """The verdict on a need_update whose body that is, after a few native inputs."""
    candidate = with_body(hosts.driver.parent, body)
    judge_build.compile_candidate(candidate, CFLAGS, candidate.folder / "candidate.o")
    theirs = judge_build.host(candidate, candidate.folder / "candidate.o", candidate.folder / "theirs")
    done = finished([str(hosts.driver), "check", "1", "100", str(theirs), str(hosts.ours)])
    return judge_run.of_native(done.returncode, done.stdout + done.stderr).verdict


@pytest.mark.parametrize("body", ["for (;;) ;", "__builtin_trap();", "*(volatile int *)8 = 1;", "syscall(39L);"])
def test_a_kernel_that_does_not_come_back_ends_its_host_alone(
    hosts: judge_build.Hosts, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.setenv("PGQUERN_JUDGE_CPU", "1")
    verdict = of_body(hosts, f"{body}\n    return (pgq_status){{0}};")
    assert verdict is not None
    assert re.search("no end|SIGILL|SIGTRAP|SIGSEGV|system call", verdict.why)


UPSTREAM = """\
/*
 * Forget those that precede xmin.
 */
static void
SnapBuildPurgeOlderTxn(SnapBuild *builder)
{
	size_t		kept = 0;

	if (!TransactionIdIsNormal(builder->xmin))
		return;
	for (size_t off = 0; off < builder->committed.xcnt; off++)
	{
		TransactionId xid = builder->committed.xip[off];

		if (NormalTransactionIdPrecedes(xid, builder->xmin))
			continue;
		builder->committed.xip[kept++] = xid;
	}
	builder->committed.xcnt = kept;
}
"""
COMPACTION = """\
static void
compactify_tuples(Page page, int nline)
{
	PGAlignedBlock scratch;
	LocationIndex upper = ((PageHeader) page)->pd_special;

	memcpy(scratch.data, page, BLCKSZ);
	for (int i = FirstOffsetNumber; i <= nline; i++)
	{
		ItemId		lp = PageGetItemId(page, i);

		if (!ItemIdIsUsed(lp) || !ItemIdHasStorage(lp))
			continue;
		upper -= MAXALIGN(ItemIdGetLength(lp));
		memcpy(page + upper, scratch.data + ItemIdGetOffset(lp), MAXALIGN(ItemIdGetLength(lp)));
		lp->lp_off = upper;
	}
	((PageHeader) page)->pd_upper = upper;
}

void
PageRepairFragmentation(Page page)
{
	int			nline = PageGetMaxOffsetNumber(page);
	int			last = 0;
	int			unused = 0;

	for (int i = FirstOffsetNumber; i <= nline; i++)
	{
		ItemId		lp = PageGetItemId(page, i);

		if (ItemIdIsUsed(lp))
			last = i;
		else
		{
			ItemIdSetUnused(lp);
			unused++;
		}
	}
	compactify_tuples(page, nline);
	((PageHeader) page)->pd_lower -= sizeof(ItemIdData) * (nline - last);
	if (unused > nline - last)
		PageSetHasFreeLinePointers(page);
	else
		PageClearHasFreeLinePointers(page);
}
"""
TREES = {
    "SnapBuildPurgeOlderTxn": (
        "src/backend/replication/logical/snapbuild.c", UPSTREAM,
        "\t\tif (NormalTransactionIdPrecedes(xid, builder->xmin))", "\t\tif (xid < builder->xmin)",
    ),
    "PageRepairFragmentation": (
        "src/backend/storage/page/bufpage.c", COMPACTION,
        "\t\tupper -= MAXALIGN(ItemIdGetLength(lp));", "\t\tupper -= ItemIdGetLength(lp);",
    ),
}  # fmt: skip
"""What upstream's functions do, as its style has it: the file, its text, a line of it, and a wrong one in its place."""


@pytest.mark.parametrize("function", TREES)
@pytest.mark.parametrize(
    ("change", "word"),
    [("", "PASS"), ("-{held}\n+{wrong}\n {after}\n", "FAIL")],
    ids=["as it is", "a wrong line"],
)
def test_a_branch_and_a_patch_of_it_are_judged_as_upstream(
    tmp_path: Path, function: str, change: str, word: str
) -> None:
    """The patch is one as git makes it, of several files; the function is cut out by its name behind it."""
    kind = next(kind for kind in KINDS.values() if function in kind.cut)
    file, text, held, wrong = TREES[function]
    change = change.format(held=held, wrong=wrong, after=text.partition(f"{held}\n")[2].splitlines()[0])
    (tmp_path / "tree" / file).parent.mkdir(parents=True)
    (tmp_path / "tree" / file).write_text(text)
    patch, line = tmp_path / "their.patch", text.splitlines().index(held) + 1
    old, new = (sum(one[0] != sign for one in change.splitlines()) for sign in "+-")
    patch.write_text(
        f"diff --git a/README b/README\n--- a/README\n+++ b/README\n@@ -1 +1 @@\n-a\n+b\n"
        f"diff --git a/{file} b/{file}\n--- a/{file}\n+++ b/{file}\n@@ -{line},{old} +{line},{new} @@\n{change}"
    )
    work = tmp_path / "work"
    work.mkdir()
    candidate = judge_source.of_tree(
        tmp_path / "tree", patch if change else None, work, kind.name, compiler="gcc", flags=""
    )
    judge_build.write_sources(candidate)
    judge_build.compile_candidate(candidate, CFLAGS, work / "candidate.o")
    hosts = judge_build.Hosts.build(candidate, CFLAGS)
    done = finished([str(hosts.driver), "check", "1", "20000", str(hosts.theirs), str(hosts.ours)])
    found = judge_run.of_native(done.returncode, done.stdout + done.stderr).verdict
    assert (found.word if found else "PASS") == word


def test_a_branch_that_keeps_the_old_function_behind_an_if_is_not_judged_by_it(tmp_path: Path) -> None:
    function, (file, text, held, wrong) = next(iter(TREES.items()))
    kind = next(kind for kind in KINDS.values() if function in kind.cut)
    (tmp_path / "tree" / file).parent.mkdir(parents=True)
    (tmp_path / "tree" / file).write_text(f"#if 0\n{text}#else\n{text.replace(held, wrong)}#endif\n")
    with pytest.raises(JudgeError, match=f"several {function}"):
        judge_source.of_tree(tmp_path / "tree", None, tmp_path, kind.name, compiler="gcc", flags="")


def test_flags_that_are_not_the_compilers_own_are_refused(tmp_path: Path) -> None:
    kind = KINDS[FIRST]
    (tmp_path / "mine.c").write_text(kind.template())
    for flags in ("evil.o", "-levil", "-Wl,--wrap=malloc", "@evil", "-fplugin=evil.so", "-fno-sanitize=all", "-x"):
        words = ["--kind", kind.name, "--source", str(tmp_path / "mine.c"), "--flags", f"-O3 -march=native {flags}"]
        told = program(*words)
        assert told.exit_code == 2
        assert "is no flag of the compiler's own" in told.stderr


def test_a_large_sort_makes_no_system_call(hosts: judge_build.Hosts) -> None:
    """glibc's asks, the first time, how much memory there is."""
    kind = next(kind for name, kind in KINDS.items() if name.endswith("need_update"))
    sort = "int *a = calloc(4096, sizeof *a);\n    qsort(a, 4096, sizeof *a, by_int);\n    free(a);"
    assert of_body(hosts, f"{sort}\n    return {kind.variant}({kind.names});") is None


def regression(folder: Path, binding: Path) -> int:
    """What pytest says of the test to paste, with a binding: the command that people are shown, with another one."""
    command = judge.fails(folder).replace(str(folder / "plain"), str(binding))
    return subprocess.run(shlex.split(command), capture_output=True).returncode


def test_every_candidate_is_listed() -> None:
    there = {path for place in PLACES for path in place.glob("judge/*/*.c*")}
    assert there == {param.values[0] for param in CANDIDATES}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_a_template_holds_the_contract_and_the_signature(kind: Kind) -> None:
    text, header = kind.template(), (Path("csrc") / kind.header).read_text()
    assert all(line.strip() in text for line in kind.signature.splitlines())
    assert kind.names.count(",") == kind.arguments.count(",")
    contract = text.partition("The contract")[2].partition("*/")[0].splitlines()[2:]
    assert len(contract) >= 3
    assert all(line.strip() in header for line in contract)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_the_tests_that_are_named_are_there(kind: Kind) -> None:
    for node in kind.loops + kind.without:
        file, _, test = node.partition("[")[0].partition("::")
        assert re.search(rf"^(def {test}\(|{test} = )", Path(file).read_text(), re.MULTILINE), node


@pytest.mark.tools
def test_a_patch_is_judged_as_the_variant_that_it_changes(tmp_path: Path) -> None:
    """The one line that it adds to our code is told; what it belongs to is found out."""
    file, [(kind, variant), *_] = next((f, rows) for f, rows in judge_source.where().items() if len(rows) == 1)
    lines = len(file.read_text().splitlines())
    patch = tmp_path / "ours.patch"
    patch.write_text(f"--- a/{file}\n+++ b/{file}\n@@ -{lines},0 +{lines + 1} @@\n+#warning changed\n")
    found = judge_source.of_patch(patch, tmp_path, "", "", compiler="gcc", flags="", isa={})
    assert (found.kind.name, found.kind.like) == (kind, variant)
    assert found.files[0].read_text().endswith("#warning changed\n")
    patch.write_text(patch.read_text().replace(str(file), "csrc/none.c"))
    told = program("--patch", str(patch))
    assert told.exit_code == 2
    assert "The patch changes no variant" in told.stderr


@pytest.mark.tools
def test_a_folder_of_sources_is_one_candidate(tmp_path: Path) -> None:
    kind = KINDS[FIRST]
    (tmp_path / "a.c").write_text(kind.template().replace(f"{kind.variant}(", "helper("))
    calls = f"{kind.declaration(kind.variant)};\n{kind.declaration('helper')};\n"
    body = f"{kind.declaration('helper')}\n{{\n    return {kind.variant}({kind.names});\n}}\n"
    (tmp_path / "b.c").write_text(f'#include "{kind.header}"\n{calls}{body}')
    candidate = judge_source.of_source(Candidate(kind, tmp_path, tmp_path))
    judge_build.write_sources(candidate)
    judge_build.compile_candidate(candidate, ["-O1", "-Icsrc"], tmp_path / "candidate.o")
    assert judge_objects.calls(tmp_path / "candidate.o") == [kind.variant]


def test_a_trial_empties_a_folder_of_its_own_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a candidate is called; and none that lies there."""
    emptied, rmtree = list[Path](), shutil.rmtree

    def empty(path: Path, **words: Any) -> None:
        emptied.append(path)
        if path.parent == judge.ROOT:
            rmtree(path, **words)

    monkeypatch.setattr(shutil, "rmtree", empty)
    for name in ("...c", "..c", "it's: mine.v1.c"):
        (tmp_path / name).write_text("no C\n")
        assert program("--kind", FIRST, "--source", str(tmp_path / name)).exit_code == 2
    assert program("--kind", FIRST, "--branch", "..").exit_code == 2
    assert [path.parent for path in emptied] == [judge.ROOT] * 4
    assert not re.search(r"[^\w/+-]", "".join(map(str, emptied)))
    source = judge.ROOT / "mine" / "mine.c"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text("no C\n")
    assert "which a trial empties" in program("--kind", FIRST, "--source", str(source)).stderr


def test_what_an_earlier_trial_said_is_gone(tmp_path: Path) -> None:
    page = Path("build/judge/unfit.html")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("PASS")
    (tmp_path / "unfit.c").write_text("no C\n")
    assert program("--kind", FIRST, "--source", str(tmp_path / "unfit.c")).exit_code == 2
    assert not page.exists()


def test_a_wrong_use_is_told_in_a_sentence(tmp_path: Path) -> None:
    os.mkfifo(fifo := tmp_path / "fifo.c")
    for words, says in (
        (["--kind", "nothing"], "There is no kind 'nothing' to judge: choose one of "),
        (["--kind", FIRST], "--source is missing: name the candidate with --source"),
        (["--source", "x.c"], "Say which kind it is with --kind, one of "),
        (["--kind", FIRST, "--source", "README.md"], "README.md is no C or C++ file: its name must end in "),
        (["--kind", FIRST, "--source", str(fifo)], "fifo.c is no C or C++ file"),
        (["--kind", FIRST, "--source", str(tmp_path)], "There is no C or C++ file in "),
        (["--kind", FIRST, "--like", "nothing", "--source", "x.c"], "There is no variant 'nothing' of this kind"),
    ):
        told = program(*words)
        assert (told.exit_code, says in told.stderr) == (2, True), told.output


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("int candidate(void) { return 0; }\n", "does not compile; correct what the compiler says"),
        ("int other(void) { return 0; }\n", "has no function named candidate; it must define: "),
        ("{signature} {{ return pgq_no_such_thing({names}); }}\n", "it calls pgq_no_such_thing"),
        ("#error M\xfcller \x1b[2J\n", "does not compile; correct what the compiler says"),
    ],
)
def test_a_source_that_is_no_candidate_is_told_in_a_sentence(tmp_path: Path, text: str, says: str) -> None:
    kind = KINDS[FIRST]
    declared = f"{kind.declaration('pgq_no_such_thing')};\n"
    source = tmp_path / "unfit.c"
    text = declared + text.format(signature=kind.signature, names=kind.names) if "{sig" in text else text
    source.write_text(text, encoding="latin-1")
    told = run(FIRST, source)
    assert told.returncode == (1 if "calls" in says else 2)
    assert says in told.stdout + told.stderr
    assert "Traceback" not in told.stderr
    assert "\x1b" not in told.stdout + told.stderr


def test_an_object_file_whose_sections_cannot_be_counted_is_not_looked_through(tmp_path: Path) -> None:
    """Where there are 65,280 and more the header's own number is 0."""
    (tmp_path / "many.o").write_bytes(bytes(64))
    with pytest.raises(JudgeError, match="65,280 sections or more"):
        judge_objects.symbols(tmp_path / "many.o")


@pytest.mark.parametrize(
    ("call", "has_none"),
    [
        ("pthread_mutex_trylock", True),
        ("pthread_rwlock_rdlock", True),
        ("sem_wait", True),
        ("sched_yield", True),
        ("usleep", True),
        ("pthread_condattr_setclock", False),
        ("pthread_self", False),
        ("world_mutex_lock", False),
        ("memcpy", False),
    ],
)
def test_calls_of_which_the_world_has_no_double(call: str, has_none: bool) -> None:
    assert bool(judge_world.ALONE.match(call)) == has_none


@pytest.mark.parametrize(
    ("code", "asleep", "log", "says"),
    [
        (-signal.SIGSEGV, False, "", "it crashes with SIGSEGV in t"),
        (-signal.SIGXCPU, False, "", "it comes to no end in t"),
        (-signal.SIGKILL, True, "", "it waits for ever in t"),
        (86, False, "judge: it crashes with SIGSEGV\n", "it crashes with SIGSEGV, in t"),
        (0, False, "", "it ends the process, with 0, in t"),
        (1, False, "no memory\n..... [ 9%]\n", "it ends the process, with 1, in t; the last words are: no memory"),
        (1, False, "SUMMARY: AddressSanitizer: heap-buffer-overflow x.c:3 in f\n", "heap-buffer-overflow x.c:3"),
        (1, False, "x.c:3:5: runtime error: shift exponent 32\n", "x.c:3:5: runtime error: shift"),
    ],
)
def test_how_a_process_ended_gives_the_verdict(code: int, asleep: bool, log: str, says: str) -> None:
    found = judge_verdict.of_process(code, asleep, "t", log)
    assert found is not None
    assert found.word == "FAIL"
    assert says in found.why


def test_an_end_outside_of_any_test_is_not_the_candidates_fault() -> None:
    assert judge_verdict.of_process(1, False, "", "Traceback") is None


@pytest.mark.parametrize(("unexplained", "times", "word"), [(1, 2, ""), (2, 2, "FAIL"), (0, 1, "")])
def test_an_end_that_nobody_explains_is_tried_once_more(
    monkeypatch: pytest.MonkeyPatch, unexplained: int, times: int, word: str
) -> None:
    tried: list[str] = []

    def tests(_: judge_run.Runs, run: judge_run.Run) -> judge_run.Outcome:
        tried.append(run.name)
        ended = judge_verdict.of_process(1, False, "t", "") if len(tried) <= unexplained else None
        return judge_run.Outcome(ended)

    monkeypatch.setattr(judge_run.Runs, "_tests", tests)
    runs = judge_run.Runs(SimpleNamespace())  # type: ignore[arg-type]
    found = runs.start(judge_run.Run("plain", Path(), "brief"))()
    runs.end()
    assert (len(tried), found.verdict.word if found.verdict else "") == (times, word)


def test_a_candidate_that_real_servers_are_not_asked_of_is_not_undecided() -> None:
    told: dict[str, Any] = {"code": 0, "node": "", "text": "", "calls": {"a test": 0}}
    verdict = judge_verdict.of_report(told, "")
    assert verdict is not None
    assert verdict.word == "UNDECIDED"
    assert judge_verdict.of_report(told, "", may_rest=True) is None


def test_an_error_of_the_keeper_is_not_the_candidates_fault() -> None:
    assert (
        judge_verdict.of_process(judge_verdict.KEEPER, False, "t", "judge, an error of its own: no process\n") is None
    )
    with pytest.raises(JudgeError, match="an error of the judge's own"):
        judge_run.of_native(judge_verdict.KEEPER, "ours: it crashes\n")


def test_an_error_of_the_keeper_in_a_world_is_not_the_candidates_fault(tmp_path: Path) -> None:
    program = tmp_path / "world"
    program.write_text("#!/bin/sh\necho 'judge, an error of its own: no process (Success)' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(JudgeError, match="no process"):
        judge_world.run(Candidate(KINDS["rangelock"], Path("their.c"), tmp_path), program, 1)


def test_what_a_child_does_is_time_of_its_parent() -> None:
    """The world's runs are children, and may take minutes."""
    busy = "import time\nwhile time.process_time() < 0.3: pass\nprint('done', flush=True)\ninput()"
    parent = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {busy!r}])"
    command = [sys.executable, "-c", parent]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
        assert watch.cpu_seconds(process.pid) >= 0.25
        process.communicate("\n")


def test_native_inputs_give_a_verdict() -> None:
    wrong = judge_run.of_native(1, "judge: it differs\nafter it (4 bytes) = 00000000\n").verdict
    assert wrong is not None
    assert (wrong.word, wrong.why, wrong.input) == ("FAIL", "it differs", "after it (4 bytes) = 00000000")
    right = judge_run.of_native(0, "inputs 1000\ntally: purged=990 refused=10\n")
    assert (right.verdict, right.inputs, right.says) == (None, 1000, "1,000 inputs: 990 purged, 10 refused")


@pytest.mark.parametrize("unfit", [True, False])
def test_a_test_that_fails_with_ours_too_is_not_held_against_the_candidate(
    monkeypatch: pytest.MonkeyPatch, unfit: bool
) -> None:
    def tests(_: judge_run.Runs, run: judge_run.Run) -> judge_run.Outcome:
        fails = unfit or run.host == Path("theirs")
        return judge_run.Outcome(judge_verdict.Verdict("FAIL", "KeyError", "tests/t.py::test_it") if fails else None)

    monkeypatch.setattr(judge_run.Runs, "_tests", tests)
    runs = judge_run.Runs(SimpleNamespace())  # type: ignore[arg-type]
    found = runs.start(judge_run.Run("plain", Path(), "brief", host=Path("theirs"), control=Path("ours")))().verdict
    runs.end()
    assert found is not None
    assert found.word == ("BROKEN" if unfit else "FAIL")


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ({"variant": "candidate"}, True),
        ({"entry": "purge candidate"}, True),
        ({"variant": Variant("candidate", "a row of the table", True)}, True),
        ({"variant": "scalar"}, False),
        ({"page": "candidates"}, False),
        ({}, True),
    ],
)
def test_tests_with_the_candidate_and_those_that_loop_are_chosen(given: dict[str, Any], chosen: bool) -> None:
    order = judge_child.Order(["t.py"], ["t.py::test_it"] if not given else [], "", os.devnull)
    item = SimpleNamespace(nodeid="t.py::test_it", callspec=SimpleNamespace(params=given))
    assert judge_child.Plugin(order).concerns(item) is chosen  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_the_row_that_a_candidate_stands_beside_may_be_chosen(kind: Kind) -> None:
    table = kind.table().read_text().partition(f"pgq_{kind.name}_variants[] = {{")[2]
    first = re.findall(r'{"(\w+)"', table)[0]
    other = kind_of(kind.name, first)
    assert other.row.startswith(f'"{first}", ')
    assert other.variant != kind.variant


def place(upstream: float, mine: float, other: float | None = None, **config: str) -> judge_speed.Place:
    """Where a candidate of so many ns stands."""
    table = Goals(quick=[], roles=[Roles(upstream=["old", "older"], ours=["slow", "fast", "absent"])])
    times = {"old": upstream, "older": 2 * upstream, "slow": 9.0, "fast": 4.0, "candidate": mine} | (
        {"other": other} if other else {}
    )
    return judge_speed.place(config, {variant: [ns] * judge_speed.ROUNDS for variant, ns in times.items()}, table)


def test_a_candidate_stands_beside_the_faster_upstream_and_the_best_of_ours() -> None:
    found = place(6.0, 2.0, n="10")
    assert (found.upstream, found.best, found.ns) == ("old", "fast", 6.0)
    assert (found.to_upstream.median, found.to_best.median, found.slower) == (3.0, 2.0, False)
    assert found.as_dict()["to_upstream"]["samples"] == judge_speed.ROUNDS
    assert found.as_dict()["to_other"] is None


@pytest.mark.parametrize(("mine", "slower"), [(6.0, False), (6.2, False), (6.5, True)])
def test_slower_is_more_than_a_kernel_differs_from_itself(mine: float, slower: bool) -> None:
    assert place(6.0, mine).slower == slower


@pytest.mark.tools
def test_speed_is_measured_where_the_table_of_the_row_says(tmp_path: Path) -> None:
    """The kind with the fewest configurations: each has upstream, ours and the candidate. No ratio is judged here."""
    kind = next(kind for name, kind in KINDS.items() if name.endswith("need_update"))
    (tmp_path / "mine.c").write_text(kind.template())
    told = run(kind.name, tmp_path / "mine.c", "--seed", "1")
    found = json.loads(Path("build/judge/mine.json").read_text())
    assert found["verdict"]["word"] in ("PASS", "SLOWER"), told.stdout + told.stderr
    assert found["cpu"]
    assert found["commit"]
    (only,) = found["speed"]
    assert only["config"]["n"] == "1"
    assert only["to_upstream"]["samples"] == judge_speed.ROUNDS
    assert f"{only['to_upstream']['median']:.2f} to " in found["verdict"]["why"]
