# SPDX-License-Identifier: PostgreSQL
"""Where a candidate comes from: a file, a folder of several C files, or a patch of one of our variants.

A patch is a unified diff of files in csrc/. It is applied to a copy. What it changes is compiled there, with the
function of the variant under the candidate's name; all else that these files define stays unseen.
"""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tools.common.kernels import kernel_sources
from tools.drift import functions
from tools.drift.source import CheckoutError, definition, definitions, version
from tools.judge.build import CPLUSPLUS, Candidate
from tools.judge.kinds import SOURCES, JudgeError, Kind, kind_of, kinds

OBJECTS = Path("build/obj")
NEWEST = "99"
CHANGED = re.compile(r"^\+\+\+ (?P<side>b/)?(?P<file>csrc/[^\s]+)", re.MULTILINE)
Variants = dict[Path, list[tuple[str, str]]]
"""By source file, the variants whose functions it holds: kind, name."""


def of_source(candidate: Candidate) -> Candidate:
    """The same; if its source is a folder, with that folder's files. JudgeError: there is no C or C++."""
    sources = {".c", *CPLUSPLUS}
    if not candidate.source.is_dir():
        if candidate.source.suffix not in sources or not candidate.source.is_file():
            raise JudgeError(
                f"{candidate.source} is no C or C++ file: its name must end in {', '.join(sorted(sources))},"
                " and it must be a plain file."
            )
        return candidate
    parts = sorted(path for path in candidate.source.iterdir() if path.suffix in sources and path.is_file())
    if not parts:
        raise JudgeError(f"There is no C or C++ file in {candidate.source}.")
    return replace(candidate, parts=tuple(parts))


def variants_of(kind: Kind) -> list[str]:
    """The names in the kind's table."""
    rows = kind.table().read_text().partition(f"pgq_{kind.name}_variants[] = {{\n")[2].partition("\n};")[0]
    return re.findall(r'\{"(\w+)"', rows)


def where() -> Variants:
    """Which file holds which variant."""
    files: dict[str, Path] = {}
    for source in kernel_sources():
        object_file = OBJECTS / source.relative_to(SOURCES).with_suffix(".o")
        told = subprocess.run(["nm", "--defined-only", "-g", object_file], capture_output=True, text=True, check=True)
        files |= dict.fromkeys(re.findall(r" T (\w+)$", told.stdout, re.MULTILINE), source)
    found: Variants = {}
    for name, kind in kinds().items():
        for variant in variants_of(kind):
            if file := files.get(kind_of(name, variant).variant):
                found.setdefault(file, []).append((name, variant))
    return found


def meant(changed: Sequence[Path], kind: str, like: str) -> tuple[str, str, Path]:
    """Of the variants that a patch changes the one that is meant, and its file. JudgeError: none, or several."""
    held = where()
    files = [path for path in changed if path in held]
    # A header belongs to all files of its stem that include it.
    headers = [path.relative_to(SOURCES) for path in changed if path.suffix == ".h"]
    files += [path for path in held if any(f'"{header}"' in path.read_text() for header in headers)]
    found = {(name, variant, path) for path in files for name, variant in held[path]}
    chosen = sorted(row for row in found if kind in ("", row[0]) and like in ("", row[1]))
    if len(chosen) == 1:
        return chosen[0]
    if not found:
        raise JudgeError("The patch changes no variant: it must change a file of csrc/ that holds one, or its header.")
    listed = "; ".join(f"KIND={name} LIKE={variant}" for name, variant, _ in chosen or sorted(found))
    raise JudgeError(f"The patch changes several variants: choose with {listed}.")


