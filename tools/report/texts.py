# SPDX-License-Identifier: PostgreSQL
"""What the report takes from the documents: findings, and the English sentences of theorems.

Markdown inside a line becomes pieces: {"kind": "text" | "code" | "strong", "text": ...}. Of a link its text is left.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

import click

CLAIMS = Path("CLAIMS.md")
THEOREMS = Path("proofs/required-theorems.txt")
FINDINGS = Path("tests/findings")
ABOUT = {
    "what": "What happens.",
    "lost": "What is lost.",
    "since": "Since when, which versions.",
    "likely": "How likely.",
    "mend": "What would mend it.",
}
"""The paragraphs of a finding's README that the report has, by how each begins."""
PIECE = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<strong>[^*]+)\*\*|(?<!\w)\*(?P<emph>[^*\s][^*]*)\*(?!\w)|\[(?P<link>[^]]+)\]\([^)]+\)"
)

Piece = dict[str, str]


class TextError(click.ClickException):
    """A document lacks what the report takes from it. The text says what to put back."""


def pieces(text: str) -> list[Piece]:
    """Markdown within a line as pieces of plain text, code and strong text."""
    found, end = [], 0
    for match in PIECE.finditer(text):
        found.append({"kind": "text", "text": text[end : match.start()]})
        kind = {"link": "text"}.get(str(match.lastgroup), str(match.lastgroup))
        found.append({"kind": kind, "text": match[str(match.lastgroup)].strip("`")})
        end = match.end()
    found.append({"kind": "text", "text": text[end:]})
    return [piece for piece in found if piece["text"]]


def table(text: str, heading: str, of: Path) -> list[list[str]]:
    """The cells of the first table under a heading, without its heads. TextError: there is no such table."""
    section = text.partition(f"\n{heading}\n")[2].partition("\n#")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    if len(lines) < 3:
        raise TextError(
            f"{of} has no table under {heading!r}, which the report shows: put it back, or change tools/report"
        )
    cut = re.compile(r"(?<!\\)\|")
    return [[cell.strip().replace("\\|", "|") for cell in cut.split(line)[1:-1]] for line in lines[2:]]


def sentences() -> dict[tuple[str, str], str]:
    """(stem, theorem) -> its English sentence: the comment over it. The stem is the folder of the theorem's file."""
    found = {}
    for line in THEOREMS.read_text().splitlines():
        if theorem := re.match(r"Pgquern\.(\w+)\.([\w.]+)\.(\w+)( |$)", line):
            stem, file, name, _ = theorem.groups()
            source = THEOREMS.parent / stem / f"{file.replace('.', '/')}.v"
            over = rf"\(\*\*(?!\s*\*)((?:(?!\*\)).)*)\*\)\s*(?:Theorem|Lemma|Corollary|Example)\s+{name}\b"
            if says := re.search(over, source.read_text() if source.exists() else "", re.S):
                # Coq's comments have code in square brackets.
                found[stem, name] = re.sub(r"\[(\w+)]", r"`\1`", " ".join(says.group(1).split()))
    return found


def finding(folder: Path) -> dict[str, Any]:
    """A finding: its title, the paragraphs that the report has, the model's run and the servers."""
    text = (folder / "README.md").read_text()
    told = tomllib.loads((folder / "finding.toml").read_text())
    paragraphs = {}
    for name, begins in ABOUT.items():
        if not (body := text.partition(f"**{begins}**")[2].partition("\n\n")[0]):
            raise TextError(f"{folder / 'README.md'} has no paragraph '**{begins}**', which the report shows: write it")
        head, *steps = re.split(r"\n\d+\. ", body)
        whole = " ".join([head, *(f"({number}) {step}" for number, step in enumerate(steps, 1))])
        # A paragraph that leads to a table ends without it.
        paragraphs[name] = pieces(re.sub(r":$", ".", " ".join(whole.split())))
    title, _, rest = text.partition("\n")
    about = re.sub(r":?\s+https?://\S+?(?=\.\s|\s|$)", "", rest.partition("**")[0])
    return {"title": pieces(title.lstrip("# ")), "about": pieces(" ".join(about.split())), **paragraphs, **told}


def findings() -> list[dict[str, Any]]:
    """All findings, by their folders."""
    return [finding(path.parent) for path in sorted(FINDINGS.glob("*/finding.toml"))]
