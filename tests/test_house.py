# SPDX-License-Identifier: PostgreSQL
"""The rules of the house that a machine can check: licence lines, layers, the top folder, forbidden words.

That no cell of the matrix of stems and layers is missing without a reason is checked by `make lint`.
"""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tools.common import matrix

ROOT = Path(__file__).parent.parent
SPDX = "SPDX-License-Identifier: PostgreSQL"
SOURCES = {".py", ".c", ".h", ".cc", ".v", ".tla", ".mk", ".sh", ".ml", ".typ"}
FOLDERS = {"spec", "proofs", "ref", "csrc", "tests", "bench", "tools", ".ci", ".github"}
DOCUMENTS = {"README.md", "CLAIMS.md", "SOUNDNESS.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE"}
SETTINGS = {
    "Makefile", "pyproject.toml", "requirements.lock", "requirements-alone.lock",
    ".gitignore", ".clang-format", ".editorconfig", ".zenodo.json", "Containerfile", ".dockerignore",
}  # fmt: skip

# What a layer may import of the house, beside itself. The standard library is free to all.
HOUSE = {"spec", "proofs", "ref", "pgquern", "_pgquern", "tests", "bench", "tools"}
MAY_IMPORT = {
    "ref": {"ref"},
    "csrc": {"pgquern", "_pgquern"},
    "tools": {"tools", "ref", "pgquern", "_pgquern"},
    "spec": {"spec", "tools"},
    "proofs": {"proofs", "tools"},
    "tests": {"tests", "ref", "pgquern", "_pgquern", "tools", "spec.tools"},
    "bench": {"bench", "ref", "pgquern", "_pgquern", "tools"},
}
# Exceptions: what runs in real servers starts those of the tests; the test of a runner imports it.
# The report reads what layers list and have recorded.
EXCEPTIONS = {
    "bench/headlines.py": "tests.upstream",
    "bench/servers.py": "tests.upstream",
    "tools/trace/*.py": "tests.postgres",
    "tests/changes/*.py": "spec proofs",
    "tests/model/*.py": "spec",
    "tests/show/*.py": "spec",
    "tests/farm/*.py": "spec",
    "tests/test_defects.py": "spec",
    "tests/runners/findings.py": "spec",
    "tests/bench/*.py": "bench",
    "tests/report/*.py": "bench",
    "tests/judge/*.py": "bench",
    "tests/proofs/*.py": "proofs",
    "tests/*/judged.py": "bench",
    "tests/*/test_bench_*.py": "bench",
    "tools/judge/*.py": "bench tests.runners",
    "tools/report/*.py": "bench",
    "tools/show/*.py": "spec",
}
# Paths of one machine, notes to oneself, and proofs not done; each with a bracket, so that this file passes.
NEVER = re.compile(r"/[r]oot/|(?<![\w.])/[w]ork/|\b[T]ODO\b|\b[F]IXME\b|^\s*[A]dmitted\.", re.MULTILINE)

# A reader takes in a cell of a table at one look. What needs more words stands below the table.
WORDS_OF_A_CELL = 50
TABLES = ("README.md", "SOUNDNESS.md", "CLAIMS.md")

