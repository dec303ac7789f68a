# SPDX-License-Identifier: PostgreSQL
"""A stem as the report tells it: the problem, what is proved, found and measured, and what others claim.

Nothing is written here: the words stand in bench/STEM/report.toml, proofs/README.md and CLAIMS.md, the figures in
bench/figures.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from bench import plots
from spec.tools import models
from tools.common import matrix
from tools.report import claimed, counts, figures, subject, texts
from tools.report.claimed import Recorded

SHOWN = Path("build/show")
FOUND = "## What we found about upstream"


def marked(pieces: Sequence[texts.Piece]) -> Markup:
    """Pieces of text as HTML."""
    tags = {"code": "code", "strong": "strong", "emph": "em"}
    return Markup().join(
        Markup("<{0}>{1}</{0}>").format(Markup(tags[piece["kind"]]), piece["text"])
        if piece["kind"] in tags
        else escape(piece["text"])
        for piece in pieces
    )


def text(words: str) -> Markup:
    """A line of Markdown as HTML."""
    return marked(texts.pieces(words))


def is_about(seen: str, stem: str, theorems: Sequence[str], runs: Sequence[str]) -> bool:
    """Whether what a finding is seen in is a stem's: one of its files, theorems or models is named."""
    return any(
        re.search(rf"(^|/){stem}(/|$)", word)
        or word in theorems
        or ("_" in word and any(run.endswith(word) for run in runs))
        for word in re.findall(r"`([^`_][^`]*)`", seen)
    )


def found() -> list[dict[str, Any]]:
    """What CLAIMS.md says that we found about upstream: each finding, what it is seen in, and the stems it is of."""
    sentences = texts.sentences()
    listed = []
    for number, (what, seen) in enumerate(texts.table(texts.CLAIMS.read_text(), FOUND, texts.CLAIMS), 1):
        stems = [
            stem
            for stem in matrix.stems()
            if is_about(
                seen,
                stem,
                [name for of, name in sentences if of == stem],
                [run.name for run in models.find(Path("spec"), stem)],
            )
        ]
        listed.append({"id": f"found-{number}", "what": text(what), "seen": text(seen), "stems": stems})
    return listed


def picture(stem: str, recorded: Recorded) -> Markup | None:
    """All recorded ratios of a stem to the faster baseline, on each machine; None if there are none."""
    spread = figures.spread(stem, recorded.machines)
    names = {machine.label: claimed.on(machine.cpu, "").rstrip(", ") for machine in recorded.machines}
    lines = [(f"{one['variant']}\n{names[one['machine']]}", one["variant"], one["ratios"]) for one in spread]
    baselines = list(dict.fromkeys(name for one in spread for name in one["baselines"]))
    if not lines:
        return None
    said = ", ".join(baselines)
    return Markup(plots.spread(lines, f"{stem}: each configuration, beside the faster baseline ({said})"))


def story(stem: str, recorded: Recorded, sentences: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """A stem, without its part of the page."""
    shown = subject.shown(stem, sentences, recorded.machines)
    return {
        "stem": stem,
        "title": shown["title"],
        "problem": marked(shown["what"]),
        "proved": [{"name": one["name"], "says": marked(one["says"])} for one in shown["theorems"]],
        "figures": [one | {"what": text(one["what"])} for one in shown["figures"]],
        "picture": picture(stem, recorded),
    }


def stories(found_in_claims: Sequence[Mapping[str, Any]], recorded: Recorded) -> list[dict[str, Any]]:
    """All stems."""
    sentences, counted = texts.sentences(), {line["stem"]: line for line in counts.table()}
    theirs = claims(recorded)
    return [
        story(stem, recorded, sentences)
        | {
            "counts": counted[stem],
            "found": [one for one in found_in_claims if stem in one["stems"]],
            "claims": [one for one in theirs if one["stem"] == stem],
        }
        for stem in matrix.stems()
    ]


def claims(recorded: Recorded) -> list[dict[str, Any]]:
    """What others claim, as HTML."""
    return [
        {key: words if key in ("stem", "command") else text(words) for key, words in line.items()}
        for line in claimed.table(recorded)
    ]


def findings() -> list[dict[str, Any]]:
    """Our findings about upstream that have a folder: its paragraphs, and the model's shortest counterexample if it has
    been drawn."""
    folders = sorted(path.parent for path in texts.FINDINGS.glob("*/finding.toml"))
    return [
        {key: marked(words) for key, words in told.items() if isinstance(words, list) and key != "servers"}
        | {"servers": told["servers"], "folder": folder, "model": told["model"], "picture": drawn(told["model"])}
        for folder, told in zip(folders, texts.findings(), strict=True)
    ]


def drawn(run: str) -> Markup | None:
    """What `pgquern show` has drawn of a run."""
    return next((Markup(path.read_text()) for path in sorted(SHOWN.glob(f"*/{run}.svg"))), None)


def machines(recorded: Recorded) -> list[dict[str, Any]]:
    """The machines that the recorded figures are of."""
    return [figures.about(machine) for machine in recorded.machines]
