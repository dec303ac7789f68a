# SPDX-License-Identifier: PostgreSQL
"""Checks on the sources alone: which files and theorems there are, and which words no source may contain."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

PREFIX = "Pgquern"
SHARED = "common"
"""The folder of the ground under all stems. Each of its files is a stem of its own."""
INSTRUCTIONS = "instructions"
"""The folder of what the instructions of a CPU mean."""
GROUND = (SHARED, INSTRUCTIONS)
"""What the files of a stem may import beside the stem's."""

# Vernacular that leaves something unproved, switches a check of the kernel off, or loads code unseen by the audit.
# Coq itself reports the rest (Variable outside a section, for one) through Print Assumptions and coqchk.
FORBIDDEN = re.compile(
    r"\b(?:Admitted|admit|give_up|Axioms?|Conjectures?|Parameters?|Abort|Admit\s+Obligations|native_compute"
    r"|bypass_check(?:\s*\([^)]*\))?|(?:Set|Unset)\s+(?:Guard|Positivity|Universe)\s+Checking"
    r"|Declare\s+ML\s+Module|Load(?:\s+Verbose)?\s*\"|CoInductive|CoFixpoint|cofix|(?<!Local )Opaque|Strategy)"
)
# What the extracted programs may have from OCaml: functions on numbers, which Coq's are too slow for, and the memory
# that notes what is read and written. required-theorems.txt has a hash of
# the text of each.
REALISED = re.compile(
    r"Z\.(of_nat|to_nat|div|modulo|testbit|land|lor|lxor|shiftl|shiftr|max|eqb|leb|ltb)|Nat\.(div|eq_dec|leb|ltb)"
    r"|words|values|table|memory|load|load_relkind|load_ids|store|read|put|memmove|memcpy|allocate|nothing"
)
REALISES = re.compile(r'\bExtract\s[^"]*"(?:[^"]|"")*"\s*\.')
# coqc's flags beyond the prefix: warnings only. Others, as -type-in-type, change what counts as a proof.
PROJECT_LINE = re.compile(rf"-Q \. {PREFIX}|-arg -w -arg \S+|[\w/]+\.v|#.*|")
REQUIRED = "required-theorems.txt"
STATEMENT = r"(?:#\[[^\]]*\]\s*)?(?:Theorem|Lemma|Corollary|Remark|Fact|Proposition|Example)\s+{name}\b"
WITNESS = "Witness"
FEWEST_WORDS = 3


@dataclass(frozen=True)
class Theorem:
    """A theorem that required-theorems.txt lists."""

    qualified: str

    @property
    def module(self) -> str:
        return self.qualified.rsplit(".", 1)[0]

    @property
    def name(self) -> str:
        return self.qualified.rsplit(".", 1)[1]

    @property
    def file(self) -> str:
        return file_of(self.module)

    @property
    def folder(self) -> str:
        return self.file.split("/")[0]

    @property
    def stem(self) -> str:
        return stem_of(self.file)

    @property
    def witness_module(self) -> str:
        """Where its witness stands: in the stem's Witness.v, in common/ beside the theorem."""
        return self.module if self.folder == SHARED else f"{PREFIX}.{self.folder}.{WITNESS}"

    @property
    def witness(self) -> str:
        """What shows that its premises can be met."""
        return f"{self.witness_module}.{self.name}_witness"


