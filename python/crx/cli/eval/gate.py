"""`crx eval gate`: fail where retrieval finds less than it must."""

from __future__ import annotations

from pathlib import Path

import click

from crx.cli.eval.options import contexts_option, measuring_options, options_of, parse_minimum
from crx.cli.options import json_option, set_option
from crx.cli.output import note, say, say_json
from crx.evaluate import Results, load, read_set, run
from crx.evaluate.results import COST_METRICS


@click.command()
@click.argument("place", metavar="SET", type=click.Path(path_type=Path))
@click.option(
    "--min",
    "minima",
    metavar="METRIC=NUMBER",
    multiple=True,
    required=True,
    help="What must be reached, as in recall@20=0.9; for tokens and ms, what must not be passed.",
)
@click.option(
    "--row", default="", metavar="ROW", help="The row that is held to it.  [default: last]"
)
@contexts_option
@measuring_options
@set_option
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def command(
    *,
    place: Path,
    minima: tuple[str, ...],
    row: str,
    contexts: str,
    index: Path | None,
    chunk_chars: int | None,
    rerank: str | None,
    assignments: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> int:
    """Exit with 1 where the question set SET is answered worse than --min says.

    SET is a folder, measured as by `crx eval run`, or a file that --save wrote. Held to it is the
    last row, the whole pipeline, or the one that --row names.
    """
    wanted = [parse_minimum(text) for text in minima]
    if place.is_file():
        results = load(place)
    else:
        questions = read_set(place)
        with options_of(
            index=index,
            chunk_chars=chunk_chars,
            rerank=rerank,
            assignments=assignments,
            quiet=quiet,
        ) as options:
            results = run(questions, contexts=contexts, options=options)
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
        say_json({"set": results.set, "row": row.name, "held": all(held), "bounds": rows})
    else:
        for (metric, value, bound), ok in zip(found, held, strict=True):
            verdict = "held" if ok else "missed"
            say(f"{verdict}: {row.name}: {metric} is {value:.4g}, the bound {bound:g}")
    if not all(held):
        note(f"{results.set}: {held.count(False)} of {len(held)} bounds missed")
    return 0 if all(held) else 1
