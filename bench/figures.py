# SPDX-License-Identifier: PostgreSQL
"""The figures of this CPU: bench/figures/CPU.json, the values of all configurations. The report shows them.

    python -m bench.figures      (after `make bench` and what else measures; 1 s)

A second machine adds files and overwrites none; what was measured before, and not again, stays. Only full benchmarks of
a clean tree, without PGQUERN_CPU, on this CPU count; anything else in build/results is named and left out. Exits 1 if
nothing is left to write.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from tools.common import environment, results
from tools.common.results import Result

FOLDER = Path("bench/figures")
LAYERS = (
    "bench", "growth", "headlines", "icount", "policies", "simulation",
)  # fmt: skip


def refusal(result: Result) -> str:
    """Why a result is no figure of this CPU; "" if it is one."""
    if not result.commit or result.commit.endswith("+"):
        return f"measured on a dirty tree ({result.commit or 'no commit'}): commit, and measure again"
    if result.cpu != environment.cpu():
        return f"measured on another CPU ({result.cpu})"
    if result.cpu_level != "all":
        return f"measured under PGQUERN_CPU={result.cpu_level}"
    if result.layer == "bench" and result.model_dump()["mode"] != "full":
        return f"a {result.model_dump()['mode']} selection decides nothing: run `make bench`"
    return ""


def rounded(value: Any) -> Any:
    """Figures to four digits: the rest is noise."""
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def flat(item: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"speedup": {"median": 2}} as {"speedup.median": 2}."""
    found: dict[str, Any] = {}
    for key, value in item.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: rounded(value)}
    return found


def compact(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result with its items as one table: `columns`, and a row of values for each item. Without the raw curves."""
    items = [flat(item) for item in result["items"]]
    columns = list(dict.fromkeys(key for item in items for key, value in item.items() if value is not None))
    rows = [[item.get(column) for column in columns] for item in items]
    rest = {key: value for key, value in result.items() if key not in ("items", "curves")}
    return rest | {"columns": columns, "rows": rows}


def nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """{"speedup.median": 2} as {"speedup": {"median": 2}}."""
    item: dict[str, Any] = {}
    for key, value in row.items():
        *outer, last = key.split(".")
        inside = item
        for name in outer:
            inside = inside.setdefault(name, {})
        inside[last] = value
    return item


def expanded(value: Mapping[str, Any]) -> Result:
    """A result that was made compact."""
    rows = ({k: v for k, v in zip(value["columns"], row, strict=True) if v is not None} for row in value["rows"])
    rest = {key: part for key, part in value.items() if key not in ("columns", "rows")}
    return Result.model_validate(rest | {"items": [nested(row) for row in rows]})


def merged(before: Sequence[Result], found: Sequence[Result]) -> list[Result]:
    """What was found, and what stands of before."""
    by_name = {(result.layer, result.stem): result for result in [*before, *found]}
    return [by_name[name] for name in sorted(by_name)]


@click.command()
def main() -> None:
    """Write the figures of this CPU."""
    measured = [result for result in results.load() if result.layer in LAYERS]
    refused = {id(result): refusal(result) for result in measured}
    for result in measured:
        if refused[id(result)]:
            click.echo(f"left out: {result.layer} {result.stem}: {refused[id(result)]}", err=True)
    found = [result for result in measured if not refused[id(result)]]
    if not found:
        raise click.ClickException("no figure to write; run `make bench` on a clean tree first")
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / environment.cpu_slug()
    if path.with_suffix(".json").exists():
        found = merged([expanded(value) for value in json.loads(path.with_suffix(".json").read_text())], found)
    values = [compact(result.model_dump(mode="json", exclude_defaults=True)) for result in found]
    path.with_suffix(".json").write_text(json.dumps(values, separators=(",", ":")) + "\n")
    click.echo(f"figures: {path}.json")


if __name__ == "__main__":
    main()