# Folders of what is generated; .gitignore has them, too.
GENERATED = {"build", ".git", "__pycache__", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache"}

# What may name a stem outside the stem's own files: documents, and the registries that CONTRIBUTING lists.
REGISTRIES = {
    "csrc/pgquern.h",  # includes each stem's public header
    "csrc/codes.def",  # includes each stem's status codes
    "proofs/_CoqProject",
    "proofs/required-theorems.txt",
    "proofs/outer-premises.txt",
    "tests/defects.toml",
    "tests/reports.toml",
    "tests/common/changes.toml",
}
# Documents may name stems, too.
DOCUMENTS_OF_ALL = {".md", ".cff", ".json", ".typ", ".bib"}
# A finding is a document about a stem: that of the model which found it.
FINDINGS = "tests/findings/"
# Where the name of a stem is a word of its own: the CPU's instruction, and a file of upstream.
OTHER_MEANING = {"csrc/rules.mk", "tests/judge/test_judge.py"}


def tracked() -> list[Path]:
    """What the repository holds; in a copy without git, all but what is generated."""
    run = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return [ROOT / name for name in run.stdout.split("\0") if name and (ROOT / name).is_file()]
    return [path for path in ROOT.rglob("*") if path.is_file() and not GENERATED & set(path.relative_to(ROOT).parts)]


FILES = tracked()
PYTHON = [path for path in FILES if path.suffix == ".py"]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports(text: str) -> set[str]:
    """What a Python source imports, anywhere in it: modules, and names of modules with these before them."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def beyond(found: set[str], allowed: set[str]) -> set[str]:
    """Of what is imported, that which lies in none of the allowed modules."""
    return {name for name in found if not any(f"{name}.".startswith(f"{module}.") for module in allowed)}


def exceptions(name: str) -> set[str]:
    """What a file may import beyond its layer."""
    return set(" ".join(modules for glob, modules in EXCEPTIONS.items() if fnmatch(name, glob)).split())


def long_cells(text: str) -> list[str]:
    """The cells of a document's tables that have too many words."""
    rows = [line.strip().strip("|") for line in text.splitlines() if line.startswith("|")]
    cells = [cell.strip() for row in rows for cell in re.split(r"(?<!\\)\|", row)]
    return [cell for cell in cells if len(cell.split()) > WORDS_OF_A_CELL]


def lost_links(text: str) -> set[str]:
    """The links of a document into itself that lead to none of its headings. A heading's anchor is made as GitHub does:
    letters, digits, _ and - are left, in lower case, and blanks become -."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return set(re.findall(r"\]\(#([^)]*)\)", text)) - anchors


def test_every_source_says_its_licence_first() -> None:
    def head(path: Path) -> str:
        return "\n".join(path.read_text().splitlines()[:2])  # a script has its interpreter in the first

    missing = [
        relative(path) for path in FILES if path.suffix in SOURCES or path.name == "Makefile" if SPDX not in head(path)
    ]
    assert missing == []


def test_nothing_else_lies_at_the_top() -> None:
    assert {relative(path).split("/")[0] for path in FILES} <= FOLDERS | DOCUMENTS | SETTINGS


def test_the_citation_has_a_date_only_once_it_is_released() -> None:
    released = "unreleased" not in (ROOT / "CHANGELOG.md").read_text().partition("\n## ")[2].partition("\n")[0]
    assert ("date-released" in (ROOT / "CITATION.cff").read_text()) == released


def test_all_documents_for_citing_name_one_version_and_each_stem() -> None:
    citation, zenodo = (ROOT / "CITATION.cff").read_text(), json.loads((ROOT / ".zenodo.json").read_text())
    of_package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    said = re.search(r"^version: (\S+)$", citation, re.MULTILINE)
    assert said is not None
    assert {said[1], zenodo["version"], of_package["version"]} == {of_package["version"]}
    title = re.search(r'^title: "(.*)"$', citation, re.MULTILINE)
    assert title is not None
    assert zenodo["title"] == title[1]
    keywords = set(re.findall(r"^  - (\S+)$", citation, re.MULTILINE))
    assert matrix.stems(ROOT)
    assert set(matrix.stems(ROOT)) <= keywords & set(zenodo["keywords"])


def test_nothing_is_written_that_never_should_be() -> None:
    found = {}
    for path in FILES:
        if path.suffix in SOURCES | {".md", ".toml", ".cfg", ".txt"} or path.name in ("Makefile", "run"):
            for match in NEVER.finditer(path.read_text()):
                found[relative(path)] = match.group()
    assert found == {}


def folders_of_commands() -> set[str]:
    """Folders of tools/ that are a stem's own: their commands.toml name it."""
    tables = {path.parent.name: tomllib.loads(path.read_text()) for path in ROOT.glob("tools/*/commands.toml")}
    return {folder for folder, commands in tables.items() if any("stem" in command for command in commands.values())}


def is_of_a_stem(path: Path, stems: Sequence[str]) -> bool:
    """Whether a file is a stem's own: it lies in a folder of the stem's name or of its commands, or has the name in its
    own."""
    folders = set(path.relative_to(ROOT).parts[:-1])
    if folders and path.relative_to(ROOT).parts[0] in ("tools", "tests") and folders & folders_of_commands():
        return True
    return bool(folders & set(stems)) or any(stem in path.name.lower() for stem in stems)


def test_no_generic_file_names_a_stem() -> None:
    stems = matrix.stems(ROOT)
    assert stems
    named = {}
    for path in FILES:
        is_free = path.suffix in DOCUMENTS_OF_ALL or relative(path) in REGISTRIES | OTHER_MEANING
        is_free |= relative(path).startswith(FINDINGS)
        if is_free or is_of_a_stem(path, stems):
            continue
        text = path.read_text(errors="replace").lower()
        if found := [stem for stem in stems if re.search(rf"(?<![a-z]){stem}(?![a-z])", text)]:
            named[relative(path)] = found
    assert named == {}


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_no_layer_imports_another(layer: str) -> None:
    """Exceptions are tests and bench, which import the oracle and the kernels' binding."""
    wrong = dict[str, set[str]]()
    for path in PYTHON:
        name = relative(path)
        if name.startswith(layer + "/"):
            allowed = MAY_IMPORT[layer] | exceptions(name)
            foreign = {one for one in beyond(imports(path.read_text()), allowed) if one.split(".")[0] in HOUSE}
            wrong |= {name: foreign} if foreign else {}
    assert wrong == {}


def test_the_oracle_imports_nothing_but_the_standard_library_and_numpy() -> None:
    allowed = set(sys.stdlib_module_names) | {"numpy", "ref"}
    oracle = [path for path in PYTHON if relative(path).startswith("ref/")]
    assert len(oracle) >= 4
    assert {relative(path): extra for path in oracle if (extra := beyond(imports(path.read_text()), allowed))} == {}


def test_imports_are_found_wherever_they_are() -> None:
    """The checks above can fail."""
    found = imports("import os.path\ndef f():\n    from tests.common.tally import tally\n    import ref.xid as x\n")
    assert found == {"os.path", "tests.common.tally.tally", "ref.xid"}
    assert beyond(found, {"os", "ref"}) == {"tests.common.tally.tally"}
    assert beyond(found, {"os", "ref", "tests.tall"}) == {"tests.common.tally.tally"}
    assert beyond(found, {"os", "ref", "tests.common.tally"}) == set()
    assert NEVER.search("cd {}work/main".format("/")) is not None
    assert NEVER.search("a network/workload") is None
    assert is_of_a_stem(ROOT / "spec" / "row" / "MCrow.tla", ["row"])
    assert not is_of_a_stem(ROOT / "spec" / "run.py", ["row"])


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_short_and_links_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text()
    assert long_cells(text) == []
    assert lost_links(text) == set()


def test_a_long_cell_and_a_lost_link_are_named() -> None:
    short, long = (" ".join(["word"] * number) for number in (WORDS_OF_A_CELL, WORDS_OF_A_CELL + 1))
    assert long_cells(f"{long} in a paragraph\n\n| a | b |\n|---|---|\n| {short} | {long} |\n") == [long]
    assert long_cells(f"| {short} \\| more | b |\n") == [f"{short} \\| more"]
    assert lost_links("## The `ring's` END_1\n[a](#the-rings-end_1) [b](#the-end) [c](other.md#there)\n") == {"the-end"}


def test_help_shows_the_targets_and_there_are_few() -> None:
    """A text stands behind ##day or ##more: another one would be shown by nobody."""
    rules = [path for path in FILES if path.name == "Makefile" or path.suffix == ".mk"]
    groups = [group for path in rules for group in re.findall(r"^[a-z][a-z-]*:.*?##(\w+)", path.read_text(), re.M)]
    for target, number in {"help": groups.count("day"), "help-all": len(groups)}.items():
        shown = subprocess.run(["make", target], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        assert len([line for line in shown.splitlines() if line.startswith("  make ")]) == number
    assert groups.count("day") <= 12 < len(groups) <= 30


def test_few_files_lie_at_the_top_of_the_tests() -> None:
    assert len([path for path in FILES if path.parent == ROOT / "tests"]) <= 15
