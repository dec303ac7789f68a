# SPDX-License-Identifier: PostgreSQL
"""What puts our kernels into upstream's text: what it makes of a function that it knows, and of another one.

The suites themselves run in `make check-upstream`.
"""

import subprocess
from pathlib import Path

import pytest

from tests.upstream import kinds
from tests.upstream.__main__ import SUITES, Compared
from tests.upstream.build import Ran, count_tests
from tests.upstream.kinds import Kind
from tests.upstream.mends import Tried
from tools.drift import functions, source

# A file as upstream lays it out, and nothing of upstream.
FILE = """\
#include "postgres.h"

int
sum(int *a, int n)
{
	int			s = 0;

	for (int i = 0; i < n; i++)
		if (a[i] > 0)
			s += a[i];
	return s;
}
"""
KINDS = kinds.load()


# ---- kinds ----


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout that has sum.c, and a table of what we follow that knows it as that of 15."""
    (tmp_path / "sum.c").write_text(FILE)
    sums = {"15": source.checksum(source.definition(FILE, "sum")), "16": "0" * 64}
    entry = functions.Followed(name="sum", files=["sum.c"], follows=[], sums=sums)
    monkeypatch.setattr(functions, "load", lambda stem: [entry])
    return tmp_path


def kind(majors: list[str], at: str = "for (int i") -> Kind:
    function = {"name": "sum", "majors": majors, "edit": [{"at": at, "put": "instead", "text": "\tours();"}]}
    return Kind.model_validate(
        {"name": "k", "stem": "s", "says": "", "symbol": "pgq_k", "variant": [{"function": [function]}]}
    )


def test_a_known_function_is_changed(checkout: Path) -> None:
    texts, left_out = kinds.put_in([kind(["15", "16"])], checkout)
    assert left_out == {}
    assert "\tours();\n" in texts[Path("sum.c")]
    patch = kinds.patch(texts, checkout)
    assert "--- a/sum.c\n+++ b/sum.c\n" in patch
    assert '+#include "pgquern.h"\n' in patch
    assert (checkout / "sum.c").read_text() == FILE


def test_a_patch_is_taken_by_git_am(checkout: Path) -> None:
    git = ["git", "-C", str(checkout), "-c", "user.name=a", "-c", "user.email=a@localhost"]
    for command in (["init", "-q"], ["add", "sum.c"], ["commit", "-qm", "before"]):
        subprocess.run([*git, *command], check=True)
    texts, _ = kinds.put_in([kind(["15", "16"])], checkout)
    told = kind(["15", "16"]).model_copy(update={"says": "sum by ours"})
    mail = kinds.mail([told], texts, checkout, ["a fact of 7 us"])
    subprocess.run([*git, "am", "-q"], input=mail, text=True, check=True)
    assert (checkout / "sum.c").read_text() == texts[Path("sum.c")]
    message = subprocess.run([*git, "log", "-1", "--format=%B"], capture_output=True, text=True, check=True).stdout
    assert message.startswith("sum by ours\n\na fact of 7 us\n\nBuild with\n  ./configure")


def test_a_function_that_is_not_as_expected_is_left_out_and_told(checkout: Path) -> None:
    (checkout / "sum.c").write_text(FILE.replace("a[i] > 0", "a[i] > 1"))
    texts, left_out = kinds.put_in([kind(["15", "16"])], checkout)
    assert texts == {}
    assert left_out["k"].startswith("sum (sum.c) is not as in 15, 16. Read it; if our text fits it, add ")
    assert kinds.patch(texts, checkout) == ""


@pytest.mark.parametrize("name", KINDS)
def test_what_is_listed_is_there(name: str) -> None:
    """Each function is followed in the versions named; the suite exists; what counts calls knows the symbol."""
    kind = KINDS[name]
    for variant in kind.variant:
        for function in variant.function:
            entry = kinds.entry_of(kind, function)
            assert set(function.majors) <= set(entry.sums)
            assert function.majors or function.also
            assert bool(function.body) + function.remove + bool(function.edit) == 1
    assert bool(kind.symbol) + bool(kind.finding) == 1 or kind.alone
    if kind.finding:
        assert (Path("tests/findings") / kind.finding / "reproduce").exists()
    elif kind.symbol:
        assert kind.broken is not None
        assert kind.broken.suite in SUITES
        counting = Path("tests") / kind.stem / "upstream" / f"{name}.c"
        assert f"__wrap_{kind.symbol}(" in counting.read_text()
        assert f'"{name}"' in counting.read_text()


@pytest.mark.parametrize(
    ("control", "mended", "status", "says"),
    [
        (0, 1, "passed", ""),
        (0, 0, "failed", "it is lost in the mended server, and in the unchanged one: said"),
        (1, 1, "failed", "it is not lost in the mended server, and not in the unchanged one: said"),
        (2, 1, "skipped", "said"),
    ],
)
def test_a_mend_must_end_a_loss_that_there_was(control: int, mended: int, status: str, says: str) -> None:
    tried = Tried(KINDS[next(iter(KINDS))], control, mended, 1.0, "said")
    assert (tried.status, tried.reason) == (status, says)


# ---- sources and suites ----


def test_tests_are_counted_in_all_their_forms() -> None:
    assert count_tests("=====\n All 217 tests passed. \n=====\n") == 217
    assert count_tests("# All 222 tests passed.\n") == 222
    assert count_tests(" All 13 tests passed. \nt/001.pl .. ok\nFiles=2, Tests=6,  3 wallclock secs\n") == 19
    assert count_tests("make: Nothing to be done for 'check'.\n") == 0


def ran(code: int, tests: int) -> Ran:
    return Ran(code, tests, 1.0, Path("log"))


@pytest.mark.parametrize(
    ("control", "ours", "says"),
    [
        (ran(0, 7), ran(0, 7), ""),
        (ran(0, 7), ran(2, 6), "failed with our kernels: log"),
        (ran(2, 7), ran(2, 7), "failed with our kernels; the unchanged server fails, too: log"),
        (ran(2, 6), ran(0, 7), "the unchanged server fails, so nothing is compared: log"),
        (ran(0, 7), ran(0, 6), "6 tests, but 7 of the unchanged server"),
        (ran(0, 0), ran(0, 0), "0 tests, but 0 of the unchanged server"),
    ],
)
def test_only_the_same_tests_all_passed_are_a_success(control: Ran, ours: Ran, says: str) -> None:
    assert Compared("regress", control, ours, {}).reason == says
    assert Compared("regress", control, ours, {}, starts=2).reason == says.replace("with our kernels", "on the mount")


def test_servers_that_never_start_on_the_mount_are_no_success() -> None:
    assert Compared("regress", ran(0, 7), ran(0, 7), {}, starts=0).reason == "no server started on the mount"
