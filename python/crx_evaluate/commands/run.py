"""`crx eval run`: measure what one configuration finds."""

from __future__ import annotations

from pathlib import Path

import click

from crx._cli.options import json_option, progress_options, set_option
from crx._cli.output import print_json, print_note, print_text
from crx._cli.progress import Form
from crx.errors import UsageError
from crx_evaluate import Results, read_questions, run, save
from crx_evaluate.commands.options import (
    contexts_option,
    failed_at_option,
    measuring_options,
    options_of,
    save_option,
)
from crx_evaluate.commands.report import as_object, as_text, few_questions_notes, figures
from crx_evaluate.pipeline_config import CHUNKS, PromptFill, contexts_name


@click.command()
@click.argument("folder", metavar="SET", type=click.Path(path_type=Path))
@contexts_option
@measuring_options
@click.option(
    "--window",
    metavar="auto|N",
    help="Fill prompts with passages, or with the N best chunks.  [default: the best chunks that "
    "fit]",
)
@click.option(
    "--recency",
    type=click.FloatRange(0, 1),
    metavar="X",
    help="Also measure with the scores of newer documents raised by up to X; "
    "--set rank.recency.field=NAME names the field of their dates.  [default: the setting "
    "rank.recency.weight, off]",
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
    window: str | None,
    recency: float | None,
    failed_at: int,
    assignments: tuple[str, ...],
    file: Path | None,
    as_json: bool,
    progress: Form,
) -> None:
    """Measure what each leg finds on the question set SET, and both, reranked if asked.

    SET holds corpus.jsonl and queries.jsonl, or questions.jsonl with a quote of a file of --files
    for each question. Figures are also listed by language if questions have a "lang". A gold item
    is found at k when the top k chunks cover at least half of it; the failure rate is 1 -
    recall@20. whole@500 to whole@4000 are the shares of gold items that stand whole in the first
    500 to 4,000 tokens of what is returned.
    """
    questions = read_questions(folder, files=files)
    with options_of(
        index=index,
        chunk_chars=chunk_chars,
        embedder=embedder,
        rerank=rerank,
        assignments=(
            *assignments,
            *([] if recency is None else [f"rank.recency.weight={recency}"]),
        ),
        progress=progress,
        as_json=as_json,
        failed_at=failed_at,
    ) as options:
        results = run(
            questions,
            contexts=contexts,
            window=_parse_window(window) if window else CHUNKS,
            options=options,
        )
    for line in (*results.notes, *few_questions_notes(results)):
        print_note(line)
    if as_json:
        print_json(_object(results))
    else:
        print_text(as_text(results))
    if file is not None:
        save(results, file)


def _parse_window(text: str) -> PromptFill:
    """Return what prompts are filled with, as --window names it."""
    if text == "auto":
        return "auto"
    if text.isascii() and text.isdigit() and int(text):
        return int(text)
    raise UsageError(f"--window {text}: cannot fill a prompt; want auto or a number of chunks")


def _object(results: Results) -> dict[str, object]:
    """Return a run as plain objects, its rows also by the name of their legs."""
    contexts = results.rows[0].contexts
    prefix = f"{contexts_name(contexts)} "
    return {
        **as_object(results),
        "contexts": contexts,
        "legs": {row.name.removeprefix(prefix): figures(results, row) for row in results.rows},
    }
