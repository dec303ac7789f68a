# SPDX-License-Identifier: PostgreSQL
"""The layers of the models and of the proofs, whose changes and killers spec/ and proofs/ have themselves."""

import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import cast

from proofs.changes import attempt
from spec.tools import changed, models, traces
from tests.changes.change import Change, Tried, Verdict

BUILD = Path("build")


class Outside:
    """A stem whose changes are prepared where they are tried."""

    def __init__(self, stem: str) -> None:
        self.stem = stem

    def prepare(self, change: Change) -> tuple[Verdict | None, bytes]:
        return None, b""


class Model(Outside):
    """A stem's models: a property of a small run must fail, or a state be reached no more."""

    @cached_property
    def row(self) -> changed.Row:
        runs = models.find(Path("spec"), self.stem)
        traces.generate(Path("spec"), BUILD)
        return changed.load(self.stem, runs, BUILD)

    def changes(self) -> Sequence[Change]:
        files = {Path(name).stem: f"spec/{name}" for name in self.row.texts}
        return [Change(files[c.module], c.edits, c.name, c.says, c.checksum) for c in self.row.changes]

    def reads(self) -> Sequence[str]:
        return [f"spec/{self.stem}", "spec/common", "spec/tools", "tests/changes"]

    def attempt(self, change: Change) -> Tried:
        """SANY may refuse it: then it is no change."""
        native = next(one for one in self.row.changes if one.name == change.name)
        tried = changed.attempt(self.row, native, BUILD, threading.Event())
        verdict = "refused" if tried.verdict == "invalid" else tried.verdict
        return Tried(change, verdict, tried.by)


class Proof(Outside):
    """A stem's definitions in Coq: a proof must stop."""

    @cached_property
    def row(self) -> attempt.Row:
        return attempt.load(self.stem, Path("proofs"), BUILD / "proofs")

    def changes(self) -> Sequence[Change]:
        return [Change(f"proofs/{c.file}", c.edits, c.name, c.says, c.checksum) for c in self.row.changes]

    def reads(self) -> Sequence[str]:
        proofs = ["common", "changes", "required-theorems.txt", self.stem]
        return [*(f"proofs/{each}" for each in proofs), "tests/changes"]

    def attempt(self, change: Change) -> Tried:
        """The kernel of Coq may refuse it, or take it for the same term."""
        native = next(one for one in self.row.changes if one.name == change.name)
        tried = attempt.attempt(self.row, native, BUILD / "proofs", BUILD / "proof-changes")
        return Tried(change, cast(Verdict, tried.verdict), tried.by)
