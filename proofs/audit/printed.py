# SPDX-License-Identifier: PostgreSQL
"""The C that is printed of a program in Coq, against the file in csrc/.

A stem that has such programs has a STEM/Generated.v, whose list `printed` says which text stands in which file. Coq
computes the text and clang-format lays it out.
"""

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from proofs.audit import coq, hashes
from proofs.audit.sources import PREFIX, Audit, Theorem, stem_of

GENERATED = "Generated.v"
PAIR = re.compile(r'\("((?:[^"]|"")*)"(?:%string)?,\s*"((?:[^"]|"")*)"(?:%string)?\)')


class UnprintedError(RuntimeError):
    """Coq or clang-format said something else than a text."""


def laid_out(path: str, text: str) -> str:
    """The text as the house has C."""
    command = [str(Path(sys.executable).with_name("clang-format")), f"--assume-filename={path}"]
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if run.returncode:
        raise UnprintedError(f"clang-format: {run.stderr.strip()}")
    return run.stdout


def texts(said: str) -> dict[str, str]:
    """The pairs in what Coq prints of a list of (path, text)."""
    return {path: text.replace('""', '"') for path, text in PAIR.findall(said)}


def list_of(file: str) -> str:
    """The list of a Generated.v, by its whole name."""
    return f"{PREFIX}.{file.removesuffix('.v').replace('/', '.')}.printed"


def check_programs(terms: Mapping[str, str], theorems: Sequence[Theorem], lists: Sequence[str], audit: Audit) -> None:
    """That a theorem speaks of all that these lists print of their own stem. terms: those of theorems and lists."""
    seen = hashes.behind(terms, (theorem.qualified for theorem in theorems)) | {*lists}
    for each in lists:
        folder = each.rsplit(".", 2)[0]
        for name in sorted(name for name in set(terms) - seen if name.startswith(f"{folder}.")):
            audit.problem(folder.split(".")[1], f"{each} prints of {name}, and no required theorem speaks of that")


def printed(build: Path, file: str) -> dict[str, str]:
    """Each path of csrc/ that a Generated.v writes, with the text that belongs there. The file is compiled."""
    name = list_of(file)
    lines = [
        "From Coq Require Import String List.",
        *coq.modules([name]),
        f'Goal True. let n := eval vm_compute in (List.length {name}) in idtac "files" n. exact I. Qed.',
        f"Eval vm_compute in {name}.",
    ]
    said = coq.coqc(build, f"printed_{stem_of(file)}", lines)
    found = texts(said)
    count = re.search(r"^files (\d+)", said, re.M)
    if count is None or int(count.group(1)) != len(found) or not found:
        raise UnprintedError(f"{file}: Coq prints no list of files and texts:\n{said[-2000:]}")
    return {path: laid_out(path, text) for path, text in found.items()}


def check_printed(root: Path, build: Path, files: Sequence[str], audit: Audit, *, accept: bool) -> None:
    """That each printed file says what its program says; with accept, it is written."""
    for file in [file for file in files if file.endswith(f"/{GENERATED}")]:
        try:
            wanted = printed(build, file)
        except UnprintedError as error:
            audit.problem(stem_of(file), str(error))
            continue
        for found in sorted((root / "csrc" / stem_of(file)).glob("*.h")):
            name = str(found.relative_to(root))
            if name not in wanted and f"Printed from proofs/{file} " in found.read_text():
                audit.problem(stem_of(file), f"{name} says that proofs/{file} prints it, and that does not")
        for path, text in wanted.items():
            target = root / path
            if accept:
                target.write_text(text)
            elif not target.exists() or target.read_text() != text:
                audit.problem(
                    stem_of(file),
                    f"{path} is not what proofs/{file} prints: change the program there, and run `make generate`",
                )
