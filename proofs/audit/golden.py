# SPDX-License-Identifier: PostgreSQL
"""The golden file of each folder: a line for each required statement and each definition that it reaches.

A line has the name and the SHA-256 of the term. What is reviewed is the source; the line says that the source is still
what was reviewed.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from proofs.audit.coq import CLOSED
from proofs.audit.sources import GROUND, SHARED, Audit

GOLDEN = "Golden.expected"


def assumptions_of(said: str) -> str:
    """The assumptions part of what Coq said: the closed line, or all from "Axioms:" on."""
    return CLOSED if said.endswith(CLOSED) else said[max(said.rfind("Axioms:"), 0) :]


def check_closed(said: Mapping[str, str], audit: Audit) -> None:
    """That no theorem rests on an assumption."""
    for name, text in said.items():
        if not text.endswith(CLOSED):
            audit.problem(stem_of_name(name), f"{name} rests on assumptions:\n{assumptions_of(text)}")


def stem_of_name(name: str) -> str:
    """The stem of Pgquern.FOLDER.FILE.NAME, also where NAME lies in a module of the file."""
    _, folder, file, *_ = name.split(".")
    return file.lower() if folder == SHARED else folder


def read(golden: Path) -> dict[str, str]:
    lines = golden.read_text().splitlines() if golden.exists() else []
    return dict(line.split(" ", 1) for line in lines)


def check_golden(source: Path, terms: Mapping[str, str], audit: Audit, *, stem: str, accept: bool) -> None:
    """Compare the terms with the golden file of each folder, or rewrite it.

    stem: `terms` is what this stem's theorems reach; "": what all theorems reach. A golden file must have nothing
    else. One stem alone cannot tell this of the folders on which all stems rest.
    """
    digests = {name: hashlib.sha256(term.encode()).hexdigest() for name, term in terms.items()}
    folders = {name.split(".")[1] for name in terms}
    folders |= {path.parent.name for path in source.glob(f"*/{GOLDEN}")} if not stem else set()
    for folder in sorted(folders):
        golden = source / folder / GOLDEN
        mine = {name: digest for name, digest in digests.items() if name.split(".")[1] == folder}
        expected = read(golden)
        whole = not stem or folder not in GROUND
        if accept:
            expected = mine if whole else expected | mine
            golden.write_text("".join(f"{name} {digest}\n" for name, digest in sorted(expected.items())))
            if not expected:
                golden.unlink()
        for name, digest in mine.items():
            if expected.get(name) != digest:
                audit.problem(stem_of_name(name), differs(name, terms[name]))
        for name in sorted(set(expected) - set(mine)) if whole else []:
            audit.problem(stem_of_name(name), f"{folder}/{GOLDEN} lists {name}, which is claimed no longer")


def differs(name: str, term: str) -> str:
    return (
        f"{name} is not what {name.split('.')[1]}/{GOLDEN} has. Coq has now:\n{term[:2000]}\n"
        "Review the change in the source; `make prove ACCEPT=1` accepts it."
    )
