"""`crx eval`: what retrieval finds, on questions with known answers."""

from __future__ import annotations

from pathlib import Path

import click

from crx.cli.options import json_option, set_option, settings_of
from crx.cli.output import progress, say, say_json, table
from crx.evaluate import LegFigures, RunFigures, read_set, run


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--contexts",
    default="outline",
    show_default=True,
    metavar="HOW",
    help="none, outline, FILE or outline+FILE; a FILE's spans are then the chunks.",
)
@click.option(
    "--index",
    "index",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Index into this folder, not into a temporary one.",
)
@click.option(
    "--chunk-chars",
    type=click.IntRange(min=1),
    metavar="N",
    help="Characters of a chunk.  [default: 800; 400 for Chinese and Japanese]",
)
@set_option
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def command(
    *,
    folder: Path,
    contexts: str,
    index: Path | None,
    chunk_chars: int | None,
    assignments: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure what each leg finds of the question set FOLDER.

    FOLDER holds corpus.jsonl and queries.jsonl. A gold item is found at k when the top k chunks
    cover at least half of it; the failure rate is 1 - recall@20.
    """
    questions = read_set(folder)
    with progress(quiet=quiet) as show:
        figures = run(
            questions,
            contexts=contexts,
            index=index,
            chunk_chars=chunk_chars,
            settings=settings_of(assignments),
            on_progress=show,
        )
    if as_json:
        say_json(as_object(figures))
    else:
        _print(figures)


def as_object(figures: RunFigures) -> dict[str, object]:
    """Return a run as plain objects."""
    return {
        "set": figures.set,
        "contexts": figures.contexts,
        "documents": figures.documents,
        "chunks": figures.chunks,
        "queries": figures.queries,
        "index_seconds": figures.index_seconds,
        "embedded": figures.embedded,
        "windowed": figures.windowed,
        "legs": {name: _leg(leg) for name, leg in figures.legs.items()},
    }


def _leg(leg: LegFigures) -> dict[str, float]:
    return {
        **{f"recall@{k}": value for k, value in leg.recall.items()},
        "failure_rate": leg.failure_rate,
        "mrr": leg.mrr,
        "tokens": leg.tokens,
        "ms_per_query": leg.ms_per_query,
    }


def _print(figures: RunFigures) -> None:
    say(
        f"{figures.set}: {figures.documents} documents, {figures.chunks} chunks, "
        f"{figures.queries} queries; contexts: {figures.contexts}; "
        f"indexed in {figures.index_seconds:.1f} s"
    )
    head = ["", "@1", "@5", "@10", "@20", "failure", "MRR", "tokens", "ms"]
    rows = [
        [
            name,
            *(f"{100 * value:.2f}" for value in leg.recall.values()),
            f"{100 * leg.failure_rate:.2f}",
            f"{leg.mrr:.4f}",
            f"{leg.tokens:.0f}",
            f"{leg.ms_per_query:.1f}",
        ]
        for name, leg in figures.legs.items()
    ]
    say(table([head, *rows], right=range(1, len(head))))
