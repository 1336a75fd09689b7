"""`crx eval ablate`: what each step brings, with confidence intervals."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from crx.cli.eval.options import measuring_options, options_of, reranker_name, save_option
from crx.cli.eval.report import (
    about,
    as_object,
    as_text,
    how_to_read,
    next_steps,
    recommendation,
    table_rows,
)
from crx.cli.options import json_option, set_option
from crx.cli.output import near, note, say, say_json
from crx.config import write as write_config
from crx.errors import UsageError
from crx.evaluate import PipelineConfig, Results, ablate, plots, read_set, save
from crx.evaluate.html_report import render_report
from crx.evaluate.recommend import recommend, settings_of
from crx.evaluate.results import check_metric


@click.command()
@click.argument("folder", metavar="SET", type=click.Path(path_type=Path))
@click.option(
    "--contexts",
    default="none,outline",
    show_default=True,
    metavar="HOW,...",
    help="Sources of contexts to compare: none, outline, FILE, outline+FILE, a model.",
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
@click.option(
    "--write-config",
    "config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the settings of the recommended row into this crx.toml.",
)
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write table and pictures as one page.",
)
@click.option("--png", type=click.Path(path_type=Path), metavar="DIR", help="Write the pictures.")
@click.option("--svg", type=click.Path(path_type=Path), metavar="DIR", help="Write the pictures.")
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
    config: Path | None,
    html: Path | None,
    png: Path | None,
    svg: Path | None,
    assignments: tuple[str, ...],
    file: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure what each step brings on the question set SET.

    Each source of --contexts is measured with the dense leg, BM25 and both, reranked if there is a
    reranker, and with different prompts: the best chunks, passages (auto), or the best 5, 10 and
    20 chunks. Each row is compared, question by question, with the row that lacks its last step.
    """
    if metric:
        check_metric(metric)
    if html or png or svg:
        plots.require_matplotlib()
    sources = _names(contexts)
    if not sources:
        raise UsageError(f"--contexts {contexts!r}: give at least one, such as none,outline")
    questions = read_set(folder)
    with options_of(
        index=index,
        chunk_chars=chunk_chars,
        rerank=rerank,
        with_=with_,
        assignments=assignments,
        quiet=quiet,
    ) as options:
        results = ablate(questions, contexts=sources, baselines=_names(baselines), options=options)
    if file is not None:
        save(results, file)
    baseline = results.find_row(against) if against else None
    found = recommend(results, metric=metric)
    for line in results.notes:
        note(line)
    if as_json:
        recommended = {"name": found.row.name, **asdict(found)} if found.supported else None
        measured = as_object(results, metric=metric, baseline=baseline)
        say_json({**measured, "recommended": recommended})
    else:
        say(as_text(results, metric=metric, baseline=baseline))
        say(f"\n{recommendation(results, found)}")
        for line in next_steps(results, found):
            say(line)
    if config is not None and found.supported:
        write_config(config, settings_of(found.row, reranker=reranker_name(rerank, assignments)))
        note(f"{near(config)}: the settings of {found.row.name}")
    elif config is not None:
        note(f"{near(config)}: not written, because there is no recommendation")
    if html or png or svg:
        _draw(results, html=html, png=png, svg=svg, metric=metric, baseline=baseline)


def _draw(
    results: Results,
    *,
    html: Path | None,
    png: Path | None,
    svg: Path | None,
    metric: str,
    baseline: PipelineConfig | None,
) -> None:
    figures = plots.draw_figures(results)
    for folder, kind in ((png, "png"), (svg, "svg")):
        if folder is not None:
            for path in plots.write_figures(figures, folder, kind=kind):
                note(f"wrote {near(path)}")
    if html is not None:
        found = recommend(results, metric=metric)
        text = render_report(
            title=about(results),
            notes=[*how_to_read(metric=metric, baseline=baseline), *results.notes],
            rows=table_rows(results, metric=metric, baseline=baseline),
            recommendation=" ".join([recommendation(results, found), *next_steps(results, found)]),
            figures=figures,
        )
        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text(text, encoding="utf-8")
        note(f"wrote {near(html)}")


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(name for name in map(str.strip, text.split(",")) if name))
