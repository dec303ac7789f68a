# SPDX-License-Identifier: PostgreSQL
"""The golden files of each folder: each required statement and each definition that it reaches, as Coq prints them."""

from collections.abc import Mapping
from pathlib import Path

from proofs.audit.coq import CLOSED, parse_blocks
from proofs.audit.sources import Audit, file_of, stem_of

STATEMENTS = "Assumptions.expected"
DEFINITIONS = "Definitions.expected"


def assumptions_of(said: str) -> str:
    """The assumptions part of what Coq said: the closed line, or all from "Axioms:" on."""
    return CLOSED if said.endswith(CLOSED) else said[max(said.rfind("Axioms:"), 0) :]


def check_closed(said: Mapping[str, str], audit: Audit) -> None:
    """That no theorem rests on an assumption."""
    for name, text in said.items():
        if not text.endswith(CLOSED):
            audit.problem(stem_of_name(name), f"{name} rests on assumptions:\n{assumptions_of(text)}")


def stem_of_name(name: str) -> str:
    return stem_of(file_of(name.rsplit(".", 1)[0]))


def check_golden(source: Path, kind: str, said: Mapping[str, str], audit: Audit, *, whole: bool, accept: bool) -> None:
    """Compare what Coq said with the file `kind` of each folder, or rewrite it.

    whole: `said` is all that there is, so a golden file must have nothing else; otherwise it is a part.
    """
    folders = {name.split(".")[1] for name in said}
    folders |= {path.parent.name for path in source.glob(f"*/{kind}")} if whole else set()
    for folder in sorted(folders):
        golden = source / folder / kind
        mine = {name: text for name, text in said.items() if name.split(".")[1] == folder}
        expected = parse_blocks(golden.read_text()) if golden.exists() else {}
        if accept:
            kept = {} if whole else {name: text for name, text in expected.items() if name not in mine}
            expected = mine | kept
            golden.write_text("\n".join(f"== {name}\n{text}\n" for name, text in expected.items()))
            if not expected:
                golden.unlink()
        compare(f"{folder}/{kind}", mine, expected, audit)
        for name in sorted(set(expected) - set(mine)) if whole else []:
            audit.problem(stem_of_name(name), f"{folder}/{kind} lists {name}, which is claimed no longer")


def compare(golden: str, said: Mapping[str, str], expected: Mapping[str, str], audit: Audit) -> None:
    for name, text in said.items():
        if expected.get(name) != text:
            audit.problem(
                stem_of_name(name),
                f"{name} differs from {golden}. Coq says:\n{text}\nReview the change; `make prove-accept` accepts it.",
            )
