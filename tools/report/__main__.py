# SPDX-License-Identifier: PostgreSQL
"""Renders build/report/index.html from build/results/ and bench/figures/: one page.

python -m tools.report
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bench import goals, parts, plots
from tools.common import environment, matrix, results
from tools.common.results import Result
from tools.common.summary import reasons
from tools.report import figures, finish, subject, texts
from tools.report.values import Recorded

PAGE = Path("build/report/index.html")
LEAD = Path("bench/figures/before_after.svg")


def bench_plots(result: Result) -> list[Markup]:
    """Plots of one stem's benchmarks: a family is the configurations that share their kind, or their regime."""
    table = goals.load(parts.BENCH / result.stem / "goals.toml")
    families: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for item in (entry.model_dump() for entry in result.items):
        # A kind may be gone since it was measured.
        if any(goals.selects(roles.where, item["config"]) for roles in table.roles if "config" in item):
            key = (item["config"].get("kind", ""), item["config"].get("regime", ""))
            families.setdefault(key, []).append(item)
    drawn = []
    for (kind, regime), items in families.items():
        who = table.roles_of(items[0]["config"])
        title = " ".join(filter(None, [result.stem, kind, regime]))
        drawn.append(Markup(plots.speedups(items, who.ours, f"{title}: speed-up over the faster upstream algorithm")))
    return drawn


def growth_plot(result: Result) -> Markup | None:
    """The plot of how one stem's costs grow, if something was counted."""
    items = [item.model_dump() for item in result.items if item.status != "skipped"]
    return Markup(plots.growth(items, f"{result.stem}: how costs grow")) if items else None


def as_dict(result: Result) -> dict[str, Any]:
    """A result as the template reads it: with its counts, what failed, and why items were skipped."""
    counts = {status: result.count(status) for status in ("passed", "failed", "skipped")}
    failed = [item for item in result.items if item.status == "failed"]
    return result.model_dump() | counts | {"status": result.status, "reasons": reasons([result]), "wrong": failed}


def environment_for_templates() -> Environment:
    """Jinja, for the page's own template and the parts in the stems' folders."""
    return Environment(
        loader=FileSystemLoader([Path(__file__).parent / "templates", parts.BENCH]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def part(html: str) -> Markup:
    """A stem's part of the page, one rank lower: it stands within the stem's section."""
    return Markup(html.replace("<h2>", "<h3>").replace("</h2>", "</h3>"))


def sentences(found: Sequence[Result]) -> dict[str, str]:
    """The English sentences of the theorems that were checked here, by their names."""
    proved = [item.model_dump() for result in found if result.layer == "proof" for item in result.items]
    # Coq's comments have code in square brackets.
    return {one["name"].split(".")[-1]: str(one.get("sentence", "")).translate({91: 96, 93: 96}) for one in proved}


def page(found: Sequence[Result]) -> str:
    """The whole page."""
    jinja, recorded, says = environment_for_templates(), Recorded(), sentences(found)
    of_stems = {
        stem: part(jinja.get_template(f"{stem}/report.html").render(**context))
        for stem, context in parts.contexts(found).items()
    }
    rows, places = subject.rows(recorded)
    html = jinja.get_template("index.html").render(
        lead=Markup(LEAD.read_text()),
        rows=[(stem, *map(texts.marked, cells)) for stem, *cells in rows],
        places=places,
        findings=texts.findings(),
        subjects=[subject.shown(stem, says, recorded) | {"part": of_stems.get(stem, "")} for stem in matrix.stems()],
        machines=[figures.about(machine) for machine in recorded.machines],
        results=[as_dict(result) for result in sorted(found, key=lambda one: (one.label, one.stem))],
        bench=[(as_dict(result), bench_plots(result)) for result in found if result.layer == "bench"],
        growth=[plot for result in found if result.layer == "growth" and (plot := growth_plot(result))],
        tools={tool: version for result in found for tool, version in result.tools.items()},
        cpu=environment.cpu(),
        cpu_level=environment.cpu_level(),
        commit=environment.commit(),
        now=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    return finish.with_contents(html)


def write(html: str, path: Path = PAGE) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(html)


@click.command()
def main() -> None:
    """Write the report (2 s)."""
    found = [result for result in results.whole() if result.cpu_level == environment.cpu_level()]
    if not found:
        raise click.ClickException(f"{results.RESULTS} holds no results; run `make` first")
    write(page(found))
    click.echo(f"report: {PAGE}")


if __name__ == "__main__":
    main()
