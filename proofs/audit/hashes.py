# SPDX-License-Identifier: PostgreSQL
"""The hashes of required-theorems.txt: of each theorem's sentence and statement, and of every definition behind it.

A line has a name and a SHA-256. What is reviewed is the source; the line says that the source is still what was
reviewed, and `git diff` says what is another. A file has one, too: of what it prints as C, or of what OCaml
realises in it.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from proofs.audit.coq import CLOSED
from proofs.audit.sources import PREFIX, REQUIRED, SHARED, Audit, pinned, stem_of


def assumptions_of(said: str) -> str:
    """The assumptions part of what Coq said: the closed line, or all from "Axioms:" on."""
    return CLOSED if said.endswith(CLOSED) else said[max(said.rfind("Axioms:"), 0) :]


def check_closed(said: Mapping[str, str], audit: Audit) -> None:
    """That no theorem rests on an assumption."""
    for name, text in said.items():
        if not text.endswith(CLOSED):
            audit.problem(stem_of_name(name), f"{name} rests on assumptions:\n{assumptions_of(text)}")


def stem_of_name(name: str) -> str:
    """The stem of Pgquern.FOLDER.FILE.NAME, also where NAME lies in a module of the file; or of a file."""
    if name.endswith(".v"):
        return stem_of(name)
    _, folder, file, *_ = name.split(".")
    return file.lower() if folder == SHARED else folder


def behind(terms: Mapping[str, str], names: Iterable[str]) -> set[str]:
    """These names, and all that their terms mention, directly or through others; constructors go with their types."""
    owners = {made: name for name, term in terms.items() for made in re.findall(r" \| (\S+) : ", term)}
    todo = [*names]
    seen = set(todo)
    while todo:
        mentioned = {owners.get(name, name) for name in re.findall(rf"\b{PREFIX}\.[\w.']+", terms.get(todo.pop(), ""))}
        todo += mentioned - seen
        seen |= mentioned
    return seen


def computed(terms: Mapping[str, str], names: Iterable[str], sentences: Mapping[str, str]) -> dict[str, str]:
    """Of each name one hash for all that it rests on."""
    found = {}
    for name in names:
        rests_on = sorted(behind(terms, [name]) & terms.keys())
        text = "\n".join([sentences.get(name, ""), name, *(f"{each} {terms[each]}" for each in rests_on)])
        found[name] = hashlib.sha256(text.encode()).hexdigest()
    return found


def check(source: Path, found: Mapping[str, str], audit: Audit, *, stem: str, accept: bool) -> None:
    """Compare with required-theorems.txt, or write it. stem: what was found is this stem's alone."""
    listed = pinned(source)
    gone = {name for name in listed if name.endswith(".v") and stem in ("", stem_of_name(name))} - found.keys()
    if accept:
        lines = (source / REQUIRED).read_text().splitlines()
        kept = [line for line in lines if line.split(" ")[0] not in gone]
        written = [f"{name} {found[name]}" if (name := line.split(" ")[0]) in found else line for line in kept]
        written += [f"{name} {digest}" for name, digest in found.items() if name not in listed]
        (source / REQUIRED).write_text("\n".join(written) + "\n")
        return
    for name in sorted(gone):
        audit.problem(stem_of_name(name), f"{REQUIRED} lists {name}, which is claimed no longer")
    for name, digest in found.items():
        if listed.get(name) != digest:
            audit.problem(
                stem_of_name(name),
                f"{name} is not what {REQUIRED} has: it is another, or a definition that it rests on, or its sentence. "
                "`git diff` says what changed; `make prove ACCEPT=1` accepts it.",
            )
