# SPDX-License-Identifier: PostgreSQL
"""The layer of the intrinsics' meanings in Coq, proofs/instructions/: this CPU must refute what is changed."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proofs.changes import rules
from proofs.changes.source import blanked, definitions
from tests.changes.build import ROOT
from tests.changes.change import Change, Tried, Verdict
from tests.instructions import programs
from tests.instructions.compare import BRIEF, compare

STEM = "instructions"
SOURCES, COMPILED = Path("proofs"), Path("build/proofs")
EXTRACT, DRIVER = "oracle/ExtractInstructions.v", "oracle/instructions.ml"
TABLE = f"{STEM}/Table.v"


def files() -> list[str]:
    """The definitions up to the table, in their order."""
    listed = [line.strip() for line in (SOURCES / "_CoqProject").read_text().splitlines()]
    mine = [line for line in listed if line.startswith(f"{STEM}/")]
    return mine[: mine.index(TABLE) + 1]


@dataclass
class Meanings:
    """All of them."""

    stem: str = STEM

    def changes(self) -> Sequence[Change]:
        found = []
        for file in files():
            text, path = (SOURCES / file).read_text(), f"proofs/{file}"
            fields = rules.fields_of(blanked(text))
            claimed = [definition.name for definition in definitions(blanked(text))]
            for one in rules.find(file, text, claimed, fields):
                found.append(Change(path, one.edits, f"{path} {one.checksum}", one.says, one.checksum))
        return found

    def reads(self) -> Sequence[str]:
        return [f"proofs/{STEM}", f"proofs/{EXTRACT}", f"proofs/{DRIVER}", "tests/instructions", "tests/changes"]

    def folder(self, change: Change) -> Path:
        return ROOT / STEM / "meaning" / change.rank

    def prepare(self, change: Change) -> tuple[Verdict | None, bytes]:
        """The changed meanings as a program, if Coq takes them."""
        folder = self.folder(change)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(COMPILED / STEM, folder / STEM)
        (folder / "oracle").mkdir()
        shutil.copy(SOURCES / EXTRACT, folder / EXTRACT)
        shutil.copy(SOURCES / DRIVER, folder)
        changed = change.file.removeprefix("proofs/")
        (folder / changed).write_text(change.text())
        listed = files()
        for file in [*listed[listed.index(changed) :], EXTRACT]:
            command = ["coqc", "-q", "-noglob", "-w", "none", "-Q", ".", "Pgquern", file]
            if subprocess.run(command, cwd=folder, capture_output=True).returncode:
                return "refused", b""
        proved = (folder / "instructions_proved.ml").read_bytes()
        sources = ["instructions_proved.mli", "instructions_proved.ml", Path(DRIVER).name]
        command = ["ocamlfind", "ocamlopt", "-w", "-a", *sources, "-o", "program"]
        if subprocess.run(command, cwd=folder, capture_output=True).returncode:
            return "refused", b""
        same = proved == (COMPILED / "instructions_proved.ml").read_bytes()
        return ("equivalent", b"") if same else (None, proved)

    def attempt(self, change: Change) -> Tried:
        folder = self.folder(change)
        here, meaning, by = programs.on_cpu(), [str(folder / "program")], ""
        known = [one for name, one in here.items() if one.supported and name in programs.with_meaning()]
        for one in known:
            try:
                by = by or compare(one, BRIEF, meaning=meaning).difference
            except programs.UnknownError as error:
                by = str(error).strip()
        lacking = sorted(set(programs.listed().values()) - {one.level for one in known})
        shutil.rmtree(folder)
        return Tried.of(change, by, f"this CPU lacks {', '.join(lacking)}" if lacking else "")
