# SPDX-License-Identifier: PostgreSQL
"""Renders build/report/index.html from build/results/ and bench/figures/: one page, and its figures as files beside it.

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
from tools.common import defects, environment, results
from tools.common.matrix import GROUND
from tools.common.results import Result
from tools.common.summary import reasons
from tools.report import changes, counts, finish, matrix, stories
from tools.report.claimed import Recorded

PAGE = Path("build/report/index.html")
LEAD = Path("bench/figures/before_after.svg")


def bench_plots(result: Result) -> list[Markup]:
    """Plots of one stem's benchmarks: a family is the configurations that share their kind, or their regime."""
    table = goals.load(parts.BENCH / result.stem / "goals.toml")
    families: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for item in (entry.model_dump() for entry in result.items):
        if "config" in item:
            key = (item["config"].get("kind", ""), item["config"].get("regime", ""))
            families.setdefault(key, []).append(item)
    drawn = []
    for (kind, regime), items in families.items():
        who = table.roles_of(items[0]["config"])
        title = " ".join(filter(None, [result.stem, kind, regime]))
        drawn.append(Markup(plots.speedups(items, who.ours, f"{title}: speed-up over the faster upstream algorithm")))
        if len({item["name"] for item in items}) <= 8:
            drawn.append(Markup(plots.times(items, who.ours, who.upstream, f"{title}: time of a call")))
    return drawn


def growth_plot(result: Result) -> Markup | None:
    """The plot of how one stem's costs grow, if something was counted."""
    items = [item.model_dump() for item in result.items if item.status != "skipped"]
    return Markup(plots.growth(items, f"{result.stem}: how costs grow")) if items else None


def as_dict(result: Result) -> dict[str, Any]:
    """A result as the template reads it: with its counts, and why items were skipped."""
    counts = {status: result.count(status) for status in ("passed", "failed", "skipped")}
    return result.model_dump() | counts | {"status": result.status, "reasons": reasons([result])}


def by_layer(found: Sequence[Result]) -> dict[str, list[dict[str, Any]]]:
    """Results by layer."""
    layers: dict[str, list[dict[str, Any]]] = {}
    for result in found:
        layers.setdefault(result.layer, []).append(as_dict(result))
    return layers


def environment_for_templates() -> Environment:
    """Jinja, for the page's own template and the parts in the stems' folders."""
    return Environment(
        loader=FileSystemLoader([Path(__file__).parent / "templates", parts.BENCH]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def lead() -> Markup:
    """The picture that the page opens with."""
    return Markup(LEAD.read_text())


def part(html: str) -> Markup:
    """A stem's part of the page, one rank lower: it stands within the stem's section."""
    return Markup(html.replace("<h2>", "<h3>").replace("</h2>", "</h3>"))


def page(found: Sequence[Result]) -> str:
    """The whole page."""
    jinja, layers = environment_for_templates(), by_layer(found)
    recorded, in_claims = Recorded(), stories.found()
    of_rows = {
        stem: part(jinja.get_template(f"{stem}/report.html").render(**context))
        for stem, context in parts.contexts(found).items()
    }
    tools: dict[str, str] = {}
    for result in found:
        tools |= result.tools
    html = jinja.get_template("index.html").render(
        layers=layers,
        cells={(result.stem, result.layer): as_dict(result) for result in found},
        stems=sorted({result.stem for result in found}),
        rows=matrix.rows(),
        matrix_layers=list(matrix.LAYERS),
        cell_text=matrix.cell_text,
        reasons=matrix.reasons(Path("SOUNDNESS.md").read_text()),
        lead=lead(),
        found=in_claims,
        claims=stories.claims(recorded),
        machines=stories.machines(recorded),
        counts=counts.table()[-1],
        stories=[story | {"part": of_rows.get(story["stem"], "")} for story in stories.stories(in_claims, recorded)],
        changes=changes.table(found, [*(row.stem for row in matrix.rows()), *GROUND]),
        defects=defects.load(),
        findings=stories.findings(),
        growth_plots={result.stem: growth_plot(result) for result in found if result.layer == "growth"},
        bench_plots={result.stem: bench_plots(result) for result in found if result.layer == "bench"},
        tools=tools,
        cpu=environment.cpu(),
        cpu_level=environment.cpu_level(),
        commit=environment.commit(),
        now=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    return finish.with_contents(html)


def write(html: str, path: Path = PAGE) -> None:
    """The page, and its figures beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(finish.with_files(html, path.parent))


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
