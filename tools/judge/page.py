# SPDX-License-Identifier: PostgreSQL
"""The verdict as one self-contained page, to look at or to mail: build/judge/NAME.html."""

import hashlib
import os
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tools.judge.last import Told
from tools.judge.trial import Trial
from tools.judge.verdict import Verdict

if TYPE_CHECKING:
    from tools.judge.speed import Place

TEMPLATES = (Path("tools/judge/templates"), Path("tools/report/templates"))


def marked(contract: str, breaks: str) -> Markup:
    """The contract with the words that are broken, wherever its lines end."""
    text = escape(contract, quote=False)
    if not breaks:
        return Markup(text)
    words = r"\s+".join(re.escape(escape(word, quote=False)) for word in breaks.split())
    found, count = re.subn(words, lambda match: f"<mark>{match[0]}</mark>", text, count=1)
    assert count, f"the contract has no words {breaks!r}"
    return Markup(found)


def speed(places: Sequence["Place"]) -> dict[str, Any]:
    """What the page's part on speed shows."""
    from tools.judge.heat import extremes, heat
    from tools.judge.speed import MARGIN

    wins, loses = extremes(places)
    other = any(found.to_other for found in places)
    return {"heat": Markup(heat(places)), "other": other, "wins": wins, "loses": loses, "margin": MARGIN}


def page(trial: Trial, verdict: Verdict, told: Told | None, command: str, fails: str, facts: Mapping[str, str]) -> str:
    """The whole page. command: repeats the trial. fails: shows the regression test fail."""
    jinja = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    candidate, places = trial.candidate, trial.places
    files = [candidate.source] if candidate.alias else candidate.files
    source = "\n".join(path.read_text(errors="replace") for path in files)
    seen = {
        "machine": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "judged": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "source": f"{candidate.source}, SHA-256 {hashlib.sha256(source.encode()).hexdigest()}",
        "it calls": ", ".join(trial.imports) or "nothing",
        "its constructors": ", ".join(trial.constructors) or "none",
        "names beyond its contract": ", ".join(trial.interposed) or "none",
        "inputs": trial.right if trial.inputs else "no native ones",
        "its process": trial.process,
    }
    return jinja.get_template("judge.html").render(
        name=candidate.source.name,
        kind=candidate.kind,
        contract_file=os.path.normpath(f"csrc/{candidate.kind.header}"),
        signature="\n".join(line.strip() + ";" for line in candidate.kind.signature.splitlines()),
        verdict=verdict,
        told=told and {"says": told.says, "breaks": told.breaks, "picture": Markup(told.picture)},
        regression=told.regression if told else "",
        fails=fails,
        contract=marked(candidate.kind.contract, told.breaks if told else ""),
        steps=trial.steps,
        places=places,
        **(speed(places) if places else {}),
        command=command,
        facts=dict(facts) | seen,
        warnings=trial.warnings.rstrip(),
        source=source,
    )
