# SPDX-License-Identifier: PostgreSQL
"""Renders build/report/index.html from build/results/: one self-contained page.

python -m bench.report
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bench import environment, plots
from bench.report import matrix, page_picture, results

PAGE = Path("build/report/index.html")
REAL_PAGE = results.RESULTS / "real-page.json"


def pictures() -> tuple[list[tuple[Markup, str]], str]:
    """(picture, caption) of one real page before compaction and after it by real servers; and where it is from."""
    data = json.loads(REAL_PAGE.read_text())
    captions = {
        "before": "Before: fragmented",
        "after_pg13": "After, by PostgreSQL 13: offset order",
        "after_pg14": "After, by PostgreSQL 14, and by our kernels: item order",
    }
    drawn = [(Markup(page_picture.svg(bytes.fromhex(data[key]), text)), text) for key, text in captions.items()]
    return drawn, data["source"]


def bench_plots(result: dict[str, Any]) -> list[Markup]:
    """Plots of one stem's benchmarks: a family is the configurations that share their keys (a kind, a regime)."""
    families: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for item in result["items"]:
        families.setdefault((item["config"].get("kind", ""), item["config"].get("regime", "")), []).append(item)
    drawn = []
    for (kind, regime), items in families.items():
        upstream = list(dict.fromkeys(item["upstream"] for item in items))
        variants = list(dict.fromkeys(item["variant"] for item in items))
        yardsticks = ("pg13", "pg14", "limit", "moves", "moves-only")
        ours = [v for v in variants if v not in upstream and v not in yardsticks and "again" not in v]
        title = " ".join(filter(None, [next(iter(result["stems"])), kind, regime]))
        drawn.append(Markup(plots.speedups(items, ours, f"{title}: speed-up over the faster upstream algorithm")))
        configs = list(dict.fromkeys(item["name"] for item in items))
        if len(configs) <= 8:
            drawn.append(Markup(plots.times(items, variants, f"{title}: time of a call")))
    return drawn


def beside_plots(result: dict[str, Any]) -> list[Markup]:
    """A plot a server: our kernels against the server's own function, in its process."""
    servers = list(dict.fromkeys(item["config"]["server"] for item in result["items"]))
    drawn = []
    for server in servers:
        items = [item for item in result["items"] if item["config"]["server"] == server]
        ours = [v for v in dict.fromkeys(item["variant"] for item in items) if v != "native"]
        drawn.append(Markup(plots.speedups(items, ours, f"PostgreSQL {server}: speed-up over its own function")))
    return drawn


def recovery_plots(result: dict[str, Any]) -> list[Markup]:
    """A plot for each number of updates that the end-to-end experiment was run with."""
    counts = sorted({item["updates"] for item in result["items"]})
    return [
        Markup(
            plots.recovery(
                [item for item in result["items"] if item["updates"] == count],
                f"recovery of {count:,} updates: CPU of the startup process, by the kernel inside the server",
            )
        )
        for count in counts
    ]


def grouped(found: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Results by layer."""
    layers: dict[str, list[dict[str, Any]]] = {}
    for result in found:
        layers.setdefault(result["layer"], []).append(result)
    return layers


@click.command()
def main() -> None:
    """Write the report (2 s)."""
    found = results.load()
    if not found:
        raise click.ClickException(f"{results.RESULTS} holds no results; run `make` first")
    template = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template("index.html")
    cells = results.cells(found)
    drawn, source = pictures()
    tools: dict[str, str] = {}
    for result in found:
        tools |= result.get("tools", {})
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(
        template.render(
            layers=grouped(found),
            cells={(c.stem, c.layer): c for c in cells},
            totals={layer: [c for c in cells if c.layer == layer] for layer in {c.layer for c in cells}},
            rows=matrix.rows(),
            matrix_layers=list(matrix.LAYERS),
            cell_text=matrix.cell_text,
            reasons=matrix.reasons(Path("SOUNDNESS.md").read_text()),
            pictures=drawn,
            picture_source=source,
            bench_plots=bench_plots,
            recovery_plots=recovery_plots,
            beside_plots=beside_plots,
            tools=tools,
            cpu=environment.cpu(),
            commit=environment.commit(),
            now=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        )
    )
    click.echo(f"report: {PAGE}")


if __name__ == "__main__":
    main()
