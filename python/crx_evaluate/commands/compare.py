"""`crx eval compare`: compare two runs, or two rows of one, question by question."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import click

from crx._cli.options import json_option
from crx._cli.output import print_json, print_line, print_note, print_text
from crx._cli.tables import format_table
from crx.config import Value
from crx.errors import UsageError
from crx_evaluate import Results, difference, load
from crx_evaluate.commands.report import few_questions_notes, points, probability
from crx_evaluate.pairing import RowPairs, name_pair, pair_rows
from crx_evaluate.results import METRICS, check_metric, pair_results
from crx_evaluate.statistics import Difference

SHOWN = ("recall@1", "recall@5", "recall@10", "recall@20", "mrr", "ndcg@10", "whole@4000", "ms")
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
    "--with-row",
    default="",
    metavar="ROW",
    help="Row of B to compare --row with.  [default: the row of the same name]",
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
    with_row: str,
    metrics: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compare B with A: two files written by --save, or with --in two rows of one file.

    Of two files, the questions that both answered are compared. Their rows are paired by name, or
    by legs, reranker and window if the runs have different contexts; --row and --with-row compare
    one row of A with one of B.
    """
    shown = tuple(check_metric(name) for name in metrics) or SHOWN
    if with_row and not row:
        raise UsageError(f"--with-row {with_row}: needs --row, the row of A to compare it with")
    if file is not None:
        if row:
            raise UsageError("--row is for two saved runs; with --in, A and B are the rows")
        first = second = load(file)
        rows = name_pair(first, second, one, other)
        notes: list[str] = []
    else:
        runs = load(Path(one)), load(Path(other))
        first, second = pair_results(*runs)
        rows = name_pair(first, second, row, with_row or row) if row else pair_rows(first, second)
        notes = _unshared(rows, *runs, shared=len(first.queries))
    notes += few_questions_notes(first)
    pairs = _compare(first, second, rows, shown)
    for line in notes:
        print_note(line)
    if as_json:
        print_json(
            {
                "queries": len(first.queries),
                "notes": notes,
                "compared": [_object(*pair) for pair in pairs],
                "only_a": rows.only_first,
                "only_b": rows.only_second,
            }
        )
    else:
        head = ["", "metric", "A", "B", "B - A", "95% interval", "p"]
        print_line(f"{len(first.queries)} questions")
        print_line()
        print_text(format_table([head, *map(_line, pairs)]))


def _unshared(rows: RowPairs, first: Results, second: Results, *, shared: int) -> list[str]:
    """Return what two runs do not share, a line each."""
    lines = []
    if first.set != second.set:
        lines.append(f"the sets have different names: A is of {first.set}, B of {second.set}")
    if changed := _changed_settings(first.settings, second.settings):
        lines.append(f"settings of A -> B: {changed}")
    for name, run, names in (("A", first, rows.only_first), ("B", second, rows.only_second)):
        if names:
            lines.append(f"only in {name}, not compared: {', '.join(names)}")
        if len(run.queries) > shared:
            lines.append(f"only in {name}, not compared: {len(run.queries) - shared} questions")
    return lines


def _changed_settings(first: Mapping[str, Value], second: Mapping[str, Value]) -> str:
    """Return the settings that differ; a run saved without them has none."""
    return ", ".join(
        f"{name} {json.dumps(first[name])} -> {json.dumps(second[name])}"
        for name in sorted(first.keys() & second.keys())
        if first[name] != second[name]
    )


def _compare(
    first: Results, second: Results, rows: RowPairs, metrics: tuple[str, ...]
) -> list[Pair]:
    pairs = []
    for a, b in rows.pairs:
        name = a.name if a.name == b.name else f"{a.name} -> {b.name}"
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