def of_patch(
    patch: Path, folder: Path, kind: str, like: str, *, compiler: str, flags: str, isa: Mapping[str, str]
) -> Candidate:
    """A variant of ours, changed by a patch. JudgeError: it does not apply, or several variants could be meant."""
    text, tree = patch.read_text(), folder / "patched"
    changed = [Path(match["file"]) for match in CHANGED.finditer(text)]
    name, variant, file = meant(changed, kind, like)
    shutil.copytree(SOURCES, tree / SOURCES, ignore=shutil.ignore_patterns("ffi", "__pycache__"))
    strip = "-p1" if any(match["side"] for match in CHANGED.finditer(text)) else "-p0"
    run = subprocess.run(
        ["git", "apply", strip, str(patch.resolve())], cwd=tree, capture_output=True, text=True,
        env=os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.resolve())},
    )  # fmt: skip
    if run.returncode:
        raise JudgeError(f"{patch} does not apply to this clone:\n{run.stderr.strip()}")
    parts = tuple(dict.fromkeys(tree / path for path in (file, *changed) if path.suffix == ".c"))
    level = next((level for level in isa if file.stem.endswith(level)), "")
    all_flags = shlex.join([*shlex.split(isa.get(level, "")), *shlex.split(flags)])
    found = Candidate(kind_of(name, variant), patch, folder, compiler, all_flags)
    return replace(found, parts=parts, tree=tree / SOURCES, alias=found.kind.variant)


def of_tree(
    tree: Path, patch: Path | None, folder: Path, kind: str, like: str = "", *, compiler: str, flags: str
) -> Candidate:
    """Upstream's own function in a tree of PostgreSQL's, perhaps changed by a patch. JudgeError: it is not there."""
    found = kind_of(kind, like)
    if not found.cut:
        wrapped = ", ".join(name for name, one in kinds().items() if one.cut)
        raise JudgeError(f"No function of PostgreSQL's is wrapped as the kind {kind}: choose one of {wrapped}.")
    files = sorted({file for entry in functions.load(found.stem) if entry.name in found.cut for file in entry.files})
    there = [file for file in files if (tree / file).is_file()]
    if not there:
        raise JudgeError(f"{tree} is no tree of PostgreSQL's: it has no {' or '.join(files)}.")
    for file in there:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tree / file, folder / file)
    if patch:
        only = [f"--include={file}" for file in there]
        run = subprocess.run(
            ["git", "apply", *only, str(patch.resolve())], cwd=folder, capture_output=True, text=True,
            env=os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent.resolve())},
        )  # fmt: skip
        if run.returncode:
            raise JudgeError(f"{patch} does not apply to {tree}:\n{run.stderr.strip()}")
        if all((folder / file).read_bytes() == (tree / file).read_bytes() for file in there):
            raise JudgeError(f"{patch} changes nothing of {' or '.join(there)}.")
    texts = [(folder / file).read_text(errors="replace") for file in there]
    cut = {name: next(filter(None, (definition(text, name) for text in texts)), "") for name in found.cut}
    if twice := [name for name in found.cut for text in texts if len(set(definitions(text, name))) > 1]:
        raise JudgeError(f"There are several {twice[0]} in {' or '.join(there)}, as behind an #if: leave one.")
    lacks = [name for name, text in cut.items() if not text]
    if len(lacks) == len(cut):
        raise JudgeError(f"{tree} has no {' and no '.join(lacks)}.")
    last = [name for name, text in cut.items() if text][-1]
    try:
        major = re.findall(r"\d+", version(tree))[0]
    except CheckoutError:  # a part of a tree
        major = NEWEST
    for first, older in found.before.items():
        if not like and int(major) < int(first):
            found = kind_of(kind, older)
    defines = f"#define UPSTREAM_MAJOR {major}\n#define UPSTREAM {last}\n"
    (folder / "upstream.h").write_text("\n\n".join((*filter(None, cut.values()), defines)))
    shutil.copy(found.wrapper, folder / "upstream.c")
    shown = patch or Path(there[0])
    candidate = Candidate(found, shown, folder, compiler, flags, parts=(folder / "upstream.c",))
    return replace(candidate, as_upstream=True)
