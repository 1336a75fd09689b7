"""`crx eval compare`: compare two runs, or two rows of one, question by question."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from crx.cli.eval.report import points, probability
from crx.cli.options import json_option
from crx.cli.output import format_table, print_json, print_line, print_text
from crx.errors import UsageError
from crx.evaluate import Results, difference, load
from crx.evaluate.results import METRICS, check_metric, pair_results
from crx.evaluate.statistics import Difference

SHOWN = ("recall@1", "recall@5", "recall@10", "recall@20", "mrr", "ndcg@10", "coverage@4k", "ms")
_OF_MS = frozenset({"ms", "tokens"})

Pair = tuple[str, str, Difference, float, float]


@click.command()
@click.argument("one", metavar="A")
@click.argument("other", metavar="B")
@click.option(
    "--in",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Saved run of which A and B are rows.  [default: A and B are saved runs]",
)
@click.option(
    "--row", default="", metavar="ROW", help="Row to compare.  [default: all rows of both]"
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="METRIC",
    help=f"Metric to compare; repeatable.  [default: {', '.join(SHOWN)}]",
)
@json_option
def command(
    *,
    one: str,
    other: str,
    file: Path | None,
    row: str,
    metrics: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compare B with A: two files written by --save, or with --in two rows of one file.

    Only questions that both answered are compared and, of two files, only rows that both have.
    """
    shown = tuple(check_metric(name) for name in metrics) or SHOWN
    if file is not None:
        results = load(file)
        names = [(one, other)]
        pairs = _compare(results, results, names, shown)
        shared = len(results.queries)
    else:
        first, second = pair_results(load(Path(one)), load(Path(other)))
        names = [(each, each) for each in _rows_of_both(first, second, row)]
        pairs = _compare(first, second, names, shown)
        shared = len(first.queries)
    if as_json:
        print_json({"queries": shared, "compared": [_object(*pair) for pair in pairs]})
    else:
        head = ["", "metric", "A", "B", "B - A", "95% interval", "p"]
        print_line(f"{shared} questions")
        print_line()
        print_text(format_table([head, *map(_line, pairs)]))


def _rows_of_both(first: Results, second: Results, row: str) -> list[str]:
    there = {each.name for each in second.rows}
    names = [each.name for each in first.rows if each.name in there and row in ("", each.name)]
    if not names:
        raise UsageError(
            f"the runs share no row{f' {row}' if row else ''}; there are: "
            f"{', '.join(each.name for each in first.rows)}; and: {', '.join(sorted(there))}"
        )
    return names


def _compare(
    first: Results, second: Results, names: list[tuple[str, str]], metrics: tuple[str, ...]
) -> list[Pair]:
    pairs = []
    for one, other in names:
        a, b = first.find_row(one), second.find_row(other)
        name = one if one == other else f"{one} -> {other}"
        for metric in (m for m in METRICS if m in metrics):
            found = difference(second.values_of(b, metric), first.values_of(a, metric))
            pairs.append((name, metric, found, first.mean(a, metric), second.mean(b, metric)))
    return pairs


def _line(pair: Pair) -> list[str]:
    name, metric, found, a, b = pair
    if metric in _OF_MS:
        values = [f"{a:.1f}", f"{b:.1f}", f"{found.mean:+.1f}"]
        span = f"[{found.low:+.1f}, {found.high:+.1f}]"
    else:
        values = [f"{100 * a:.1f}", f"{100 * b:.1f}", points(found.mean)]
        span = f"[{points(found.low)}, {points(found.high)}]"
    return [name, metric, *values, span, probability(found.p)]


def _object(name: str, metric: str, found: Difference, a: float, b: float) -> dict[str, object]:
    return {"row": name, "metric": metric, "a": a, "b": b, **asdict(found)}
