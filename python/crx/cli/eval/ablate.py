"""`crx eval ablate`: what each step brings, with confidence intervals."""

from __future__ import annotations

from pathlib import Path

import click

from crx.cli.eval.options import measuring_options, options_of, save_option
from crx.cli.eval.report import as_object, as_text
from crx.cli.options import json_option, set_option
from crx.cli.output import say, say_json
from crx.errors import UsageError
from crx.evaluate import ablate, read_set, save
from crx.evaluate.results import check_metric


@click.command()
@click.argument("folder", metavar="SET", type=click.Path(path_type=Path))
@click.option(
    "--contexts",
    default="none,outline",
    show_default=True,
    metavar="HOW,...",
    help="The rungs to climb: none, outline, FILE, outline+FILE, a model.",
)
@measuring_options
@click.option(
    "--baselines",
    default="",
    metavar="NAME,...",
    help="Also summary, hyde, summary-index; their texts are written by --with.",
)
@click.option(
    "--with",
    "with_",
    default="",
    metavar="GENERATOR",
    help="What writes the texts of baselines: llama:PATH, claude, openai:URL#MODEL.",
)
@click.option(
    "--metric",
    default="",
    metavar="METRIC",
    help="Compare on this one: recall@1 to recall@20, mrr, ndcg@10, coverage@1k to coverage@8k.",
)
@click.option(
    "--against", default="", metavar="ROW", help="Compare with this row, not each with its own."
)
@set_option
@save_option
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def command(
    *,
    folder: Path,
    contexts: str,
    index: Path | None,
    chunk_chars: int | None,
    rerank: str | None,
    baselines: str,
    with_: str,
    metric: str,
    against: str,
    assignments: tuple[str, ...],
    file: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure what each step brings on the question set SET.

    Every rung of --contexts with the dense leg, BM25 and both, reranked where a reranker is
    named, and what the prompt then holds: the best chunks, passages (auto), or the best 5, 10 and
    20 chunks. Each row is compared, question by question, with the row it grew from.
    """
    if metric:
        check_metric(metric)
    rungs = _names(contexts)
    if not rungs:
        raise UsageError(f"--contexts {contexts!r}: want at least one, as in none,outline")
    questions = read_set(folder)
    with options_of(
        index=index,
        chunk_chars=chunk_chars,
        rerank=rerank,
        with_=with_,
        assignments=assignments,
        quiet=quiet,
    ) as options:
        results = ablate(questions, contexts=rungs, baselines=_names(baselines), options=options)
    if file is not None:
        save(results, file)
    baseline = results.named(against) if against else None
    if as_json:
        say_json(as_object(results, metric=metric, baseline=baseline))
    else:
        say(as_text(results, metric=metric, baseline=baseline))


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(name for name in map(str.strip, text.split(",")) if name))
