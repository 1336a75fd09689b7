"""`crx contextualize`: have the chunks of an index situated by a model, in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from crx import index as handle
from crx.cli.options import existing_index, index_option, json_option
from crx.cli.output import context_progress, note, say, say_json, table
from crx.context.cache import DEFAULT_REFRESH, REFRESH, Refresh
from crx.context.prompt import Prompt
from crx.context.report import ContextReport
from crx.errors import InputError
from crx.registry import is_context_file
from crx.remote.metering import ServiceUsage
from crx.types import parse_outcome


@click.command()
@index_option
@click.option(
    "--with",
    "source",
    required=True,
    metavar="SOURCE",
    help="llama:PATH, claude:MODEL, openai:URL#MODEL, a file of contexts, ...",
)
@click.option(
    "--budget", default="", metavar="20m|$2", help="Stop after a time (no batches), or at a cost."
)
@click.option(
    "--min-coverage",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="SHARE",
    help="Exit with 7 where a smaller share of the chunks has a context in the end.",
)
@click.option(
    "--refresh",
    type=click.Choice(REFRESH),
    default=DEFAULT_REFRESH,
    show_default=True,
    help="How far a change in a document reaches contexts made before.",
)
@click.option("--prompt", type=click.Path(path_type=Path), metavar="FILE", help="A template.")
@click.option("--glossary", type=click.Path(path_type=Path), metavar="FILE", help="Terms.")
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def command(
    *,
    folder: str | None,
    source: str,
    budget: str,
    min_coverage: float,
    refresh: Refresh,
    prompt: Path | None,
    glossary: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Give every chunk a context, written by what --with names.

    The index stays searchable. Each finished chunk is kept at once: interrupted, the same command
    goes on where it stopped, and chunks that failed are tried again; the exit code is 3 where some
    did. A rejected answer is kept as such; the outline then stands alone.

    Folders can have prompts of their own, by lines of crx.toml like "docs/legal" = "legal.txt"
    under [prompts]; the nearest folder wins, and --prompt is for all others. Another prompt costs
    the contexts of its own documents alone.
    """
    place = existing_index(folder)
    asked = Prompt.read(prompt, glossary=glossary) if prompt or glossary else None
    with handle.open(place, create=False) as index, context_progress(quiet=quiet) as show:
        outcome = index.contextualize(
            source, budget=budget, refresh=refresh, prompt=asked, on_progress=show
        )
    if as_json:
        say_json({"index": str(place), **as_told(outcome)})
    print_outcome(outcome, place, quiet=as_json)
    code = note_failed(outcome.made, source)
    outcome.require(min_coverage)
    return code


def note_failed(outcomes: Mapping[str, int], source: str) -> int:
    """Say how many chunks failed to get a context, and what to do; return the exit code."""
    parsed = [(*parse_outcome(outcome), n) for outcome, n in sorted(outcomes.items())]
    failed = {reason: n for status, reason, n in parsed if status == "failed"}
    if not failed:
        return 0
    if is_context_file(source):
        why = ", ".join(f"{reason} ({n:,})" for reason, n in failed.items())
        note(
            f"{sum(failed.values()):,} chunks have no context from {source}: {why}; "
            f'"crx import {source} --root DIR" says what does not fit'
        )
    else:
        note(f"{sum(failed.values()):,} chunks failed; the same command tries them again")
    return InputError.exit_code


def as_told(outcome: ContextReport) -> dict[str, Any]:
    """Return what a run did, for JSON."""
    used = outcome.usage
    usage = {**asdict(used), "share_read": used.share_read} if used else None
    return {**asdict(outcome), "usage": usage}


def print_outcome(outcome: ContextReport, place: Path, *, quiet: bool) -> None:
    """Print what a run did, unless quiet, and on stderr why it stopped early."""
    used = outcome.usage
    if not quiet:
        say(f"{place}: {summary(outcome)}")
        if used and used != ServiceUsage():
            say(table(used.rows(), right=(1,)))
    for line in outcome.notes:
        note(line)
    if outcome.stopped:
        note(f"{outcome.stopped}; the same command goes on")


def summary(outcome: ContextReport) -> str:
    """Return what a run did, in one line."""
    made = sum(outcome.made.values())
    counts = [f"{count:,} {name}" for name, count in sorted(outcome.made.items()) if name != "ok"]
    which = f" ({', '.join(counts)})" if counts else ""
    rate = f", {made / outcome.seconds:.1f} a second" if made and outcome.seconds else ""
    covered = f"{outcome.coverage:.1%} of {outcome.chunks:,} chunks covered"
    return (
        f"{made:,} contexts made{which}{rate}, {outcome.reused:,} kept, "
        f"{outcome.embedded:,} embedded; {covered}"
    )
