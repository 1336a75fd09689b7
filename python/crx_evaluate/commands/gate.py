"""`crx eval gate`: exit with 1 if retrieval finds less than it must."""

from __future__ import annotations

from pathlib import Path

import click

from crx._cli.options import json_option, progress_options, set_option
from crx._cli.output import print_json, print_line, print_note
from crx._cli.progress import Form
from crx_evaluate import Results, load, read_questions, run
from crx_evaluate.commands.options import (
    contexts_option,
    measuring_options,
    options_of,
    parse_minimum,
)
from crx_evaluate.results import COST_METRICS


@click.command()
@click.argument("target", metavar="SET", type=click.Path(path_type=Path))
@click.option(
    "--min",
    "minima",
    metavar="METRIC=NUMBER",
    multiple=True,
    required=True,
    help="Least value of a metric, as in recall@20=0.9; for tokens and ms the largest. Repeatable.",
)
@click.option("--row", default="", metavar="ROW", help="Row to judge.  [default: the last one]")
@contexts_option
@measuring_options
@set_option
@json_option
@progress_options
def command(
    *,
    target: Path,
    minima: tuple[str, ...],
    row: str,
    contexts: str,
    files: Path | None,
    index: Path | None,
    chunk_chars: int | None,
    embedder: str | None,
    rerank: str | None,
    assignments: tuple[str, ...],
    as_json: bool,
    progress: Form,
) -> int:
    """Exit with 1 if a value measured on the question set SET is below its --min.

    SET is a folder, measured as by "crx eval run", or a file written by --save. The last row, the
    whole pipeline, is judged unless --row names another.
    """
    wanted = [parse_minimum(text) for text in minima]
    if target.is_file():
        results = load(target)
    else:
        questions = read_questions(target, files=files)
        with options_of(
            index=index,
            chunk_chars=chunk_chars,
            embedder=embedder,
            rerank=rerank,
            assignments=assignments,
            progress=progress,
            as_json=as_json,
        ) as options:
            results = run(questions, contexts=contexts, options=options)
    for line in results.notes:
        print_note(line)
    return _judge(results, row, wanted, as_json=as_json)


def _judge(results: Results, name: str, wanted: list[tuple[str, float]], *, as_json: bool) -> int:
    row = results.find_row(name) if name else results.rows[-1]
    found = [(metric, results.mean(row, metric), bound) for metric, bound in wanted]
    held = [
        value <= bound if metric in COST_METRICS else value >= bound
        for metric, value, bound in found
    ]
    if as_json:
        rows = [
            {"metric": metric, "value": value, "bound": bound, "held": ok}
            for (metric, value, bound), ok in zip(found, held, strict=True)
        ]
        print_json({"set": results.set, "row": row.name, "held": all(held), "bounds": rows})
    else:
        for (metric, value, bound), ok in zip(found, held, strict=True):
            verdict = "held" if ok else "missed"
            print_line(f"{verdict}: {row.name}: {metric} is {value:.4g}, the bound {bound:g}")
    if not all(held):
        print_note(f"{results.set}: {held.count(False)} of {len(held)} bounds missed")
    return 0 if all(held) else 1
