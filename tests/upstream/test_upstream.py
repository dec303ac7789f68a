# SPDX-License-Identifier: PostgreSQL
"""What puts our kernels into upstream's text: it finds what it names, and says clearly what it does not find.

The suites themselves run in `make check-upstream`.
"""

import subprocess
from pathlib import Path

import pytest

from tests.upstream import kinds, text
from tests.upstream.__main__ import SUITES, Compared, named
from tests.upstream.build import Ran, count_tests
from tests.upstream.kinds import Kind
from tests.upstream.mends import Tried
from tests.upstream.text import Edit, TextError
from tools.drift import functions, source

# A file as upstream lays it out, and nothing of upstream.
FILE = """\
/*
 * sum.c
 */
#include "postgres.h"

#ifdef SOME
#include "some.h"
#endif
#include "last.h"

static int	sum(int *a, int n);

/*
 * sum: not { a brace
 */
static int
sum(int *a, int n)
{
	int			s = 0;

	/* the for (i loop */
	for (int i = 0; i < n; i++)
	{
		if (a[i] > 0)
			s += a[i];		/* ; */
	}

	/* for the second time */
	for (int i = 0; i < n; i++)
		s += call(a[i],
				";}");

	return s;
}

int
other(void)
{
	return 1;
}
"""
KINDS = kinds.load()


def body() -> str:
    _, start, end = text.span(FILE, "sum")
    return FILE[start:end]


def test_a_function_is_found_whole() -> None:
    start, inside, end = text.span(FILE, "sum")
    assert FILE[start:].startswith("static int\nsum(int *a, int n)\n{")
    assert FILE[inside:end].startswith("{\n\tint")
    assert FILE[inside:end].endswith("return s;\n}\n")


def test_a_function_that_is_not_there_is_told() -> None:
    with pytest.raises(TextError, match="there is no function product"):
        text.span(FILE, "product")
    with pytest.raises(TextError, match="there is no function call"):
        text.span(FILE, "call")  # called, and not defined


def test_a_statement_goes_with_its_block_and_its_comment() -> None:
    edit = Edit(at="for (int i", put="instead", text="\tours();\n")
    after = text.edited(body(), edit)
    assert "the for (i loop" not in after
    assert "s += a[i]" not in after
    assert "\n\n\tours();\n\n\t/* for the second time */\n" in after


def test_a_statement_that_is_not_there_is_told() -> None:
    with pytest.raises(TextError, match=r"0 statements begin with `while \(n`, number 1 is needed"):
        text.edited(body(), Edit(at="while (n", put="instead"))
    with pytest.raises(TextError, match="2 statements begin with `for `, number 3 is needed"):
        text.edited(body(), Edit(at="for ", nth=3, put="instead"))


def test_the_header_is_included_last_and_under_no_condition() -> None:
    assert '#include "last.h"\n#include "ours.h"\n' in text.with_include(FILE, "ours.h")
    header = '#ifndef A_H\n#define A_H\n#include "c.h"\n#ifdef X\n#include "x.h"\n#endif\n#endif\n'
    assert '#include "c.h"\n#include "ours.h"\n#ifdef X' in text.with_include(header, "ours.h")
    with pytest.raises(TextError, match="includes nothing"):
        text.with_include("int a;\n", "ours.h")


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


def test_unknown_names_are_told() -> None:
    with pytest.raises(ValueError, match="there is no nothing; there are: "):
        kinds.chosen(KINDS, "nothing")
    with pytest.raises(ValueError, match="there is no suite nothing; there are: regress isolation"):
        named("regress nothing")
    assert named("") == list(SUITES)


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