@dataclass
class Audit:
    """What was found; a problem is (stem, text), with stem "" for what belongs to the whole development."""

    problems: list[tuple[str, str]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def problem(self, stem: str, text: str) -> None:
        self.problems.append((stem, text))

    def spent(self, stem: str, seconds: float) -> None:
        self.seconds[stem] = self.seconds.get(stem, 0.0) + seconds


def file_of(module: str) -> str:
    """The source of a module, as in "S/Spec.v" for Pgquern.S.Spec."""
    return module.removeprefix(PREFIX + ".").replace(".", "/") + ".v"


def stem_of(file: str) -> str:
    """The stem of a source: its top folder; the file itself in common/; what is extracted in oracle/Extract<Stem>.v."""
    folder, _, base = file.partition("/")
    if folder == SHARED:
        return base.removesuffix(".v").lower()
    if folder == "oracle":
        return base.removesuffix(".v").removeprefix("Extract").lower()
    return folder


@lru_cache(maxsize=128)
def strip_comments(text: str) -> str:
    """The source without its (nested) comments and without the contents of strings; lines keep their numbers."""
    out: list[str] = []
    depth = 0
    for token in re.finditer(r'\(\*|\*\)|"[^"]*(?:"|\Z)|.', text, re.S):
        said = token.group()
        if said == "(*":
            depth += 1
        elif said == "*)" and depth:
            depth -= 1
        elif depth:
            out.append("\n" * said.count("\n"))
        elif said.startswith('"'):
            out.append('"' + "\n" * said.count("\n") + '"')
        else:
            out.append(said)
    return "".join(out)


def realised(source: Path, stem: str) -> dict[str, str]:
    """By file the sentences that give a constant or a type in OCaml."""
    found = {}
    for path in sorted(source.glob("oracle/*.v")):
        file = str(path.relative_to(source))
        if stem in ("", stem_of(file)) and (text := "\n".join(REALISES.findall(path.read_text()))):
            found[file] = text
    return found


def listed_sources(source: Path) -> list[str]:
    lines = (source / "_CoqProject").read_text().splitlines()
    return [line.strip() for line in lines if line.strip().endswith(".v")]


def pinned(source: Path) -> dict[str, str]:
    """Each theorem and each file of required-theorems.txt, with its hash; "" where there is none yet."""
    lines = [line.strip() for line in (source / REQUIRED).read_text().splitlines()]
    split = (line.partition(" ") for line in lines if line and not line.startswith("#"))
    return {name: digest for name, _, digest in split}


def required(source: Path) -> list[Theorem]:
    return [Theorem(name) for name in pinned(source) if not name.endswith(".v")]


def check_sources(source: Path, audit: Audit) -> None:
    """That _CoqProject lists every source and no flag that weakens Coq, and that no source says what is forbidden."""
    for line in (source / "_CoqProject").read_text().splitlines():
        if not PROJECT_LINE.fullmatch(line.strip()):
            audit.problem("", f"_CoqProject: {line.strip()}: only files, the prefix and -w are allowed")
    listed = listed_sources(source)
    # audit/ holds a tool of the audit, in Ltac2, which is no part of the development.
    present = sorted(str(path.relative_to(source)) for path in source.rglob("*.v") if path.parent != source / "audit")
    for file in sorted(set(present) - set(listed)):
        audit.problem(stem_of(file), f"{file} is not in _CoqProject: list it or remove it")
    for file in sorted(set(listed) - set(present)):
        audit.problem(stem_of(file), f"{file} is in _CoqProject but does not exist")
    for file in present:
        code = strip_comments((source / file).read_text())
        for found in FORBIDDEN.finditer(code):
            line_number = code.count("\n", 0, found.start()) + 1
            words = " ".join(found.group().split())
            audit.problem(stem_of(file), f"{file}:{line_number}: {words}: prove it, or leave it out")
        for kind, name in re.findall(r"\bExtract\s+(?:Inlined\s+)?(\w+)\s+([\w.']*)", code):
            if kind != "Constant" or not REALISED.fullmatch(name) or not file.startswith("oracle/"):
                audit.problem(stem_of(file), f"{file}: Extract {kind} {name}: OCaml may not realise it (REALISED)")


def outer_only(source: Path) -> list[str]:
    """How the names begin of theorems of which a witness need not meet the premises inside of the conclusion."""
    listed = source / "outer-premises.txt"
    lines = listed.read_text().splitlines() if listed.exists() else []
    return [line for line in lines if line and not line.startswith("#")]


def sentence_of(theorem: Theorem, text: str) -> str | None:
    """The (** comment *) that stands directly over the theorem, on one line; None if there is none, or a heading."""
    pattern = r"\(\*\*(?!\s*\*)((?:(?!\*\)).)*)\*\)\s*" + STATEMENT.format(name=re.escape(theorem.name))
    found = re.search(pattern, text, re.S)
    return " ".join(found.group(1).split()) if found else None


def states(source: Path, module: str, name: str) -> bool:
    """Whether the module's source has a statement of this name."""
    path = source / file_of(module)
    code = strip_comments(path.read_text()) if path.exists() else ""
    return re.search(STATEMENT.format(name=re.escape(name)), code) is not None


def witnessed(source: Path, theorems: Sequence[Theorem]) -> set[Theorem]:
    """The theorems of which a source has a witness."""
    return {theorem for theorem in theorems if states(source, theorem.witness_module, f"{theorem.name}_witness")}


def check_sentences(sentences: Mapping[Theorem, str], audit: Audit) -> None:
    """That each sentence is one, at least in form, and none stands twice in a folder."""
    before: dict[tuple[str, str], Theorem] = {}
    for theorem, sentence in sentences.items():
        if len(sentence.split()) < FEWEST_WORDS or not sentence.endswith("."):
            audit.problem(theorem.stem, f"{theorem.file}: over {theorem.name} stands no sentence: {sentence}")
        twin = before.setdefault((theorem.folder, sentence.casefold()), theorem)
        if twin != theorem:
            audit.problem(theorem.stem, f"{theorem.file}: {theorem.name} has the sentence of {twin.name}: {sentence}")


def check_statements(source: Path, theorems: Sequence[Theorem], audit: Audit) -> dict[Theorem, str]:
    """The English sentence of each required theorem that is there."""
    sentences: dict[Theorem, str] = {}
    for theorem in theorems:
        if not states(source, theorem.module, theorem.name):
            audit.problem(theorem.stem, f"{theorem.file}: required theorem {theorem.name} is missing")
        elif (sentence := sentence_of(theorem, (source / theorem.file).read_text())) is None:
            audit.problem(theorem.stem, f"{theorem.file}: {theorem.name} has no (** sentence *) directly over it")
        else:
            sentences[theorem] = sentence
    check_sentences(sentences, audit)
    for folder in sorted({theorem.folder for theorem in theorems} - {SHARED}):
        if not any(theorem.module == f"{PREFIX}.{folder}.{WITNESS}" for theorem in theorems):
            audit.problem(
                folder,
                f"{folder}/{WITNESS}.v: no required theorem of it shows that the hypotheses of the others can be met",
            )
    return sentences
