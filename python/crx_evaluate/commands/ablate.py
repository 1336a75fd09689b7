"""`crx eval ablate`: measure what each step of retrieval brings, with confidence intervals."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from crx._cli.options import json_option, progress_options, set_option
from crx._cli.output import display_path, print_json, print_line, print_note, print_text
from crx._cli.progress import Form
from crx.config import write as write_config
from crx.errors import UsageError
from crx_evaluate import PipelineConfig, Results, ablate, plots, read_questions, save
from crx_evaluate.commands.options import (
    OutputFile,
    failed_at_option,
    measuring_options,
    options_of,
    reranker_name,
    save_option,
)
from crx_evaluate.commands.report import (
    about,
    as_object,
    as_text,
    failed_line,
    few_questions_notes,
    how_to_read,
    language_rows,
    next_steps,
    recommendation,
    table_rows,
)
from crx_evaluate.first_rows import choose_first_rows
from crx_evaluate.html_report import render_report
from crx_evaluate.recommend import recommend, settings_of
from crx_evaluate.results import PRIMARY_METRIC, check_metric


@click.command()
@click.argument("folder", metavar="SET", type=click.Path(path_type=Path))
@click.option(
    "--contexts",
    default="none,outline",
    show_default=True,
    metavar="HOW,...",
    help="Contexts to compare: none, outline, FILE, outline+FILE or a model; separated by commas.",
)
@measuring_options
@click.option(
    "--baselines",
    default="",
    metavar="NAME,...",
    help="Also measure summary, hyde or summary-index; --with writes their texts.  [default: none]",
)
@click.option(
    "--with",
    "with_",
    default="",
    metavar="GENERATOR",
    help="Model that writes the texts of --baselines, such as llama:PATH.  [default: none]",
)
@click.option("--rules", is_flag=True, help="Also leave out each rule of the order, one at a time.")
@click.option(
    "--metric",
    default="",
    metavar="METRIC",
    help="Metric to compare rows on: recall@1 to recall@20, mrr, ndcg@10, whole@500, "
    "whole@1000, whole@2000 or whole@4000.  [default: recall@20]",
)
@click.option(
    "--against",
    default="",
    metavar="ROW",
    help="Row to compare all others with.  [default: for each the row that lacks its last step]",
)
@click.option(
    "--write-config",
    "config",
    type=OutputFile(),
    metavar="FILE",
    help="Write the settings of the recommended row to this crx.toml.",
)
@click.option(
    "--html",
    type=OutputFile(),
    metavar="FILE",
    help="Write the table and the plots as one HTML page.",
)
@click.option(
    "--png", type=click.Path(path_type=Path), metavar="DIR", help="Write the plots as PNG to DIR."
)
@click.option(
    "--svg", type=click.Path(path_type=Path), metavar="DIR", help="Write the plots as SVG to DIR."
)
@failed_at_option
@set_option
@save_option
@json_option
@progress_options
def command(
    *,
    folder: Path,
    contexts: str,
    files: Path | None,
    index: Path | None,
    chunk_chars: int | None,
    embedder: str | None,
    rerank: str | None,
    baselines: str,
    with_: str,
    rules: bool,
    metric: str,
    against: str,
    config: Path | None,
    html: Path | None,
    png: Path | None,
    svg: Path | None,
    failed_at: int,
    assignments: tuple[str, ...],
    file: Path | None,
    as_json: bool,
    progress: Form,
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
    questions = read_questions(folder, files=files)
    with options_of(
        index=index,
        chunk_chars=chunk_chars,
        embedder=embedder,
        rerank=rerank,
        with_=with_,
        assignments=assignments,
        progress=progress,
        as_json=as_json,
        failed_at=failed_at,
    ) as options:
        results = ablate(
            questions,
            contexts=sources,
            baselines=_names(baselines),
            rules=rules,
            options=options,
        )
    baseline = results.find_row(against) if against else None
    found = recommend(results, metric=metric)
    for line in (*results.notes, *few_questions_notes(results)):
        print_note(line)
    if as_json:
        recommended = {"name": found.row.name, **asdict(found)} if found.supported else None
        measured = as_object(results, metric=metric, baseline=baseline)
        print_json({**measured, "recommended": recommended})
    else:
        print_text(as_text(results, metric=metric, baseline=baseline))
        print_line()
        print_line(recommendation(results, found))
        for line in next_steps(results, found):
            print_line(line)
    if file is not None:
        save(results, file)
    if config is not None and found.supported:
        write_config(config, settings_of(found.row, reranker=reranker_name(rerank, assignments)))
        print_note(f"{display_path(config)}: the settings of {found.row.name}")
    elif config is not None:
        print_note(f"{display_path(config)}: not written, because there is no recommendation")
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
                print_note(f"wrote {display_path(path)}")
    if html is not None:
        found = recommend(results, metric=metric)
        text = render_report(
            title=about(results),
            notes=[
                f"the first table compares {metric or PRIMARY_METRIC}",
                *how_to_read(metric=metric, baseline=baseline),
                *results.notes,
                *few_questions_notes(results),
            ],
            first=choose_first_rows(results, found, metric=metric, baseline=baseline),
            rows=table_rows(results, metric=metric, baseline=baseline),
            by_language=language_rows(results),
            recommendation=" ".join([recommendation(results, found), *next_steps(results, found)]),
            failures=[
                (failed_line(results, row), failed) for row, failed in results.failures.items()
            ],
            figures=figures,
        )
        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text(text, encoding="utf-8")
        print_note(f"wrote {display_path(html)}")


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(name for name in map(str.strip, text.split(",")) if name))
