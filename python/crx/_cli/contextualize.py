"""`crx contextualize`: have a model write contexts for the chunks of an index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crx import _context, _services
from crx._cli.options import (
    context_workers_options,
    existing_index,
    index_option,
    json_option,
    progress_options,
    prompt_options,
)
from crx._cli.output import (
    NotePrinter,
    display_path,
    print_json,
    print_line,
    print_note,
    print_text,
)
from crx._cli.progress import Form, show_contexts
from crx._cli.tables import format_table
from crx._context.cache import DEFAULT_REFRESH, REFRESH, Refresh
from crx._index import handle
from crx.context_registry import is_context_file
from crx.errors import InputError

if TYPE_CHECKING:
    from crx._context.report import ContextReport


@click.command()
@index_option
@click.option(
    "--with",
    "source",
    required=True,
    metavar="SOURCE",
    help="What writes the contexts: llama:PATH, ollama:NAME, claude:MODEL, openai:URL#MODEL, or a "
    "file of contexts.",
)
@click.option(
    "--budget",
    default="",
    metavar="20m|$2",
    help="Stop after a time, or before a cost is exceeded; batches take a cost only.  [default: no "
    "limit]",
)
@click.option(
    "--min-coverage",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="SHARE",
    help="Exit with 7 if a smaller share of the chunks has a context in the end.  [default: 0]",
)
@click.option(
    "--refresh",
    type=click.Choice(REFRESH),
    default=DEFAULT_REFRESH,
    show_default=True,
    help="How much of a changed document gets new contexts.",
)
@click.option(
    "--retry-rejected", is_flag=True, help="Ask again for contexts that earlier runs rejected."
)
@prompt_options
@context_workers_options
@json_option
@progress_options
def command(
    *,
    folder: str | None,
    source: str,
    budget: str,
    min_coverage: float,
    refresh: Refresh,
    retry_rejected: bool,
    prompt: Path | None,
    glossary: Path | None,
    workers: int,
    workers_on: str,
    as_json: bool,
    progress: Form,
) -> int:
    """Give every chunk a context, written by the model that --with names.

    The index stays searchable, and each finished chunk is stored at once: after an interruption
    the same command resumes, and chunks that failed are tried again. An answer that does not pass
    validation is rejected; the chunk then has its outline alone, until --retry-rejected asks again.
    The exit code is 3 as long as chunks have no context because it failed or was rejected.

    Folders can have prompts of their own, by lines of crx.toml such as "docs/legal" = "legal.txt"
    under [prompts]; the nearest folder wins, and --prompt is for all others. A changed prompt
    affects the contexts of its own documents only.
    """
    index_path = existing_index(folder)
    chosen = _services.prompt.Prompt.read(prompt, glossary=glossary) if prompt or glossary else None
    notes = NotePrinter()
    with (
        handle.open(index_path, create=False) as index,
        show_contexts(progress, as_json=as_json) as show,
    ):
        report = index.contextualize(
            source,
            budget=budget,
            refresh=refresh,
            retry_rejected=retry_rejected,
            prompt=chosen,
            workers=workers,
            workers_on=workers_on,
            on_progress=show,
            on_notice=notes.print,
        )
    if as_json:
        print_json({"index": str(index_path), **as_object(report)})
    else:
        print_report(report, index_path)
    print_notes(report, notes)
    code = note_without_context(report, source)
    report.require(min_coverage)
    return code


def note_without_context(report: ContextReport, source: str) -> int:
    """Print how many chunks failed to get a context and the next step; return the exit code.

    That is also 3 if contexts were rejected, in this run or before: a run that resumes ends as one
    that was not interrupted.
    """
    code = note_failed(report.made, source)
    return InputError.exit_code if report.outcomes.count("rejected") else code


def note_failed(outcomes: Mapping[str, int], source: str) -> int:
    """Print how many chunks failed to get a context and the next step; return the exit code."""
    failed = _context.report.OutcomeCounts.from_made(outcomes).reasons("failed") if outcomes else {}
    if not failed:
        return 0
    count = f"{sum(failed.values()):,} chunks"
    if is_context_file(source):
        why = ", ".join(f"{reason} ({n:,})" for reason, n in failed.items())
        print_note(
            f"{count} have no context from {source}: {why}; "
            f'"crx import {source} --root DIR" names what does not fit'
        )
    else:
        print_note(f"{count} failed; the same command tries them again")
    return InputError.exit_code


def as_object(report: ContextReport) -> dict[str, Any]:
    """Return what a run did as plain objects."""
    used = report.usage
    usage = {**asdict(used), "share_read": used.share_read} if used else None
    return {**asdict(report), "reused": report.reused, "usage": usage}


def print_report(report: ContextReport, index_path: Path) -> None:
    """Print what a run did, and what a service charged for."""
    print_line(f"{display_path(index_path)}: {_summarize(report)}")
    if rejected := report.outcomes.describe_rejected():
        print_line(f"{rejected}; --retry-rejected asks again")
    if report.usage and report.usage != _services.service_usage.ServiceUsage():
        print_text(format_table(report.usage.rows(), right=(1,)))


def print_notes(report: ContextReport, notes: NotePrinter) -> None:
    """Print on stderr the notes of a run that are not printed yet, and why it stopped early."""
    notes.print(*report.notes)
    if report.stopped:
        print_note(f"{report.stopped}; the same command resumes")


def _summarize(report: ContextReport) -> str:
    """Return what a run did, in one line."""
    made = sum(report.made.values())
    counts = [f"{count:,} {name}" for name, count in sorted(report.made.items()) if name != "ok"]
    which = f" ({', '.join(counts)})" if counts else ""
    rate = f", {made / report.seconds:.1f} a second" if made and report.seconds else ""
    covered = f"{report.coverage:.1%} of {report.chunks:,} chunks covered"
    return (
        f"{made:,} contexts made{which}{rate}, {report.reused:,} kept, "
        f"{report.embedded:,} embedded; {covered}"
    )
