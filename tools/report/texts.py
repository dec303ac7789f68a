# SPDX-License-Identifier: PostgreSQL
"""What the report takes from the findings' pages, and Markdown within a line as HTML."""

import re
import tomllib
from pathlib import Path
from typing import Any

import click
from markupsafe import Markup, escape

FINDINGS = Path("tests/findings")
SHOWN = Path("build/show")
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


class TextError(click.ClickException):
    """A document lacks what the report takes from it. The text says what to put back."""


def marked(text: str) -> Markup:
    """A line of Markdown as HTML. Of a link its text is left."""
    found, end = Markup(), 0
    for match in PIECE.finditer(text):
        found += escape(text[end : match.start()])
        tag = {"code": "code", "strong": "strong", "emph": "em"}.get(str(match.lastgroup), "")
        words = escape(match[str(match.lastgroup)].strip("`"))
        found += Markup(f"<{tag}>{words}</{tag}>") if tag else words
        end = match.end()
    return found + escape(text[end:])


def finding(folder: Path) -> dict[str, Any]:
    """A finding: its title, the paragraphs that the report has, the model's run and the servers."""
    text = (folder / "README.md").read_text()
    about = tomllib.loads((folder / "finding.toml").read_text())
    paragraphs = {}
    for name, begins in ABOUT.items():
        if not (body := text.partition(f"**{begins}**")[2].partition("\n\n")[0]):
            raise TextError(f"{folder / 'README.md'} has no paragraph '**{begins}**', which the report shows: write it")
        head, *steps = re.split(r"\n\d+\. ", body)
        whole = " ".join([head, *(f"({number}) {step}" for number, step in enumerate(steps, 1))])
        # A paragraph that leads to a table ends without it.
        paragraphs[name] = marked(re.sub(r":$", ".", " ".join(whole.split())))
    # What `pgquern show` has drawn of the model's run.
    picture = next((path.read_text() for path in sorted(SHOWN.glob(f"*/{about['model']}.html"))), None)
    title = marked(text.partition("\n")[0].lstrip("# "))
    return {"title": title, **paragraphs, **about, "folder": folder, "picture": picture}


def findings() -> list[dict[str, Any]]:
    """All findings, by their folders."""
    return [finding(path.parent) for path in sorted(FINDINGS.glob("*/finding.toml"))]
